import { readFileSync } from "node:fs";
import { describeSmppSettings, type SettingDescription } from "#carriers";
import { messageOf } from "#platform";
import { type Input, type Inputs, required, unless } from "./input.ts";
import { text } from "./input-values.ts";

export const nameArgument = required("NAME", carrierName, "The carrier's name.");

function carrierName(value: string): string {
  const length = [...text(value)].length;
  if (length > 60) throw new Error(`must have at most 60 characters, not ${length}.`);
  return value;
}

/** Host and port are given together, as `--smpp HOST:PORT`. */
const described = describeSmppSettings().filter(({ name }) => name !== "host" && name !== "port");

/** Every setting of an SMPP carrier as an option, its name written with dashes. */
export const carrierOptions: Inputs = Object.fromEntries(
  described.map((setting) => [setting.name, unless("simulator", asInput(setting))]),
);

/** The same for an existing carrier: nothing is required, and what is left out stays as it is. */
export const changedOptions: Inputs = Object.fromEntries(
  described.map((setting) => [
    setting.name,
    { ...asInput(setting), isRequired: false, fallback: null },
  ]),
);

/** A setting that can be reset to its default. */
export function settingWithDefault(option: string): string {
  const name = option.replaceAll("-", "_");
  if (described.some((each) => each.name === name && !each.isRequired)) return name;
  throw new Error(`must be an option of carrier add that may be left out, not "${option}".`);
}

/** The settings that were given, by name. */
export function givenSettings(given: Record<string, unknown>): Record<string, unknown> {
  const entries = described.map(({ name }) => [name, given[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function asInput(setting: SettingDescription): Input {
  const { kind, fallback, isRequired, meaning, parse } = setting;
  return {
    placeholder: kind === "flag" ? null : parse.form,
    meaning,
    isRequired,
    isRepeatable: false,
    fallback: kind === "flag" ? null : fallback,
    read: ([text]) => (text === undefined ? undefined : readSetting(setting, text)),
  };
}

/** Checks the value, but returns it as it was given. */
function readSetting({ kind, parse }: SettingDescription, text: string): unknown {
  const value = kind === "flag" ? "on" : kind === "file" ? readFile(text) : text;
  try {
    parse(value);
  } catch (error) {
    throw new Error(`${messageOf(error)}.`, { cause: error });
  }
  return kind === "json" ? (JSON.parse(text) as unknown) : value;
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`names ${path}, which cannot be read (${code}).`, { cause: error });
  }
}

/** `smsc.example.com:2775`, `[::1]:2775`; the port may be left out. */
export function smscAddress(value: string): { host: string; port: string } {
  const [, bracketed, plain, port = "2775"] =
    /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]]+))(?::(\d{1,5}))?$/i.exec(value) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error(`must be HOST:PORT, such as smsc.example.com:2775, not "${value}".`);
  }
  return { host, port };
}
