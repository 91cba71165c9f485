import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { type Clock, systemClock } from "#platform";
import { type MigrationsMode, runCli } from "../../server/cli/index.ts";
import { readConfig } from "../../server/config.ts";
import { openInstallation } from "../../server/installation.ts";
import { describeSettings } from "../../server/settings.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PROGRAM = join(ROOT, "bin", "posthorn.mjs");

type Environment = Record<string, string>;

/** PATH and the given variables only, so that no test depends on our own environment. */
function environmentWith(given: Environment): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], ...given };
}

/** A command line as typed: split at spaces, but each insert stays one argument. */
export function words(texts: TemplateStringsArray, ...inserts: (string | number)[]): string[] {
  return texts.flatMap((text, n) => {
    const insert = inserts[n];
    return [
      ...text.split(/\s+/).filter(Boolean),
      ...(insert === undefined ? [] : [String(insert)]),
    ];
  });
}

export type CliRun = { code: number | null; stdout: string; stderr: string };

/** Runs the real program as a person would, with its output piped. */
export async function runPosthorn(
  args: readonly string[],
  { environment = {}, input = "" }: { environment?: Environment; input?: string } = {},
): Promise<CliRun> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: tmpdir(),
    env: environmentWith(environment),
  });
  // A command that fails before reading has already closed its end.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { code: code as number | null, stdout, stderr };
}

/** The same within this process, which saves most of the time, if a separate one is not needed. */
export async function callPosthorn(
  args: readonly string[],
  {
    environment = {},
    input = "",
    clock = systemClock,
    stopSignal = () => new AbortController().signal,
  }: {
    environment?: Environment;
    input?: string;
    clock?: Clock;
    stopSignal?: () => AbortSignal;
  } = {},
): Promise<CliRun> {
  const [output, errors] = [new PassThrough(), new PassThrough()];
  const readSettings = () => readConfig(environment, tmpdir());
  const program = {
    version: "1.2.3",
    clock,
    settings: describeSettings(),
    readSettings,
    fileWithSecrets: () => undefined,
    start: () => assert.fail("the service needs a process of its own"),
    open: (migrations: MigrationsMode) =>
      openInstallation(readSettings(), { clock: systemClock, migrations }),
    stopSignal,
  };
  const streams = { input: Readable.from([input]), output, errors };
  const code = await runCli({ program, argv: args, streams });
  output.end();
  errors.end();
  return { code, stdout: await text(output), stderr: await text(errors) };
}

type Run = typeof runPosthorn;

/** Runs a command that must succeed, and parses the one JSON object it prints. */
export async function posthornJson<Json>(
  args: readonly string[],
  options: { environment?: Environment; input?: string; run?: Run } = {},
): Promise<Json> {
  const { run = runPosthorn, ...rest } = options;
  const { code, stdout, stderr } = await run(args, rest);
  assert.equal(code, 0, `posthorn ${args.join(" ")} failed: ${stderr}`);
  return JSON.parse(stdout) as Json;
}

export type RunningPosthorn = AsyncDisposable & {
  pid: number;
  /** The first line of its output that matches. */
  line(pattern: RegExp): Promise<string>;
  /** Stops reading its output and errors, like a tee that has ended. */
  stopReading(): void;
  /** Sends a signal and returns the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
};

/** Starts a command that runs until it is stopped, such as start, smsc or listen. */
export function startPosthorn(args: readonly string[], environment: Environment): RunningPosthorn {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: tmpdir(),
    env: environmentWith(environment),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on("line", (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    const [code] = await exited;
    return code;
  };
  return {
    pid: child.pid ?? assert.fail("the process did not start"),
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find((line) => pattern.test(line));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
        void exited.then(() =>
          reject(new Error(`It ended before ${pattern}: ${lines.join("\n")}`)),
        );
      }),
    stopReading() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    stop,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await stop();
    },
  };
}
