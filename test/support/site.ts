import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { createUser, passwords } from "#console";
import type { MemberRole, Message, Scope } from "#contract";
import { scopes as allScopes } from "#contract/words";
import { openAccount } from "#credits";
import { sql, systemClock } from "#platform";
import { buildDashboard } from "../../dashboard/build.ts";
import { shareBrowser } from "./browser.ts";
import { shared } from "./shared.ts";
import { makeKey } from "./make-key.ts";
import { openTab, type Seats, type Tab, type TabOptions } from "./tab.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";
import { type ServiceProcess, startService } from "./process.ts";
import { TEST_SECRETS } from "./secret-key.ts";

/** A user who can sign in. */
export type Person = { userId: string; name: string; email: string; password: string };

export type Account = { accountId: string; name: string };

export type Site = AsyncDisposable & {
  db: TestDatabase;
  service: ServiceProcess;
  url: string;
  /** The secrets: no answer may contain one, except the answer that is allowed to. */
  secrets: Secrets;
  account(options?: { name?: string; credits?: number }): Promise<Account>;
  person(name: string, memberships: [Account, MemberRole][], isOperator?: boolean): Promise<Person>;
  key(account: Account, options?: { name?: string; scopes?: readonly Scope[] }): Promise<string>;
  /** Sends by the API, with a key; returns the message as it was accepted. */
  send(key: string, message: object): Promise<Message>;
  /** A separate browser context with guards on; `url` is for a site under another address. */
  tab(options?: TabOptions & { url?: string }): Promise<Tab>;
  /** The same, signed in and at a path. */
  signedIn(person: Person, path?: string, options?: TabOptions): Promise<Tab>;
};

/** Each secret with the one answer, as `METHOD path`, that may contain it. */
export type Secrets = Map<string, RegExp>;

/** Matches no address: no answer may contain the secret. */
export const NOWHERE = /(?!)/;

/** For tests that sign in and then open a page in their own way: this loads no application. */
export const NO_PAGE = "/healthz";

type Options = {
  settings?: Record<string, string> | ((port: number) => Record<string, string>);
};

/** The real process on its own database, and a browser for it. */
export async function startSite({ settings }: Options = {}): Promise<Site> {
  // Before the process starts; it would build at the first request, while a test waits for a page.
  await buildDashboard();
  await using started = new AsyncDisposableStack();
  const db = started.use(await testDatabase());
  const service = started.use(
    await startService(db.url, (port) => ({
      NODE_OPTIONS: `--import ${import.meta.resolve("./hash-once.ts")}`,
      ...(typeof settings === "function" ? settings(port) : settings),
    })),
  );
  const { browser } = started.use(await shareBrowser());
  const { url } = service;
  const hashing = passwords();
  // Shared by everybody: a hash for each person would be much of the work.
  const password = `pass ${randomBytes(9).toString("hex")}`;
  const hashed = hashing.hash(password);
  const secrets: Secrets = new Map([[password, NOWHERE]]);
  const seats: Seats = new Map();
  started.defer(async () => {
    await Promise.all([...seats.values()].flat().map(({ context }) => context.close()));
  });
  const deps = { url, browser, secrets, seats };

  async function account({ name = "Example", credits = 1_000 } = {}): Promise<Account> {
    const by = { actor: "cli", now: systemClock.now() };
    const made = await openAccount(db, { name, credits, secrets: TEST_SECRETS, ...by });
    const { accountId, signingSecret } = made;
    secrets.set(signingSecret, /signing-secret\/(?:reveal|rotate)$/);
    return { accountId, name };
  }

  async function person(
    name: string,
    memberships: [Account, MemberRole][],
    isOperator = false,
  ): Promise<Person> {
    const email = `${name.toLowerCase().replaceAll(" ", ".")}.${randomBytes(3).toString("hex")}@example.com`;
    const [[first, role] = [undefined, "viewer" as const], ...others] = memberships;
    const created = await createUser(
      { db, passwords: { ...hashing, hash: () => hashed } },
      {
        email,
        name,
        password,
        accountId: first?.accountId ?? "",
        role,
        isOperator,
        actor: "cli",
        now: systemClock.now(),
      },
    );
    if (created.outcome !== "created") throw new Error(`No user: ${created.outcome}`);
    for (const [also, as] of others) {
      await db.query(sql`
        insert into memberships (account_id, user_id, role, joined_at)
        values (${also.accountId}, ${created.userId}, ${as}, now())`);
    }
    return { userId: created.userId, name, email, password };
  }

  const running = started.move();
  return {
    db,
    service,
    url,
    secrets,
    account,
    person,
    async key({ accountId }, { name = "Test", scopes = allScopes } = {}) {
      const made = await makeKey(db, { accountId, name, scopes, actor: "cli" });
      secrets.set(made.key, NOWHERE);
      return made.key;
    },
    async send(key, message) {
      const answer = await fetch(`${url}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(message),
      });
      if (answer.status !== 202) throw new Error(`Not accepted: ${await answer.text()}`);
      return (await answer.json()) as Message;
    },
    tab: ({ url: at = url, ...options } = {}) => openTab({ ...deps, url: at }, options),
    async signedIn(who, path = "/", options = {}) {
      const tab = await openTab(deps, options);
      await signIn(tab, url, who);
      await tab.page.goto(`${url}${path}`);
      return tab;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

type FileOptions = Options & { credits?: number; isOperator?: boolean };

/** For files with no settings of their own: one site per process. */
const shareSite = shared(startSite);

/** What most files start with: a site, possibly shared, an account, and its owner Ada. */
export async function siteOfFile({
  credits = 1_000,
  isOperator = false,
  settings,
}: FileOptions = {}) {
  const site = await (settings ? startSite({ settings }) : shareSite());
  after(() => site[Symbol.asyncDispose]());
  const account = await site.account({ credits });
  const ada = await site.person("Ada Lovelace", [[account, "owner"]], isOperator);
  return { site, account, ada };
}

/** By the API, as the page would: the sign-in page has its own tests. */
async function signIn({ page }: Tab, url: string, { email, password }: Person): Promise<void> {
  const answer = await page.request.post(`${url}/console/auth/sign-in`, {
    data: { email, password },
    headers: { "sec-fetch-site": "same-origin", origin: new URL(url).origin },
  });
  if (!answer.ok()) throw new Error(`No sign-in: ${await answer.text()}`);
}
