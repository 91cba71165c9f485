import { parseArgs } from "node:util";
import { messageOf, nearest } from "#platform";
import type { AnyCommand } from "./command.ts";
import { flag, type Input, type Inputs, optionName } from "./input.ts";

/** The options that every command takes. */
export const everywhere = {
  json: flag("Print one JSON object; the default if standard output is not a terminal."),
  help: flag("Show this help."),
} satisfies Inputs;

export type Read =
  | { outcome: "read"; given: Record<string, unknown> }
  | { outcome: "wrong"; faults: string[] };

type Token = ReturnType<typeof tokenize>[number];
type OptionToken = Extract<Token, { kind: "option" }>;
/** An input with its key in `given` and the texts given for it on the command line. */
type Filled = { key: string; label: string; input: Input; texts: string[] };

/** Reads what follows the command's name, or reports everything wrong with it at once. */
export function readArguments(command: AnyCommand, argv: readonly string[]): Read {
  const known = { ...command.options, ...everywhere };
  const options = fill(known, (key) => `--${optionName(key)}`);
  const places = fill(command.arguments, (key) => command.arguments[key]?.placeholder ?? key);
  const { words, faults } = takeOptions(tokenize(known, argv), options);
  faults.push(...takeWords(places, words));
  const given: Record<string, unknown> = {};
  const inputs = [...places, ...options];
  for (const filled of inputs) {
    const rival = inputs.find(({ key, texts }) => key === filled.input.unless && texts.length > 0);
    const fault = rival ? refuseBeside(rival, filled) : readInto(given, filled, faults);
    if (fault !== undefined) faults.push(fault);
  }
  return faults.length > 0 ? { outcome: "wrong", faults } : { outcome: "read", given };
}

/** Assigns texts to the options; the remaining words are for the arguments. */
function takeOptions(tokens: Token[], options: Filled[]): { words: string[]; faults: string[] } {
  const byName = new Map(options.map((option) => [option.label, option]));
  const faults: string[] = [];
  const words: string[] = [];
  let strayIndex = -1;
  for (const token of tokens) {
    if (token.kind === "positional" && token.index !== strayIndex) words.push(token.value);
    if (token.kind !== "option") continue;
    const option = byName.get(token.rawName === "-h" ? "--help" : token.rawName);
    const fault = option
      ? takeOption(option, token, byName)
      : unknownOption(token, [...byName.keys()]);
    if (fault === undefined) continue;
    faults.push(fault);
    // The value after an unexpected option belongs to it, so do not report it as an argument too.
    const hasTaken = token.value !== undefined && !token.inlineValue;
    strayIndex = token.index + (hasTaken ? 2 : 1);
  }
  return { words, faults };
}

function fill(inputs: Inputs, label: (key: string) => string): Filled[] {
  return Object.entries(inputs).map(([key, input]) => ({
    key,
    label: label(key),
    input,
    texts: [],
  }));
}

/** Not strict: the parser would stop at the first fault, and people want to see all of them. */
function tokenize(known: Inputs, argv: readonly string[]) {
  const options = Object.entries(known).map(([key, { placeholder }]) => {
    const type = placeholder === null ? ("boolean" as const) : ("string" as const);
    return [optionName(key), key === "help" ? { type, short: "h" } : { type }] as const;
  });
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return tokens.flatMap((token, n) => {
    const value = argv[token.index] ?? "";
    if (token.kind !== "option" || !NEGATIVE.test(value)) return [token];
    // The parser splits this into one option per character; keep only the first, as a word.
    const isFirst = tokens[n - 1]?.index !== token.index;
    return isFirst ? [{ kind: "positional" as const, index: token.index, value }] : [];
  });
}

/** No option begins like this, so it is a number. */
const NEGATIVE = /^-\d/;

function unknownOption({ rawName }: OptionToken, names: string[]): string {
  const near = nearest(rawName, names);
  return near === undefined
    ? `There is no option ${rawName}.`
    : `There is no option ${rawName}; did you mean ${near}?`;
}

function takeOption(
  { input, label, texts }: Filled,
  { value, inlineValue }: OptionToken,
  known: ReadonlyMap<string, unknown>,
): string | undefined {
  if (input.placeholder === null) {
    if (value !== undefined) return `${label} takes no value.`;
    texts.push("");
    return undefined;
  }
  // In `--name --credits 5` the name is missing; `--name=--credits` is meant literally.
  const isForgotten = value === undefined || (!inlineValue && known.has(value));
  if (isForgotten) return `${label} needs a value: ${label} ${input.placeholder}.`;
  texts.push(value);
  return texts.length > 1 && !input.isRepeatable ? `${label} is given twice.` : undefined;
}

function takeWords(places: Filled[], words: string[]): string[] {
  const last = places.at(-1);
  const faults: string[] = [];
  words.forEach((word, position) => {
    const place = places[position] ?? (last?.input.isRepeatable ? last : undefined);
    if (place) place.texts.push(word);
    else faults.push(`"${word}" is one argument too many.`);
  });
  return faults;
}

function refuseBeside(rival: Filled, { label, texts }: Filled): string | undefined {
  return texts.length === 0 ? undefined : `${label} cannot be combined with ${rival.label}.`;
}

function readInto(
  given: Record<string, unknown>,
  { key, label, input, texts }: Filled,
  faults: readonly string[],
): string | undefined {
  if (texts.length === 0 && input.isRequired) {
    const isNamed = faults.some((fault) => fault.startsWith(`${label} `));
    const isOption = label.startsWith("--") && input.placeholder !== null;
    const what = isOption ? `${label} ${input.placeholder}` : label;
    return isNamed ? undefined : `${what} is missing. ${input.meaning}`;
  }
  try {
    given[key] = input.read(texts);
    return undefined;
  } catch (error) {
    const isList = input.isRepeatable && texts.some((text) => text.includes(","));
    const hint = isList && label.startsWith("--") ? ` Give ${label} once for each.` : "";
    return `${label} ${messageOf(error)}${hint}`;
  }
}
