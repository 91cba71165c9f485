#!/usr/bin/env node
// Plain JavaScript for any Node from 20 on: it finds the Node that Posthorn is made for, which npm
// installed with it, and runs the program there. If this is that Node already, it runs it here.

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
/** As in `npm start`: what a request holds until its commit is then copied less often. */
const FLAGS = ["--max-semi-space-size=64"];

// Name look-ups (16 at once for each of three threads that post) and file work share this pool, and
// one slow look-up must not hold up the rest. The size is read when the pool is first used, so it
// is set before the program is loaded.
process.env.UV_THREADPOOL_SIZE ??= "64";

/** The launcher's process id, set by the launcher for the program that it starts. */
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
 * A cache of compiled code halves the time until a command starts. Only the user who installed us
 * writes it: anyone else's files would obstruct the next `npm ci`. If it cannot be written, Node
 * runs without it.
 */
function mayKeepCompiled() {
  const { uid } = statSync(MODULES, { throwIfNoEntry: false }) ?? {};
  return uid === (process.getuid?.() ?? 0);
}

/**
 * npm runs us in a shell and sends stop signals only to that shell, which dies without passing them
 * on. So under npm, losing our parent is the stop signal; the same under a launcher, which may be
 * killed before it can pass a signal on.
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
 * Stands in for the program: passes on each signal, waits for the end, and ends the same way.
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
