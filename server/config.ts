import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse as parseToml } from "smol-toml";
import { messageOf, nearest, Secret, Unfit } from "#platform";
import { type Config, type Setting, settings } from "./settings.ts";

/** One error that names every wrong setting. */
export class WrongSettings extends Unfit {
  override name = "WrongSettings";
}

type Given = Record<string, string | undefined>;

/** Reads all settings once: the environment first, then `posthorn.toml`. */
export function readConfig(
  environment: Given = process.env,
  folder: string = process.cwd(),
): Config {
  const faults: string[] = [];
  const file = readFile(folder, faults);
  const values = Object.entries(settings as Record<string, Setting<unknown>>).map(
    ([key, { name, fallback, parse }]) => {
      const given = environment[name] ?? file[name.toLowerCase()] ?? fallback;
      try {
        return [key, given === undefined ? undefined : parse(given)];
      } catch (error) {
        faults.push(`${name}: ${messageOf(error)}`);
        return [key, undefined];
      }
    },
  );
  if (faults.length > 0) throw new WrongSettings(`Wrong settings:\n  ${faults.join("\n  ")}`);
  return Object.fromEntries(values) as Config;
}

/** The path of `posthorn.toml` if it holds a secret, so that only its owner may read it. */
export function fileWithSecrets(
  config: Config,
  folder: string = process.cwd(),
): string | undefined {
  const file = readFile(folder, []);
  const holdsSecret = Object.entries(config).some(
    ([key, value]) =>
      value instanceof Secret && settings[key as keyof Config].name.toLowerCase() in file,
  );
  return holdsSecret ? pathIn(folder) : undefined;
}

function pathIn(folder: string): string {
  return resolve(folder, "posthorn.toml");
}

/** Reads `posthorn.toml` as flat text values. Anything in it that is not a setting is a fault. */
function readFile(folder: string, faults: string[]): Given {
  const path = pathIn(folder);
  if (!existsSync(path)) return {};
  try {
    const known = Object.values(settings).map(({ name }) => name.toLowerCase());
    const entries = Object.entries(parseToml(readFileSync(path, "utf8")));
    for (const [name] of entries) {
      if (!known.includes(name)) faults.push(`posthorn.toml: ${unknownSetting(name, known)}`);
    }
    return Object.fromEntries(
      entries.map(([name, value]) => [name, [value].flat().map(asText).join(",")]),
    );
  } catch (error) {
    faults.push(`posthorn.toml: ${messageOf(error)}`);
    return {};
  }
}

function unknownSetting(name: string, known: string[]): string {
  const near = nearest(name, known);
  const hint =
    near === undefined ? `the settings are ${known.join(", ")}.` : `did you mean ${near}?`;
  return `there is no setting ${name}; ${hint}`;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
