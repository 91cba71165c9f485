import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..");

/** The program, reduced to what the launcher must get right. */
const PROGRAM = `
  process.on("SIGTERM", () => console.log("SIGTERM"));
  if (process.argv[2] === "wait") {
    process.once("SIGTERM", () => setTimeout(() => process.exit(3), 200));
    setTimeout(() => process.exit(9), 30_000);
    console.log("waiting", process.pid);
  } else {
    const { pid, version, argv, env } = process;
    console.log(JSON.stringify({ pid, version, args: argv.slice(2), threads: env.UV_THREADPOOL_SIZE }));
    process.exitCode = 7;
  }
`;

/** Makes the launcher believe that it runs on this version and architecture. */
function pretend(version: string, arch: string = process.arch): string[] {
  const code = `Object.defineProperties(process, { versions: { value: { ...process.versions, node: "${version}" } }, arch: { value: "${arch}" } })`;
  return ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
}

test("on the required Node, the program runs in the launcher's own process", async () => {
  await using project = await smallProject();

  const launcher = project.launch(["doctor", "--json"]);

  const said = JSON.parse(await text(launcher.stdout));
  assert.deepEqual(said.args, ["doctor", "--json"]);
  assert.equal(said.pid, launcher.pid);
  assert.equal(said.threads, "64");
});

test("on another Node, the program runs on the one installed with it and its exit code is passed on", async () => {
  await using project = await smallProject();

  const launcher = project.launch(["send", "a text"], { node: pretend("20.0.0") });
  const [said, [code]] = await Promise.all([text(launcher.stdout), once(launcher, "exit")]);

  const { args, version, threads, pid } = JSON.parse(said);
  assert.deepEqual(args, ["send", "a text"]);
  assert.notEqual(pid, launcher.pid);
  assert.equal(version, process.version);
  assert.equal(threads, "64");
  assert.equal(code, 7);
});

test("a stop signal to the launcher reaches the program once, and the launcher waits for it to end", async () => {
  await using project = await smallProject();
  const launcher = project.launch(["wait"], { node: pretend("20.0.0") });
  await once(launcher.stdout, "data");
  const said = text(launcher.stdout);

  launcher.kill("SIGTERM");
  const [code] = await once(launcher, "exit");

  assert.equal(code, 3);
  assert.equal(await said, "SIGTERM\n");
});

test("if the launcher is killed and cannot pass on a signal, the program stops cleanly", async () => {
  await using project = await smallProject();
  const launcher = project.launch(["wait"], { node: pretend("20.0.0") });
  await once(launcher.stdout, "data");
  const said = text(launcher.stdout);

  launcher.kill("SIGKILL");

  assert.equal(await said, "SIGTERM\n");
});

test("a program killed by a signal makes the launcher end by that signal", async () => {
  await using project = await smallProject();
  const launcher = project.launch(["wait"], { node: pretend("20.0.0") });
  const [line] = await once(launcher.stdout, "data");

  process.kill(Number(/\d+/.exec(String(line))?.[0]), "SIGKILL");
  const [, signal] = await once(launcher, "exit");

  assert.equal(signal, "SIGKILL");
});

test("if npm is told to stop and ends only its shell, the program stops cleanly", async () => {
  await using project = await smallProject();
  const shell = project.launch(["wait"], { throughShell: true });
  await once(shell.stdout, "data");
  const said = text(shell.stdout);

  shell.kill("SIGTERM");

  assert.equal(await said, "SIGTERM\n");
});

for (const [where, node] of [
  ["in its own process", []],
  ["on the Node installed with it", pretend("20.0.0")],
] as const) {
  test(`compiled code is cached in the installation if the program runs ${where}`, async () => {
    await using project = await smallProject();

    const launcher = project.launch(["doctor"], { node });
    await once(launcher, "exit");

    const kept = await readdir(project.compiled, { recursive: true, withFileTypes: true });
    assert.ok(kept.some((entry) => entry.isFile()));
  });

  test(`the program runs ${where} even if compiled code cannot be cached`, async () => {
    await using project = await smallProject();
    await mkdir(dirname(project.compiled), { recursive: true });
    await writeFile(project.compiled, "not a folder");

    const launcher = project.launch(["doctor"], { node });
    const [said, complaint, [code]] = await Promise.all([
      text(launcher.stdout),
      text(launcher.stderr),
      once(launcher, "exit"),
    ]);

    assert.deepEqual([JSON.parse(said).args, complaint, code], [["doctor"], "", 7]);
  });
}

test("on an old Node without the right one installed, one sentence says what to do", async () => {
  await using project = await smallProject({ hasNode: false });

  const launcher = project.launch(["start"], { node: pretend("20.0.0") });
  const [said, [code]] = await Promise.all([text(launcher.stderr), once(launcher, "exit")]);

  assert.match(
    said,
    /^Posthorn needs Node 26, but this is 20\.0\.0\..*npm ci without --omit=optional.*\n$/,
  );
  assert.equal(code, 1);
});

test("if npm has no such Node, the sentence does not refer to npm", async () => {
  await using project = await smallProject();

  const launcher = project.launch(["start"], { node: pretend("20.0.0", "pdp11") });
  const [said, [code]] = await Promise.all([text(launcher.stderr), once(launcher, "exit")]);

  assert.match(
    said,
    /^Posthorn needs Node 26, but this is 20\.0\.0\. npm has no Node for \w+-pdp11: install it yourself\.\n$/,
  );
  assert.equal(code, 1);
});

test("a file is run on the Node installed with it, whatever Node npm runs on, with its arguments and exit code", async () => {
  await using project = await smallProject();

  const script = project.launch(["a text"], { node: pretend("20.0.0"), file: "server/main.ts" });
  const [said, [code]] = await Promise.all([text(script.stdout), once(script, "exit")]);

  const { args, version, pid } = JSON.parse(said);
  assert.deepEqual([args, version, code], [["a text"], process.version, 7]);
  assert.notEqual(pid, script.pid);
});

test("a link to Node that npm removed is restored once the program is built", async () => {
  await using project = await smallProject();

  await once(project.launch([], { file: "server/main.ts" }), "exit");

  assert.equal(await realpath(project.link), await realpath(process.execPath));
});

/** `file` is run by with-node.mjs in place of the launcher. */
type LaunchOptions = { node?: readonly string[]; throughShell?: boolean; file?: string };
/** The launcher with a one-file program, in a folder of its own. */
async function smallProject({ hasNode = true } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "posthorn launcher "));
  const nodeFolder = join(dirname(process.execPath), "..");
  const { name, version } = JSON.parse(await readFile(join(nodeFolder, "package.json"), "utf8"));
  await cp(join(ROOT, "bin"), join(folder, "bin"), { recursive: true });
  await mkdir(join(folder, "server"));
  await writeFile(join(folder, "server/main.ts"), PROGRAM);
  const manifest = { type: "module", optionalDependencies: { [name]: version } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  await mkdir(join(folder, "node_modules"));
  if (hasNode) await symlink(nodeFolder, join(folder, "node_modules", name));
  return {
    link: join(folder, "node_modules/.bin/node"),
    compiled: join(folder, "node_modules/.cache/compiled"),
    launch(
      args: string[],
      { node = [], throughShell = false, file }: LaunchOptions = {},
    ): ChildProcessWithoutNullStreams {
      const program = file === undefined ? ["posthorn.mjs"] : ["with-node.mjs", join(folder, file)];
      const [script = "", ...rest] = program;
      const command = [process.execPath, ...node, join(folder, "bin", script), ...rest, ...args];
      const { NODE_COMPILE_CACHE: _, ...env } = process.env;
      if (!throughShell) return spawn(command[0] ?? "", command.slice(1), { env });
      env["npm_lifecycle_event"] = "start";
      // A command afterwards keeps every shell from replacing itself by the program.
      return spawn("sh", ["-c", '"$@"; true', "sh", ...command], { env });
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
