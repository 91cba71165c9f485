import type { AnyCommand, Program } from "./command.ts";
import { type Input, type Inputs, optionName } from "./input.ts";
import { everywhere } from "./read-arguments.ts";

const WIDTH = 100;

/** `posthorn account create --name N [--credits C]`. */
export function usage({ name, arguments: places, options }: AnyCommand): string {
  const words = Object.values(places).map(({ placeholder, isRepeatable, isRequired }) => {
    const word = `${placeholder}${isRepeatable ? "…" : ""}`;
    return isRequired ? word : `[${word}]`;
  });
  const flags = Object.entries(options).map(([key, input]) => {
    const option = optionLabel(key, input);
    const more = input.isRepeatable ? ` [${option}]…` : "";
    return input.isRequired ? `${option}${more}` : `[${option}]`;
  });
  return ["posthorn", name, ...words, ...flags].join(" ");
}

export function optionLabel(key: string, { placeholder }: Input): string {
  return `--${optionName(key)}${placeholder === null ? "" : ` ${placeholder}`}`;
}

export function meaningOf({ meaning, fallback }: Input): string {
  return fallback === null ? meaning : `${meaning} ${fallback} if left out.`;
}

export function commandHelp(command: AnyCommand, program: Program): string {
  const { summary, arguments: places, options, examples, details } = command;
  return joinSections([
    `${summary}\n\nUsage: ${shortUsage(command)}`,
    section(
      "Arguments",
      Object.values(places).map((input) => [input.placeholder ?? "", meaningOf(input)]),
    ),
    section("Options", optionRows({ ...options, ...everywhere })),
    details?.(program),
    examples.length > 0 &&
      `Examples\n${examples.map((line) => `  npx posthorn ${line}`).join("\n")}`,
  ]);
}

/** All commands, or those that begin with the words of a group. */
export function overview(commands: readonly AnyCommand[], group: string, version: string): string {
  const shown = commands.filter(({ name }) => group === "" || name.startsWith(`${group} `));
  const title =
    group === ""
      ? `Posthorn ${version} sends text messages and reports their delivery.\n\nUsage: posthorn COMMAND [options]`
      : `Usage: posthorn ${group} COMMAND [options]`;
  return joinSections([
    title,
    section(
      "Commands",
      shown.map(({ name, summary }) => [name, summary]),
    ),
    "posthorn COMMAND --help explains one of them. posthorn --version prints the version.",
  ]);
}

/** With many options the line would hide what must be given. */
function shortUsage(command: AnyCommand): string {
  const whole = usage(command);
  if (whole.length <= 2 * WIDTH) return whole;
  const needed = Object.entries(command.options).filter(([, { isRequired }]) => isRequired);
  return `${usage({ ...command, options: Object.fromEntries(needed) })} [options]`;
}

function optionRows(options: Inputs): [string, string][] {
  return Object.entries(options).map(([key, input]) => [optionLabel(key, input), meaningOf(input)]);
}

export function section(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const indent = Math.min(30, Math.max(...rows.map(([label]) => label.length))) + 4;
  const lines = rows.flatMap(([label, meaning]) => {
    const [first = "", ...rest] = wrap(meaning, WIDTH - indent);
    const head = `  ${label}`;
    const hanging = [...rest].map((line) => " ".repeat(indent) + line);
    return head.length + 1 >= indent
      ? [head, " ".repeat(indent) + first, ...hanging]
      : [head.padEnd(indent) + first, ...hanging];
  });
  return `${title}\n${lines.join("\n")}`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

function joinSections(sections: (string | false | undefined)[]): string {
  return sections.filter((each) => typeof each === "string" && each !== "").join("\n\n");
}
