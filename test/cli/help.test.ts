import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadCommands, usage } from "../../server/cli/index.ts";
import { describeSettings } from "../../server/settings.ts";
import { callPosthorn } from "../support/cli.ts";

/** An unreachable database: commands that only explain themselves must not need one. */
const environment = { DATABASE_URL: "postgres://nobody@127.0.0.1:9/none" };

const explain = (...argv: string[]) => callPosthorn(argv, { environment });

test("--help lists every command, and a group's --help its own", async () => {
  const all = await explain("--help");
  const group = await explain("help", "account", "secret");

  assert.deepEqual([all.code, all.stderr, group.code], [0, "", 0]);
  for (const { name, summary } of await loadCommands()) {
    assert.ok(all.stdout.includes(`  ${name} `), `${name} is listed`);
    assert.match(summary, /^[A-Z].*\.$/, `the summary of ${name} is a sentence`);
  }
  assert.match(group.stdout, /account secret show/);
  assert.doesNotMatch(group.stdout, /credits add/);
});

test("a result that cannot be written is reported as a failure; a reader that stops reading is not", () => {
  const help = [join(import.meta.dirname, "../../bin/posthorn.mjs"), "--help"];
  const full = openSync("/dev/full", "w");
  const { status, stderr } = spawnSync(process.execPath, help, { stdio: ["ignore", full, "pipe"] });
  closeSync(full);
  const piped = spawnSync("sh", ["-c", '"$0" "$@" | true', process.execPath, ...help]);

  assert.equal(status, 1);
  assert.match(String(stderr), /^The result could not be written \(ENOSPC\)/);
  assert.equal(String(piped.stderr), "");
});

test("start --help shows every setting", async () => {
  const { code, stdout } = await explain("start", "--help");

  assert.equal(code, 0);
  for (const { name } of describeSettings()) assert.match(stdout, new RegExp(`^  ${name} `, "m"));
});

test("every command's help shows its usage, options, JSON and examples", async () => {
  for (const { name, options, prints, examples } of await loadCommands()) {
    const { code, stdout } = await explain(...name.split(" "), "-h");

    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^Usage: posthorn ${name}`, "m"));
    assert.match(stdout, /^ {2}--json +Print one JSON object/m);
    assert.equal(stdout.match(/^ {2}--/gm)?.length, Object.keys(options).length + 2);
    assert.ok(prints === null || stdout.includes(prints), `${name} shows its JSON`);
    assert.ok(examples.length > 0 && examples.every((example) => stdout.includes(example)));
  }
});

test("usage shows which options may be given more than once", async () => {
  const lines = (await loadCommands()).map(usage);

  assert.ok(lines.some((line) => line.includes(" [--reset OPTION]…")));
  assert.ok(lines.some((line) => line.includes(" --scope SCOPE [--scope SCOPE]…")));
});

test("the help of a carrier's settings shows which values they take", async () => {
  const { stdout } = await explain("carrier", "add", "--help");

  const shown = ["--rate N", "--bind-timeout DURATION", "--tls-ca FILE", "--in-doubt resend|fail"];
  assert.deepEqual(
    shown.filter((each) => !stdout.includes(`  ${each} `)),
    [],
  );
  assert.ok(stdout.includes("  --tls  "), "a flag takes none");
});

test("--version prints the version, and as JSON where asked", async () => {
  assert.equal((await explain("--version")).stdout, "1.2.3\n");
  assert.equal((await explain("--version", "--json")).stdout, '{"version":"1.2.3"}\n');
});

test("without a command, help goes to standard error and the exit code is a failure", async () => {
  const { code, stdout, stderr } = await explain();

  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /^Posthorn 1\.2\.3 sends text messages/);
});

test("a mistyped command gets the likely one suggested, on standard error", async () => {
  const { code, stdout, stderr } = await explain("acount", "creat");

  assert.deepEqual([code, stdout], [2, ""]);
  assert.equal(
    stderr,
    'There is no command "acount creat". Did you mean npx posthorn account create? npx posthorn --help lists all.\n',
  );
});

test("all wrong options are named, with the command that explains them", async () => {
  const { code, stderr } = await explain("account", "create", "--nam", "x", "--credits", "many");

  assert.equal(code, 2);
  assert.deepEqual(stderr.split("\n").slice(0, -1), [
    "There is no option --nam; did you mean --name?",
    "--name NAME is missing. The account's name, 1 to 60 characters.",
    '--credits must be a whole number from 0 to 1000000000000, not "many".',
    "npx posthorn account create --help explains it.",
  ]);
});

test("a password for the rehearsal SMSC is refused without its user", async () => {
  const { code, stderr } = await explain("smsc", "--port", "0", "--password", "rehearse");

  assert.equal(code, 2);
  assert.equal(stderr, "--password needs the user it belongs to: add --system-id USER.\n");
});

test("an unreachable database ends a command with one sentence that says what to check", async () => {
  const { code, stdout, stderr } = await explain("account", "list");

  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /^The database at DATABASE_URL cannot be reached: .* Check host, port, user, password and name\.\n$/,
  );
});

const LOADED_BY_COMMANDS = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({
    load(url, context, next) {
      loaded.push(url);
      return next(url, context);
    },
  });
  const { loadCommands } = await import("./server/cli/index.ts");
  await loadCommands();
  for (const url of loaded) console.log(url);`;

test("no command loads the schemas or the HTTP server, which would take longer than most commands do", () => {
  const cwd = join(import.meta.dirname, "../..");
  const args = ["--input-type=module", "--eval", LOADED_BY_COMMANDS];
  const loaded = execFileSync(process.execPath, args, { cwd, encoding: "utf8" }).split("\n");

  assert.ok(loaded.some((url) => url.endsWith("/server/cli/send-command.ts")));
  const heavy = loaded.filter((url) => /node_modules\/(?:typebox|fastify)\//.test(url));
  assert.deepEqual(heavy, []);
});
