import { DatabaseUnavailable, isOverstrained, tellCommits, Unfit } from "#platform";
import {
  type AnyCommand,
  CommandFailure,
  type Context,
  type Installation,
  type MigrationsMode,
  type Program,
  WrongCall,
} from "./command.ts";
import { loadCommands } from "./commands.ts";
import { explainLine, findCommand } from "./find-command.ts";
import { commandHelp } from "./help.ts";
import { readArguments } from "./read-arguments.ts";
import { type Streams, terminalOn } from "./terminal.ts";

/** Exit codes: the command worked, failed, was called wrongly, or was interrupted. */
export const EXIT = { worked: 0, failed: 1, wrongCall: 2, interrupted: 130 } as const;

type Call = { program: Program; argv: readonly string[]; streams: Streams };

/** Runs one command and returns the exit code. It closes everything that it opened. */
export async function runCli({ program, argv, streams }: Call): Promise<number> {
  const { words, wantsHelp, wantsJson } = readLine(argv);
  const terminal = terminalOn(streams, wantsJson);
  if (words[0] === "--version" || words[0] === "-v") {
    const { version } = program;
    if (wantsJson) terminal.printJson({ version });
    else terminal.print(version);
    return EXIT.worked;
  }
  const commands = await loadCommands(words[0]);
  const command = findCommand(commands, words);
  if (command === undefined) {
    const { isHelp, text } = explainLine({ commands, words, wantsHelp, version: program.version });
    (isHelp ? terminal.print : terminal.say)(text);
    return isHelp ? EXIT.worked : EXIT.wrongCall;
  }
  if (wantsHelp) {
    terminal.print(commandHelp(command, program));
    return EXIT.worked;
  }
  const read = readArguments(command, words.slice(command.name.split(" ").length));
  if (read.outcome === "read") {
    const shows = commands.find(({ name }) => name !== command.name && isShownBy(command, name));
    return perform(command, read.given, { program, terminal, shows });
  }
  terminal.say([...read.faults, `npx posthorn ${command.name} --help explains it.`].join("\n"));
  return EXIT.wrongCall;
}

/** The options for help and JSON may stand anywhere, even before the command. */
function readLine(argv: readonly string[]) {
  const end = argv.indexOf("--");
  const asked = new Set(end < 0 ? argv : argv.slice(0, end));
  const start = argv.findIndex((word) => !["--json", "--help", "-h", "help"].includes(word));
  return {
    words: start < 0 ? [] : argv.slice(start),
    wantsHelp: asked.has("--help") || asked.has("-h") || argv[0] === "help",
    wantsJson: asked.has("--json"),
  };
}

/** Whether `reader` lists or shows what this command changes. */
function isShownBy({ name }: AnyCommand, reader: string): boolean {
  const group = name.split(" ").slice(0, -1);
  return ["list", "show"].some((word) => reader === [...group, word].join(" "));
}

type Performance = Pick<Context, "program" | "terminal"> & {
  /** The command that shows what this one has changed; undefined for one that only reads. */
  shows: AnyCommand | undefined;
};

async function perform(
  command: AnyCommand,
  given: Record<string, unknown>,
  { program, terminal, shows }: Performance,
): Promise<number> {
  const signal = program.stopSignal();
  let opened: Promise<Installation> | undefined;
  let hasCommitted = false;
  const open = async (mode: MigrationsMode) => {
    const installation = await program.open(mode);
    const { isEmbedded, applied, settings } = installation;
    if (isEmbedded && applied.some((name) => name.startsWith("0001_")))
      terminal.say(
        `There was no database yet in ${settings.dataDir}, so one is being created. If the service uses another, repeat this with its DATABASE_URL or DATA_DIR.`,
      );
    return { ...installation, db: tellCommits(installation.db, () => (hasCommitted = true)) };
  };
  const installation = (mode: MigrationsMode = "required") => (opened ??= open(mode));
  const context = { program, clock: program.clock, terminal, signal, installation };
  try {
    // The signal may come before the command begins.
    signal.throwIfAborted();
    const running = command.run(given, context);
    const result = await (command.isService ? running : untilAborted(running, signal));
    if (result && terminal.isJson) terminal.printJson(result.json);
    else if (result) terminal.print(result.text);
    return result?.isFault ? EXIT.failed : EXIT.worked;
  } catch (error) {
    // For a service, stopping on a signal is success.
    if (signal.aborted) return command.isService ? EXIT.worked : EXIT.interrupted;
    terminal.say(explainError(error, { shows, hasCommitted }));
    return error instanceof WrongCall ? EXIT.wrongCall : EXIT.failed;
  } finally {
    await opened?.then(
      (installation) => installation.close(),
      () => undefined,
    );
  }
}

/** A stop signal ends the wait, so that everything opened gets closed. */
async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(new Error("interrupted"));
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

type Deed = Pick<Performance, "shows"> & { hasCommitted: boolean };

function explainError(error: unknown, deed: Deed): string {
  if (error instanceof CommandFailure || error instanceof Unfit) return error.message;
  if (error instanceof DatabaseUnavailable) return explainAbsence(error, deed);
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `Something went wrong that should not have; please report it.\n${reason}`;
}

function explainAbsence(error: DatabaseUnavailable, { shows, hasCommitted }: Deed): string {
  const [isLost, isThere] = [error.unknownBackend !== undefined, isOverstrained(error)];
  const isDoubtful = shows !== undefined && (isLost || hasCommitted);
  const advice = isDoubtful
    ? `The command may have taken effect: check with npx posthorn ${shows.name} before you try again.`
    : `${isThere ? "Try" : "Check that it runs, then try"} again.`;
  const what = isThere ? "is too busy or full" : "cannot be reached";
  return `The database ${isDoubtful && isLost ? "went away before it answered" : what}: ${error.message}. ${advice}`;
}
