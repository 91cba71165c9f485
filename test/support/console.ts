import { after, before } from "node:test";
import type { FastifyInstance } from "fastify";
import { createUser, passwords } from "#console";
import type { MemberRole } from "#contract";
import { openAccount } from "#credits";
import type { Service } from "../../server/compose.ts";
import { type ServiceOptions, startComposed } from "./composed.ts";
import "./hash-once.ts";
import type { TestDatabase } from "./postgres.ts";

type Answer = Awaited<ReturnType<FastifyInstance["inject"]>>;
type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** A person with a browser: keeps the cookie, and sends requests as our own pages do. */
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

/** An account, and the service that it belongs to. */
export type TestAccount = {
  db: TestDatabase;
  service: Service;
  app: FastifyInstance;
  publicUrl: string;
  secretKey: Buffer;
  /** An account with 1,000 credits. */
  accountId: string;
  createAccount(credits?: number): Promise<string>;
  /** A signed-in member of an account, by default of this one. */
  member(role: MemberRole, options?: { accountId?: string; isOperator?: boolean }): Promise<Person>;
  stranger(): Person;
};

/** The service with its first account. */
export type TestConsole = AsyncDisposable &
  TestAccount & {
    /** Another account: the tests of a file share one service, but each has its own account. */
    another(): Promise<TestAccount>;
  };

export const PASSWORD = "violet tram 88 ladder";

let hashed: Promise<string> | undefined;

/** All people in a test have the same password; hashing it for each would be most of the work. */
function hashOnce(password: string): Promise<string> {
  if (password !== PASSWORD) throw new Error("People of a test have the password PASSWORD.");
  hashed ??= passwords().hash(PASSWORD);
  return hashed;
}

/** The service with its dashboard, without a port. */
export async function startConsole(options: ServiceOptions = {}): Promise<TestConsole> {
  await using started = new AsyncDisposableStack();
  const settings = { ROLES: "api,dashboard", ...options.settings };
  const composed = started.use(await startComposed({ ...options, settings }));
  const { db, service, clock, secretKey, secrets, publicUrl } = composed;
  const { app } = service;
  const hashing = { ...passwords(), hash: hashOnce };
  let people = 0;

  async function makeAccount(credits = 1_000): Promise<string> {
    const by = { actor: "cli", now: clock.now() };
    const { accountId } = await openAccount(db, { name: "Example", credits, secrets, ...by });
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

/** Shared by all tests of a file: starts before the first and ends after the last. */
export function consoleOfFile(options?: ServiceOptions): Pick<TestConsole, "another" | "db"> {
  let running: TestConsole;
  before(async () => {
    running = await startConsole(options);
  });
  after(() => running[Symbol.asyncDispose]());
  return {
    another: () => running.another(),
    get db() {
      return running.db;
    },
  };
}
