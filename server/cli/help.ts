import type { AnyCommand, Program } from "./command.ts";
import { type Input, type Inputs, optionName } from "./input.ts";
import { everywhere } from "./read-arguments.ts";

const WIDTH = 100;

/** For example, `posthorn account create --name N [--credits C]`. */
export function usage({ name, arguments: places, options }: AnyCommand): string {
  const words = Object.values(places).map(({ placeholder, isRepeatable, isRequired }) => {
    const word = `${placeholder}${isRepeatable ? "…" : ""}`;
    return isRequired ? word : `[${word}]`;
  });
  const flags = Object.entries(options).map(([key, input]) => {
    const option = optionLabel(key, input);
    const optional = `[${option}]${input.isRepeatable ? "…" : ""}`;
    if (!input.isRequired) return optional;
    return input.isRepeatable ? `${option} ${optional}` : option;
  });
  return ["posthorn", name, ...words, ...flags].join(" ");
}

function optionLabel(key: string, { placeholder }: Input): string {
  return `--${optionName(key)}${placeholder === null ? "" : ` ${placeholder}`}`;
}

/** An argument or option in words, for help and the reference page. */
export function describeInput(key: string, input: Input, kind: "argument" | "option") {
  const { meaning, fallback, isRequired, unless } = input;
  return {
    label: kind === "argument" ? (input.placeholder ?? key) : optionLabel(key, input),
    meaning: fallback === null || fallback === "" ? meaning : `${meaning} Default: ${fallback}.`,
    need: !isRequired ? "" : unless === undefined ? "yes" : `unless --${optionName(unless)}`,
  };
}

export function commandHelp(command: AnyCommand, program: Program): string {
  const { summary, prints, arguments: places, options, examples, details } = command;
  return joinSections([
    `${summary}\n\nUsage: ${shortUsage(command)}`,
    section("Arguments", inputRows(places, "argument")),
    section("Options", inputRows({ ...options, ...everywhere }, "option")),
    prints !== null &&
      `With --json
  ${prints}`,
    details?.(program),
    examples.length > 0 &&
      `Examples\n${examples.map((line) => `  npx posthorn ${line}`).join("\n")}`,
  ]);
}

/** All commands, or those of one group. */
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
    "npx posthorn COMMAND --help explains a command. npx posthorn --version prints the version.",
  ]);
}

/** With many options, a full line would hide the required ones. */
function shortUsage(command: AnyCommand): string {
  const whole = usage(command);
  if (whole.length <= 2 * WIDTH) return whole;
  const needed = Object.entries(command.options).filter(([, { isRequired }]) => isRequired);
  return `${usage({ ...command, options: Object.fromEntries(needed) })} [options]`;
}

function inputRows(inputs: Inputs, kind: "argument" | "option"): [string, string][] {
  return Object.entries(inputs).map(([key, input]) => {
    const { label, meaning } = describeInput(key, input, kind);
    return [label, meaning];
  });
}

export function section(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const indent = Math.min(30, Math.max(...rows.map(([label]) => label.length))) + 4;
  const lines = rows.flatMap(([label, meaning]) => {
    const [first = "", ...rest] = wrap(meaning, WIDTH - indent);
    const head = `  ${label}`;
    const hanging = rest.map((line) => " ".repeat(indent) + line);
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
