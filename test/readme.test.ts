import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { testDatabase } from "./support/postgres.ts";
import { freePort } from "./support/process.ts";
import { startReceiver } from "./support/receiver.ts";

const ROOT = join(import.meta.dirname, "..");
const readme = readFileSync(join(ROOT, "README.md"), "utf8");

const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block = ""]) => block);
/** The commands within the prose, in the order of the page. */
const asides = new Set(
  [...readme.matchAll(/`(npx posthorn [^`\n]+)`/g)].map(([, line = ""]) => line),
);

/** npx takes longer than most commands do; it is used only for those that keep running. */
const QUICK_NPX = 'npx() { shift; node bin/posthorn.mjs "$@"; }';

test("every command in the README does what the page says", async () => {
  const [start = "", send = "", carrier = "", tests = "", ...further] = blocks;
  const [smsc = "", listen = ""] = ["smsc", "listen"].map((name) =>
    [...asides].find((line) => line.startsWith(`npx posthorn ${name}`)),
  );
  await using started = new AsyncDisposableStack();
  // Not the embedded one, which takes longer and is covered by `test/cli/embedded.test.ts`.
  const { url } = started.use(await testDatabase());
  const receiver = started.use(await startReceiver());
  const surroundings = {
    "npm ci && ": "",
    "127.0.0.1:8080": `127.0.0.1:${await freePort()}`,
    "smpp.example.com:2775": `127.0.0.1:${await freePort()}`,
    "http://127.0.0.1:3000/hooks": receiver.url,
  };
  const portOf = (name: keyof typeof surroundings) => surroundings[name].split(":")[1] ?? "";
  const folder = await mkdtemp(join(tmpdir(), "posthorn-readme-"));
  started.defer(() => rm(folder, { recursive: true, force: true }));

  function shell(commands: string) {
    const here = Object.entries(surroundings).reduce(
      (line, [written, ours]) => line.replaceAll(written, ours),
      commands,
    );
    const port = portOf("127.0.0.1:8080");
    const env = { ...process.env, DATABASE_URL: url, DATA_DIR: folder, PORT: port };
    return spawn("bash", ["-euo", "pipefail", "-c", here], { cwd: ROOT, env });
  }

  /** A command that runs until the test ends; resolves when its output shows that it is up. */
  async function leaveRunning(commands: string, isThere: RegExp): Promise<void> {
    const child = shell(`exec ${commands}`);
    const ended = once(child, "exit");
    started.defer(async () => {
      child.kill();
      await ended;
    });
    const said = [child.stdout, child.stderr].map(
      (stream) =>
        new Promise<void>((resolve) => {
          createInterface(stream).on("line", (line) => isThere.test(line) && resolve());
        }),
    );
    const isGone = ended.then(() => assert.fail(`${commands} ended before it said ${isThere}`));
    await Promise.race([...said, isGone]);
  }

  await leaveRunning(start, /is running/);
  await leaveRunning(`${smsc} --port ${portOf("smpp.example.com:2775")}`, /"port"/);
  const atOnce = [...asides].filter((line) => line !== smsc && line !== listen);
  const ran = shell(
    [QUICK_NPX, "SMPP_PASSWORD=rehearse", send, carrier, ...atOnce, 'echo "$ACCOUNT"'].join("\n"),
  );
  const [stdout, stderr, [code]] = await Promise.all([
    text(ran.stdout),
    text(ran.stderr),
    once(ran, "exit"),
  ]);
  assert.equal(code, 0, stderr);
  const account = stdout.trimEnd().split("\n").at(-1) ?? "";
  await leaveRunning(listen.replace("$ACCOUNT", account), /^Listening/);
  shell(`node bin/posthorn.mjs send --account ${account} --to 4915112345678 --text Hello`);
  await receiver.arrived(2);

  const [, messageId] = /"messageId":"([^"]*)"/.exec(stdout) ?? [];
  const told = [
    ["accepted", `{"messageId":"${messageId}","recipient":"4915112345678"`],
    ["listed", `{"data":[{"messageId":"${messageId}"`],
    ["its history", '{"data":[{"type":"status"'],
    ["charged", `"kind":"charge","amount":-1,"balanceAfter":99,"messageId":"${messageId}"`],
    ["watched to its end", '"status":"DELIVERED"'],
    ["a carrier that is up", '"name":"acme","state":"up"'],
    ["books that agree", '"violations":[]'],
  ] as const;
  for (const [what, part] of told) assert.ok(stdout.includes(part), `${what}: ${stdout}`);
  assert.doesNotMatch(stdout, /"error":\{/);
  assert.deepEqual([tests, further], ["npm ci && npm test\n", []]);
});
