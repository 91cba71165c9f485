import { DatabaseUnavailable, nearest, Unfit } from "#platform";
import {
  type AnyCommand,
  CommandFailure,
  type Context,
  type Installation,
  type MigrationsWish,
  type Program,
} from "./command.ts";
import { loadCommands } from "./commands.ts";
import { commandHelp, overview } from "./help.ts";
import { readArguments } from "./read-arguments.ts";
import { type Streams, type Terminal, terminalOn } from "./terminal.ts";

/** What a shell sees: it worked, it failed, it was called wrongly, it was interrupted. */
const EXIT = { worked: 0, failed: 1, wrongCall: 2, interrupted: 130 } as const;

type Call = { program: Program; argv: readonly string[]; streams: Streams };

/** Runs one command and answers the exit code. Nothing it opened is left behind. */
export async function runCli({ program, argv, streams }: Call): Promise<number> {
  const isGlobal = (word: string | undefined) => ["--json", "--help", "-h"].includes(word ?? "");
  const start = argv.findIndex((word) => !isGlobal(word));
  const words = start < 0 ? [] : argv.slice(start);
  const asked = new Set(argv.slice(0, start < 0 ? argv.length : start));
  const terminal = terminalOn(streams, asked.has("--json") || words.includes("--json"));

  if (words[0] === "--version" || words[0] === "-v") return showVersion(program, terminal, words);
  const commands = await loadCommands(words[0]);
  const command = findCommand(commands, words);
  if (command === undefined) return explain({ program, commands, terminal, words, asked });
  const rest = words.slice(command.name.split(" ").length);
  if (asked.has("--help") || asked.has("-h") || asksForHelp(rest)) {
    streams.output.write(`${commandHelp(command, program)}\n`);
    return EXIT.worked;
  }
  const read = readArguments(command, rest);
  if (read.outcome === "wrong") return refuse(terminal, command, read.faults);
  return perform(command, read.given, { program, terminal });
}

/** The command with the most words that the line begins with. */
function findCommand(
  commands: readonly AnyCommand[],
  words: readonly string[],
): AnyCommand | undefined {
  return commands
    .filter(({ name }) => name.split(" ").every((word, n) => words[n] === word))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
}

function asksForHelp(rest: readonly string[]): boolean {
  const end = rest.indexOf("--");
  return (end < 0 ? rest : rest.slice(0, end)).some((word) => word === "--help" || word === "-h");
}

function showVersion({ version }: Program, terminal: Terminal, words: readonly string[]): number {
  terminal.print(words.includes("--json") ? JSON.stringify({ version }) : version);
  return EXIT.worked;
}

type Unclear = Pick<Context, "program" | "terminal"> & {
  commands: readonly AnyCommand[];
  words: readonly string[];
  /** What stood before the first word. */
  asked: ReadonlySet<string>;
};

/** No command was named: help where it was asked for, otherwise what is wrong. */
function explain({ program, commands, terminal, words, asked }: Unclear): number {
  const end = words.findIndex((word) => word.startsWith("-"));
  const named = (end < 0 ? words : words.slice(0, end)).filter((word) => word !== "help");
  const group = groupOf(commands, named);
  const wantsHelp =
    asked.has("--help") || asked.has("-h") || asksForHelp(words) || words[0] === "help";
  if (wantsHelp && group.length === named.length) {
    terminal.print(overview(commands, group.join(" "), program.version));
    return EXIT.worked;
  }
  if (group.length === named.length) {
    terminal.say(overview(commands, group.join(" "), program.version));
    return EXIT.wrongCall;
  }
  const names = commands.map(({ name }) => name);
  const near = nearest(named.slice(0, 3).join(" "), names);
  const hint = near === undefined ? "" : ` Did you mean posthorn ${near}?`;
  const place = group.length > 0 ? `posthorn ${group.join(" ")} --help` : "posthorn --help";
  terminal.say(`There is no command "${named.join(" ")}".${hint} ${place} lists all.`);
  return EXIT.wrongCall;
}

/** The leading words that some command begins with. */
function groupOf(commands: readonly AnyCommand[], words: readonly string[]): string[] {
  const isStart = (count: number) =>
    commands.some(({ name }) => `${name} `.startsWith(`${words.slice(0, count).join(" ")} `));
  let count = 0;
  while (count < words.length && isStart(count + 1)) count += 1;
  return words.slice(0, count);
}

function refuse(terminal: Terminal, { name }: AnyCommand, faults: readonly string[]): number {
  for (const fault of faults) terminal.say(fault);
  terminal.say(`posthorn ${name} --help explains it.`);
  return EXIT.wrongCall;
}

async function perform(
  command: AnyCommand,
  given: Record<string, unknown>,
  { program, terminal }: Pick<Context, "program" | "terminal">,
): Promise<number> {
  const signal = program.stopSignal();
  let opened: Promise<Installation> | undefined;
  const installation = (wish: MigrationsWish = "required") => (opened ??= program.open(wish));
  const context = { program, clock: program.clock, terminal, signal, installation };
  try {
    const running = command.run(given, context);
    const result = await (command.isService ? running : untilAborted(running, signal));
    if (result) terminal.print(terminal.isJson ? JSON.stringify(result.json) : result.text);
    return result?.isFault ? EXIT.failed : EXIT.worked;
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted;
    terminal.say(explainError(error));
    return EXIT.failed;
  } finally {
    await opened?.then(
      (installation) => installation.close(),
      () => undefined,
    );
  }
}

/** A stop signal ends the wait, so that what was opened is closed. */
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

function explainError(error: unknown): string {
  if (error instanceof CommandFailure || error instanceof Unfit) return error.message;
  if (error instanceof DatabaseUnavailable) {
    return `The database cannot be reached: ${error.message}. Check that it runs, then try again.`;
  }
  if (error instanceof Error && error.name === "WrongSettings") return error.message;
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `Something went wrong that should not; please report it.\n${reason}`;
}
