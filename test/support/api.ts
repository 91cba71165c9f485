import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance, InjectOptions } from "fastify";
import { createAccount, createKey, listKeys, revokeKey } from "#accounts";
import type { Scope } from "#contract";
import { bookCredits } from "#credits";
import { type Clock, type Log, type SecretBox, secretBox, silentLog, systemClock } from "#platform";
import { compose, type Service } from "../../server/compose.ts";
import { readConfig } from "../../server/config.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";

type Options = {
  credits?: number;
  /** Settings as in the environment; by default only the API runs, so messages stay QUEUED. */
  settings?: Record<string, string>;
  clock?: Clock;
  log?: Log;
  secretKey?: Buffer;
  /** Another node on the same database. */
  db?: TestDatabase;
  /** What must be there before the service starts, such as carriers. */
  prepare?: (db: TestDatabase, secrets: SecretBox) => Promise<void>;
};

export type TestKey = { key: string; keyId: string; accountId: string };
type Answer = Awaited<ReturnType<FastifyInstance["inject"]>>;

export type TestApi = AsyncDisposable & {
  db: TestDatabase;
  service: Service;
  /** The first account and a key of it with both scopes. */
  accountId: string;
  key: string;
  secretKey: Buffer;
  send(
    body: unknown,
    options?: { key?: string; headers?: Record<string, string> },
  ): Promise<Answer>;
  get(path: string, options?: { key?: string }): Promise<Answer>;
  post(
    path: string,
    body?: unknown,
    options?: { key?: string; headers?: Record<string, string> },
  ): Promise<Answer>;
  inject(options: InjectOptions): Promise<Answer>;
  createAccount(credits?: number): Promise<TestKey>;
  createKey(options?: { accountId?: string; scopes?: Scope[]; expiresAt?: Date }): Promise<TestKey>;
  revoke(keyId: string): Promise<void>;
};

/** The service on a database of its own, without a port: `await using api = await startApi()`. */
export async function startApi(options: Options = {}): Promise<TestApi> {
  const { clock = systemClock, log = silentLog, secretKey = Buffer.alloc(32, 7) } = options;
  // What fails on the way leaves nothing running, which would keep the test's process from ending.
  await using started = new AsyncDisposableStack();
  const db = options.db ?? started.use(await testDatabase());
  const folder = mkdtempSync(join(tmpdir(), "posthorn-api-"));
  const config = readConfig(
    { ROLES: "api", PORT: "0", DATA_DIR: folder, ...options.settings },
    folder,
  );
  const storage = { url: db.url, isEmbedded: true, stop: () => Promise.resolve() };
  const service = compose({
    config,
    storage,
    secretKey,
    publicUrl: "http://posthorn.test",
    clock,
    log,
  });
  const { app } = service;
  const secrets = secretBox(secretKey);
  started.defer(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await options.prepare?.(db, secrets);
  await service.start();

  async function makeKey({
    accountId = first.accountId,
    scopes = ["messages:send", "messages:read"],
    expiresAt,
  }: { accountId?: string; scopes?: Scope[]; expiresAt?: Date } = {}): Promise<TestKey> {
    const made = await createKey(db, {
      accountId,
      name: "test",
      scopes,
      expiresAt: expiresAt ?? null,
      actor: "test",
      now: clock.now(),
    });
    if (made.outcome !== "created") throw new Error(`No key was created: ${made.outcome}`);
    return { key: made.key, keyId: made.keyId, accountId };
  }

  async function makeAccount(credits = 1_000): Promise<TestKey> {
    const { accountId } = await createAccount(db, {
      name: `test ${randomBytes(4).toString("hex")}`,
      actor: "test",
      now: clock.now(),
      secrets,
    });
    if (credits > 0)
      await bookCredits(db, {
        accountId,
        kind: "topup",
        amount: credits,
        note: "test",
        actor: "test",
        now: clock.now(),
      });
    return makeKey({ accountId });
  }

  const first: TestKey = await makeAccount(options.credits);
  const request = (
    method: "GET" | "POST",
    url: string,
    {
      key = first.key,
      headers = {},
      body,
    }: { key?: string; headers?: Record<string, string>; body?: unknown },
  ) =>
    app.inject({
      method,
      url,
      headers: {
        "x-api-key": key,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : {
            payload:
              typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
          }),
    });
  const running = started.move();
  return {
    db,
    service,
    accountId: first.accountId,
    key: first.key,
    secretKey,
    send: (body, given = {}) => request("POST", "/v1/messages", { ...given, body }),
    get: (path, given = {}) => request("GET", path, given),
    post: (path, body, given = {}) => request("POST", path, { ...given, body }),
    inject: (given) => app.inject(given),
    createAccount: makeAccount,
    createKey: makeKey,
    async revoke(keyId) {
      const { outcome } = await revokeKey(db, { keyId, actor: "test", now: clock.now() });
      if (outcome === "unknown")
        throw new Error(
          `There is no key ${keyId} among ${(await listKeys(db, first.accountId)).length}`,
        );
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
