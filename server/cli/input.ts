/** Parses the text of an argument or option; its Error continues the name: "must be …". */
export type Parse<Value> = (text: string) => Value;

/** An argument or option of a command; help, checks and types are made from it. */
export type Input<Value = unknown> = {
  /** Stands for the value in help texts, for example ID; null for a flag. */
  placeholder: string | null;
  meaning: string;
  isRequired: boolean;
  isRepeatable: boolean;
  /** The default, as the help shows it. */
  fallback: string | null;
  /** The key of an input that excludes this one: this is then neither required nor allowed. */
  unless?: string;
  /** Receives all texts that were given, in order. */
  read(texts: readonly string[]): Value;
};

export type Inputs = Record<string, Input>;
export type Values<Of extends Inputs> = {
  [Name in keyof Of]: Of[Name] extends Input<infer Value> ? Value : never;
};

const ONCE = { isRepeatable: false, fallback: null } as const;

export function required<Value>(
  placeholder: string,
  parse: Parse<Value>,
  meaning: string,
): Input<Value> {
  const read = (texts: readonly string[]) => parse(texts[0] ?? "");
  return { ...ONCE, placeholder, meaning, isRequired: true, read };
}

export function optional<Value>(
  placeholder: string,
  parse: Parse<Value>,
  meaning: string,
): Input<Value | undefined> {
  const read = ([text]: readonly string[]) => (text === undefined ? undefined : parse(text));
  return { ...ONCE, placeholder, meaning, isRequired: false, read };
}

export function withFallback<Value>(
  placeholder: string,
  parse: Parse<Value>,
  { meaning, fallback }: { meaning: string; fallback: string },
): Input<Value> {
  const read = ([text]: readonly string[]) => parse(text ?? fallback);
  return { ...ONCE, placeholder, meaning, isRequired: false, fallback, read };
}

/** May be given several times, but at least once. */
export function several<Value>(
  placeholder: string,
  parse: Parse<Value>,
  meaning: string,
): Input<Value[]> {
  const read = (texts: readonly string[]) => texts.map((text) => parse(text));
  return { placeholder, meaning, isRequired: true, isRepeatable: true, fallback: null, read };
}

export function flag(meaning: string): Input<boolean> {
  return { ...ONCE, placeholder: null, meaning, isRequired: false, read: isGiven };
}

function isGiven(texts: readonly string[]): boolean {
  return texts.length > 0;
}

/** Excluded by the flag or argument that has this key. */
export function unless<Value>(rivalKey: string, input: Input<Value>): Input<Value | undefined> {
  const read = (texts: readonly string[]) => (texts.length === 0 ? undefined : input.read(texts));
  return { ...input, unless: rivalKey, read };
}

/** `forwardTo` in code and `forward_to` in a table are `--forward-to` on the command line. */
export function optionName(key: string): string {
  return key.replaceAll("_", "-").replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
