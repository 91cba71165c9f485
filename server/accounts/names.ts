import { hasVisible } from "#platform";

/** Turns the text after it around, also beyond the name: in a list, in the title of a dialog. */
const TURNS_TEXT = /[\u202A-\u202E\u2066-\u2069]/;
const CONTROLS = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
const MAX_LENGTH = 60;

/**
 * What is wrong with a name that people choose, of themselves, an account or a key. The marks of
 * direction that names in Hebrew or Arabic need may stay: they turn nothing around.
 */
export function judgeName(name: string): string[] {
  return nameFaults(name).map((fault) => `The name ${fault}`);
}

/** The same as ends of a sentence that begins with what holds the name. */
export function nameFaults(name: string): string[] {
  const length = [...name.trim()].length;
  const wrongLength = `must have 1 to ${MAX_LENGTH} characters.`;
  if (length === 0) return [wrongLength];
  return [...(length > MAX_LENGTH ? [wrongLength] : []), ...lineFaults(name)];
}

/** Of any text that people write to be shown in a line, whatever length it may have. */
export function lineFaults(text: string): string[] {
  return [
    ...(hasVisible(text) ? [] : ["must hold something that can be seen."]),
    ...(CONTROLS.test(text) ? ["must not hold control characters."] : []),
    ...(TURNS_TEXT.test(text)
      ? ["must not hold characters that change the direction of text."]
      : []),
  ];
}
