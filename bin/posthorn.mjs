#!/usr/bin/env node
// Plain JavaScript for any Node from 20 on: it finds the Node that Posthorn is made for, which npm
// installed with it, and runs the program there. In place when this already is that Node.

import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import nodeModule from "node:module";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPinnedNode, isRightNode, tellWhatIsMissing } from "./pinned-node.mjs";

const PROGRAM = new URL("../server/main.ts", import.meta.url);
const MODULES = fileURLToPath(new URL("../node_modules", import.meta.url));
const COMPILED = join(MODULES, ".cache", "compiled");
const PARENT_CHECK_MS = 250;
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];
/** What a request holds until its commit is then copied less often. As `npm start` has it. */
const FLAGS = ["--max-semi-space-size=64"];

// Name look-ups, 16 at once for each of the three threads that post, and file work share this pool, and
// one slow look-up must not hold up the rest. It is read when the pool is first used, so it is set
// before the program is loaded.
process.env.UV_THREADPOOL_SIZE ??= "64";

/** Set by the launcher for the program that it started: the launcher's process id. */
const { POSTHORN_LAUNCHER: launcher } = process.env;
delete process.env.POSTHORN_LAUNCHER;

stopWithParent();
const pinned = findPinnedNode();
if (launcher !== undefined || isRightNode(pinned)) {
  if (mayKeepCompiled()) nodeModule.enableCompileCache(COMPILED);
  await import(PROGRAM.href);
} else if (pinned.path !== undefined) {
  runOn(pinned.path);
} else {
  tellWhatIsMissing(pinned);
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
    process.stderr.write(`Cannot run Node at ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
    if (signal === null) return;
    for (const name of FORWARDED) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}
