import { systemClock } from "#platform";
import { type Program, runCli } from "./cli/index.ts";
import { readConfig } from "./config.ts";
import { describeSettings } from "./settings.ts";
import { version } from "./version.ts";

const program: Program = {
  version,
  clock: systemClock,
  settings: describeSettings(),
  readSettings: () => readConfig(),
  // Loaded when they are needed: a command answers sooner without the whole service.
  async open(migrations) {
    const { openInstallation } = await import("./installation.ts");
    return openInstallation(readConfig(), { clock: systemClock, migrations });
  },
  start: async () => (await import("./start.ts")).start(stopping.signal),
  stopSignal: () => AbortSignal.any([stopping.signal, outputClosed()]),
};

/** Heard from the first moment. A second signal, for the impatient, ends the process at once. */
const stopping = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(name, () => stopping.abort());
}

/** Whoever reads a command's output may stop reading, such as head; a service goes on without. */
function outputClosed(): AbortSignal {
  const closed = new AbortController();
  process.stdout.on("error", () => closed.abort());
  return closed.signal;
}

process.exitCode = await runCli({
  program,
  argv: process.argv.slice(2),
  streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
});
