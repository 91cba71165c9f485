import { hasVisible, TURNS_TEXT } from "#platform";

const CONTROLS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
const MAX_LENGTH = 60;

/**
 * What is wrong with the name that somebody chose for themselves, an account or a key. Direction
 * marks that Hebrew or Arabic names need are allowed: they do not reverse other text.
 */
export function judgeName(name: string): string[] {
  return nameFaults(name).map((fault) => `The name ${fault}`);
}

/** The same faults, each worded to follow a subject. */
export function nameFaults(name: string): string[] {
  const length = [...name.trim()].length;
  const wrongLength = `must have 1 to ${MAX_LENGTH} characters.`;
  if (length === 0) return [wrongLength];
  return [...(length > MAX_LENGTH ? [wrongLength] : []), ...lineFaults(name)];
}

/** Faults of any one-line text that people write, except its length. */
export function lineFaults(text: string): string[] {
  return [
    ...(hasVisible(text) ? [] : ["must hold something that can be seen."]),
    ...(CONTROLS.test(text) ? ["must not hold control characters."] : []),
    ...(TURNS_TEXT.test(text)
      ? ["must not hold characters that change the direction of text."]
      : []),
  ];
}
