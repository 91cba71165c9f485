import assert from "node:assert/strict";
import { test } from "node:test";
import { settings } from "../../server/config.ts";
import { loadCommands } from "../../server/cli/index.ts";
import { runPosthorn } from "../support/cli.ts";

/** A database that nobody can reach: what only explains itself must not need one. */
const environment = { DATABASE_URL: "postgres://nobody@127.0.0.1:9/none" };

const run = (...args: string[]) => runPosthorn(args, { environment });

test("--help lists every command, and a group's lists its own", async () => {
  const [all, group] = await Promise.all([run("--help"), run("account", "secret", "--help")]);

  assert.deepEqual([all.code, all.stderr, group.code], [0, "", 0]);
  for (const { name, summary } of await loadCommands()) {
    assert.ok(all.stdout.includes(`  ${name} `), `${name} is listed`);
    assert.match(summary, /^[A-Z].*\.$/, `the summary of ${name} is a sentence`);
  }
  assert.match(group.stdout, /account secret show/);
  assert.doesNotMatch(group.stdout, /credits add/);
});

test("start --help shows every setting", async () => {
  const { code, stdout } = await run("start", "--help");

  assert.equal(code, 0);
  for (const { name } of Object.values(settings))
    assert.match(stdout, new RegExp(`^  ${name} `, "m"));
});

test("a command's help shows its usage, options, JSON and examples", async () => {
  const { stdout } = await run("key", "create", "-h");

  assert.match(stdout, /Usage: posthorn key create --account ID --name NAME --scope SCOPE/);
  assert.match(stdout, /--expires TIME +When it ends/);
  assert.match(stdout, /\{"keyId","key","name","scopes"\}/);
  assert.match(stdout, /npx posthorn key create --account/);
});

test("--version prints the version, and as JSON where asked", async () => {
  const [plain, asJson] = await Promise.all([run("--version"), run("--version", "--json")]);

  assert.match(plain.stdout, /^\d+\.\d+\.\d+\n$/);
  assert.deepEqual(JSON.parse(asJson.stdout), { version: plain.stdout.trim() });
});

test("a mistyped command is answered with the likely one, on standard error", async () => {
  const { code, stdout, stderr } = await run("acount", "creat");

  assert.deepEqual([code, stdout], [2, ""]);
  assert.equal(
    stderr,
    'There is no command "acount creat". Did you mean posthorn account create? posthorn --help lists all.\n',
  );
});

test("a database that cannot be reached ends a command with one sentence that says what to check", async () => {
  const { code, stdout, stderr } = await run("account", "list");

  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^The database at DATABASE_URL cannot be reached: .* Check host, port, user and password\.\n$/,
  );
});
