import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..");

/** The arrows of ARCHITECTURE.md. A room also sees what the rooms it names can see. */
const sees: Record<string, string[]> = {
  contract: [],
  platform: ["contract"],
  http: ["platform"],
  accounts: ["platform"],
  credits: ["accounts"],
  carriers: ["platform"],
  messages: ["http", "credits"],
  sending: ["messages", "carriers"],
  webhooks: ["messages"],
  console: ["sending", "webhooks"],
  cli: ["console"],
};

/** The room whose SQL may name a table. */
const owners: Record<string, string> = {
  accounts: "accounts",
  keys: "accounts",
  key_usage: "accounts",
  read_allowances: "accounts",
  signing_secrets: "accounts",
  key_proof: "accounts",
  audit_log: "accounts",
  ledger: "credits",
  bookings: "credits",
  messages: "messages",
  send_queue: "messages",
  events: "messages",
  idempotency: "messages",
  redaction: "messages",
  redactions_due: "messages",
  routes: "messages",
  prices: "messages",
  routing_version: "messages",
  carriers: "sending",
  submissions: "sending",
  parked_receipts: "sending",
  nodes: "sending",
  bind_leases: "sending",
  carrier_states: "sending",
  webhook_deliveries: "webhooks",
  webhook_attempts: "webhooks",
  webhook_hosts: "webhooks",
  webhook_host_hours: "webhooks",
  webhook_replays: "webhooks",
  webhook_test_allowances: "webhooks",
  tried_webhooks: "webhooks",
  followers: "webhooks",
  followed_events: "webhooks",
  users: "console",
  recovery_codes: "console",
  memberships: "console",
  sessions: "console",
  sign_in_tries: "console",
  links: "console",
  installation: "console",
  form_keys: "console",
  stat_changes: "console",
  stat_spans: "console",
  stat_errors: "console",
  stat_latencies: "console",
  watched_accounts: "console",
  watched_changes: "console",
};

type Source = { path: string; room: string; text: string };

/** All shipped sources, without tests. Files directly in server/ tie the rooms together. */
const sources: Source[] = globSync("{contract,server}/**/*.ts", { cwd: ROOT })
  .filter((path) => !path.endsWith(".test.ts"))
  .map((path) => ({ path, room: roomOf(path), text: readFileSync(join(ROOT, path), "utf8") }));

function roomOf(path: string): string {
  const [top = "", second = ""] = path.split("/");
  if (top === "contract") return "contract";
  return second.endsWith(".ts") ? "compose" : second;
}

test("a room is imported by its door, and only from rooms above it", () => {
  const problems = sources.flatMap((source) => strangeImports(source));
  assert.deepEqual(problems, []);
});

test("no file imports upwards by a relative path", () => {
  const problems = sources.filter(({ text }) => /from "\.\.\//.test(text)).map(({ path }) => path);
  assert.deepEqual(problems, []);
});

/** It proves that the rooms agree, so it reads the tables of all of them, and writes none. */
const AUDIT = "server/cli/audit/";

test("SQL names only tables of its own room", () => {
  const guarded = sources.filter(({ path, room }) => room !== "compose" && !path.startsWith(AUDIT));
  const problems = guarded.flatMap(({ path, room, text }) =>
    sqlTexts(text).flatMap((sql) =>
      [...sql.matchAll(/\b(?:from|join|into|update|delete from) ([a-z_]+)\b/g)]
        .map(([, table = ""]) => table)
        .filter((table) => owners[table] !== undefined && owners[table] !== room)
        .map((table) => `${path} names ${table}, which belongs to ${owners[table]}`),
    ),
  );
  assert.deepEqual([...new Set(problems)], []);
});

test("SQL is recognised in full, with nested pieces and what follows them", () => {
  const source = "const a = sql`select ${all ? sql`from keys ${{ b }}` : c} join ledger`; sql`x`";

  assert.deepEqual(sqlTexts(source), ["from keys \0", "select \0 join ledger", "x"]);
});

test("every table has an owner", () => {
  const tables = globSync("migrations/0*.sql", { cwd: ROOT })
    .flatMap((path) => [
      ...readFileSync(join(ROOT, path), "utf8").matchAll(/^create (?:unlogged )?table ([a-z_]+)/gm),
    ])
    .map(([, table = ""]) => table);
  assert.deepEqual(
    tables.filter((table) => owners[table] === undefined),
    [],
  );
});

test("only the clock reads the system time", () => {
  const reads =
    /\bnew Date\(\)|\bDate\.now\(\)|\bperformance\.now\(\)|\bsetTimeout\(|\bsetInterval\(|\bprocess\.hrtime/;
  const problems = sources
    .filter(({ path, text }) => path !== "server/platform/clock.ts" && reads.test(text))
    .map(({ path }) => path);
  assert.deepEqual(problems, []);
});

test("only the configuration reads the environment", () => {
  const problems = sources
    .filter(({ path, text }) => path !== "server/config.ts" && /process\.env/.test(text))
    .map(({ path }) => path);
  assert.deepEqual(problems, []);
});

test("no file is named after a kind of code instead of an idea", () => {
  const banned = /(^|\/)(utils?|helpers?|common|core|services?|types|misc)(\.ts|\/)/;
  assert.deepEqual(
    sources.filter(({ path }) => banned.test(path)).map(({ path }) => path),
    [],
  );
});

function strangeImports({ path, room, text }: Source): string[] {
  if (room === "compose") return [];
  const reachable = reach(room);
  return [...text.matchAll(/from "#([\w-]+)(?:\/[\w-]+)?"/g)]
    .map(([, target = ""]) => target)
    .filter((target) => target !== room && !reachable.has(target))
    .map((target) => `${path} must not import #${target}`);
}

function reach(room: string): Set<string> {
  const below =
    sees[room] ??
    assert.fail(`The room ${room} has no arrows; add it to test/tidy.test.ts and ARCHITECTURE.md.`);
  return new Set([...below, ...below.flatMap((name) => [...reach(name)])]);
}

/**
 * The texts of `sql` templates, nested ones too, with \0 for each value. Comments are left out:
 * they may name any table.
 */
function sqlTexts(text: string): string[] {
  const texts: string[] = [];
  for (let at = 0; ;) {
    const start = /(?<!`)\bsql`/g;
    start.lastIndex = at;
    if (!start.exec(text)) return texts;
    at = readTemplate(text, start.lastIndex, texts);
  }
}

/** Adds the text of the template that begins at `at`, after those nested in it; returns its end. */
function readTemplate(text: string, at: number, texts: string[]): number {
  let own = "";
  for (let here = at; here < text.length; here += 1) {
    if (text[here] === "`") {
      texts.push(own);
      return here + 1;
    }
    if (text.startsWith("${", here)) {
      here = readValue(text, here + 2, texts);
      own += "\0";
    } else {
      own += text[here];
    }
  }
  return assert.fail(`A template does not end: ${text.slice(at, at + 80)}`);
}

/** Skips the code of a value; returns the position of its closing brace. */
function readValue(text: string, at: number, texts: string[]): number {
  let depth = 1;
  for (let here = at; here < text.length; here += 1) {
    if (text[here] === "`") here = readTemplate(text, here + 1, texts) - 1;
    if (text[here] === "{") depth += 1;
    if (text[here] === "}") depth -= 1;
    if (depth === 0) return here;
  }
  return assert.fail(`A value does not end: ${text.slice(at, at + 80)}`);
}
