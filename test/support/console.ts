import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { createAccount } from "#accounts";
import { createUser, passwords } from "#console";
import type { MemberRole } from "#contract";
import { bookCredits } from "#credits";
import { type Clock, type Log, secretBox, silentLog, systemClock } from "#platform";
import { compose, type Service } from "../../server/compose.ts";
import { readConfig } from "../../server/config.ts";
import "./hash-once.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";

type Answer = Awaited<ReturnType<FastifyInstance["inject"]>>;
type Method = "GET" | "POST" | "PATCH" | "DELETE";

type Options = {
  settings?: Record<string, string>;
  clock?: Clock;
  log?: Log;
  /** Another node on the same database. */
  db?: TestDatabase;
  publicUrl?: string;
};

/** A person with a browser: keeps the cookie, and calls as our own pages do. */
export type Person = {
  userId: string;
  email: string;
  password: string;
  cookie: string;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  call(
    method: Method,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  signIn(): Promise<Answer>;
};

/** An account, and the service that it is one of. */
export type TestAccount = {
  db: TestDatabase;
  service: Service;
  app: FastifyInstance;
  publicUrl: string;
  secretKey: Buffer;
  /** It has 1,000 credits. */
  accountId: string;
  createAccount(credits?: number): Promise<string>;
  /** A signed-in member of an account, by default this one. */
  member(role: MemberRole, options?: { accountId?: string; isOperator?: boolean }): Promise<Person>;
  stranger(): Person;
};

/** With its first account. */
export type TestConsole = AsyncDisposable &
  TestAccount & {
    /** Another account: each test of a file has one of its own, and all have the one service. */
    another(): Promise<TestAccount>;
  };

export const PASSWORD = "violet tram 88 ladder";

let hashed: Promise<string> | undefined;

/** All people of a test have the same password; hashing it anew for each would be most of the work. */
function hashOnce(password: string): Promise<string> {
  if (password !== PASSWORD) throw new Error("People of a test have the password PASSWORD.");
  hashed ??= passwords().hash(PASSWORD);
  return hashed;
}

/** The service with its dashboard, on a database of its own, without a port. */
export async function startConsole(options: Options = {}): Promise<TestConsole> {
  const { clock = systemClock, log = silentLog, publicUrl = "http://posthorn.test" } = options;
  await using started = new AsyncDisposableStack();
  const db = options.db ?? started.use(await testDatabase());
  const secretKey = Buffer.alloc(32, 7);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-console-"));
  const config = readConfig(
    { ROLES: "api,dashboard", PORT: "0", DATA_DIR: folder, ...options.settings },
    folder,
  );
  const storage = { url: db.url, isEmbedded: true, stop: () => Promise.resolve() };
  const service = compose({ config, storage, secretKey, publicUrl, clock, log });
  started.defer(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await service.start();
  const { app } = service;
  const hashing = { ...passwords(), hash: hashOnce };
  let people = 0;

  async function makeAccount(credits = 1_000): Promise<string> {
    const secrets = secretBox(secretKey);
    const now = clock.now();
    const { accountId } = await createAccount(db, { name: "Example", actor: "cli", now, secrets });
    const topup = {
      accountId,
      kind: "topup",
      amount: credits,
      note: "test",
      actor: "cli",
      now,
    } as const;
    if (credits > 0) await bookCredits(db, topup);
    return accountId;
  }

  function person(userId: string, email: string): Person {
    const self: Person = {
      userId,
      email,
      password: PASSWORD,
      cookie: "",
      get: (path, headers) => self.call("GET", path, undefined, headers),
      post: (path, body, headers) => self.call("POST", path, body, headers),
      async call(method, path, body, headers = {}) {
        const answer = await app.inject({
          method,
          url: path,
          headers: {
            "sec-fetch-site": "same-origin",
            ...(self.cookie === "" ? {} : { cookie: self.cookie }),
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...headers,
          },
          ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
        });
        const set = answer.headers["set-cookie"];
        if (typeof set === "string")
          self.cookie = /Max-Age=0/.test(set) ? "" : (set.split(";")[0] ?? "");
        return answer;
      },
      signIn: () => self.post("/console/auth/sign-in", { email, password: self.password }),
    };
    return self;
  }

  async function another(): Promise<TestAccount> {
    const accountId = await makeAccount();
    let members = 0;
    return {
      db,
      service,
      app,
      publicUrl,
      secretKey,
      accountId,
      createAccount: makeAccount,
      async member(role, given = {}) {
        people += 1;
        members += 1;
        const email = `${role}${people}@example.com`;
        const wish = {
          email,
          name: `${role} ${members}`,
          password: PASSWORD,
          accountId: given.accountId ?? accountId,
          role,
          isOperator: given.isOperator ?? false,
          actor: "cli",
          now: clock.now(),
        };
        const created = await createUser({ db, passwords: hashing }, wish);
        if (created.outcome !== "created")
          throw new Error(`No user was created: ${created.outcome}`);
        const someone = person(created.userId, email);
        const answer = await someone.signIn();
        if (answer.statusCode !== 200) throw new Error(`No sign-in: ${answer.body}`);
        return someone;
      },
      stranger: () => person("", "stranger@example.com"),
    };
  }

  const first = await another();
  const running = started.move();
  return { ...first, another, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
