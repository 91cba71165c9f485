import { nearest } from "#platform";
import type { AnyCommand } from "./command.ts";
import { overview } from "./help.ts";

/** The command with the longest name that the line begins with. */
export function findCommand(
  commands: readonly AnyCommand[],
  words: readonly string[],
): AnyCommand | undefined {
  return commands
    .filter(({ name }) => name.split(" ").every((word, n) => words[n] === word))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
}

type Line = {
  commands: readonly AnyCommand[];
  words: readonly string[];
  wantsHelp: boolean;
  version: string;
};

/** For a line that names no command: help if it was asked for, otherwise what is wrong. */
export function explainLine({ commands, words, wantsHelp, version }: Line) {
  const end = words.findIndex((word) => word.startsWith("-"));
  const named = end < 0 ? words : words.slice(0, end);
  const group = groupOf(commands, named);
  if (group.length === named.length)
    return { isHelp: wantsHelp, text: overview(commands, group.join(" "), version) };
  const near = nearest(
    named.slice(0, 3).join(" "),
    commands.map(({ name }) => name),
  );
  const hint = near === undefined ? "" : ` Did you mean ${PROGRAM} ${near}?`;
  const place = [PROGRAM, ...group, "--help"].join(" ");
  return {
    isHelp: false,
    text: `There is no command "${named.join(" ")}".${hint} ${place} lists all.`,
  };
}

const PROGRAM = "npx posthorn";

/** The leading words that some command begins with. */
function groupOf(commands: readonly AnyCommand[], words: readonly string[]): string[] {
  const isStart = (count: number) =>
    commands.some(({ name }) => `${name} `.startsWith(`${words.slice(0, count).join(" ")} `));
  let count = 0;
  while (count < words.length && isStart(count + 1)) count += 1;
  return words.slice(0, count);
}
