import { systemClock } from "#platform";
import { EXIT, type Program, runCli } from "./cli/index.ts";
import { fileWithSecrets, readConfig } from "./config.ts";
import { describeSettings } from "./settings.ts";
import { version } from "./version.ts";

const program: Program = {
  version,
  clock: systemClock,
  settings: describeSettings(),
  readSettings: () => readConfig(),
  fileWithSecrets: () => fileWithSecrets(readConfig()),
  // Imported on demand: a command answers sooner if it does not load the whole service.
  async open(migrations) {
    const { openInstallation } = await import("./installation.ts");
    return openInstallation(readConfig(), { clock: systemClock, migrations });
  },
  async start() {
    isService = true;
    await (await import("./start.ts")).start(stopping.signal);
  },
  stopSignal: () => AbortSignal.any([stopping.signal, unread.signal]),
};

/** Signals are heard from the first moment, also while starting. */
const stopping = new AbortController();
/** Ctrl+C arrives twice: the terminal signals all its processes, and our parent forwards it. */
const SAME_SIGNAL_MS = 1_000;
let heardAtMs: number | undefined;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    heardAtMs ??= systemClock.monotonicMs();
    stopping.abort();
    if (systemClock.monotonicMs() - heardAtMs < SAME_SIGNAL_MS) return;
    // A second signal, sent by somebody impatient, ends the process at once.
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  });
}

/** The reader of a command's output, such as `head`, may stop early. A service goes on without. */
const unread = new AbortController();
let isService = false;
let isUnwritten = false;
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  unread.abort();
  if (code === "EPIPE" || isService || isUnwritten) return;
  isUnwritten = true;
  process.exitCode = 1;
  process.stderr.write(
    `The result could not be written (${code}), but the command took effect. If it created a key or secret, that is lost: revoke it and create another.\n`,
  );
});
// stderr failed as well, so there is nowhere left to report that.
process.stderr.on("error", () => undefined);

const exitCode = await runCli({
  program,
  argv: process.argv.slice(2),
  streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
});
process.exitCode = isUnwritten ? 1 : exitCode;
// An interrupted command may still wait for a long query or for input. Its resources are closed.
if (exitCode === EXIT.interrupted) process.exit();
