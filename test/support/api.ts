import { randomBytes } from "node:crypto";
import { after } from "node:test";
import type { FastifyInstance, InjectOptions } from "fastify";
import { listKeys, revokeKey } from "#accounts";
import type { Scope } from "#contract";
import { openAccount } from "#credits";
import type { Service } from "../../server/compose.ts";
import { type ServiceOptions, startComposed } from "./composed.ts";
import { makeKey, type TestKey } from "./make-key.ts";
import type { TestDatabase } from "./postgres.ts";

type Options = ServiceOptions & { credits?: number };

export type { TestKey };
type Answer = Awaited<ReturnType<FastifyInstance["inject"]>>;

export type TestApi = AsyncDisposable & {
  db: TestDatabase;
  service: Service;
  /** The first account, and a key of it that has both scopes. */
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

/** The service without a port; by default only the API, so that messages stay QUEUED. */
export async function startApi(options: Options = {}): Promise<TestApi> {
  await using started = new AsyncDisposableStack();
  const settings = { ROLES: "api", ...options.settings };
  const composed = started.use(await startComposed({ ...options, settings }));
  const { db, service, clock, secretKey, secrets } = composed;
  const { app } = service;

  async function makeAccount(credits = 1_000): Promise<TestKey> {
    const name = `test ${randomBytes(4).toString("hex")}`;
    const by = { actor: "test", now: clock.now() };
    const { accountId } = await openAccount(db, { name, credits, secrets, ...by });
    return makeKey(db, { accountId, clock });
  }

  const first = await makeAccount(options.credits);
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
    createKey: (wish) => makeKey(db, { accountId: first.accountId, clock, ...wish }),
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

/** Two nodes on one database, shared by all tests of a file. */
export async function twoNodes(settings: Record<string, string>): Promise<[TestApi, TestApi]> {
  const one = await startApi({ settings });
  const two = await startApi({ db: one.db, settings });
  after(async () => {
    await two[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
  });
  return [one, two];
}
