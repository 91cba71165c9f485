/** Turns the text after it around, also beyond the name: in a list, in the title of a dialog. */
const TURNS_TEXT = /[\u202A-\u202E\u2066-\u2069]/;
/** Empty ones are told by their length. */
const NOTHING_TO_SEE = /^(?=.*\p{Cf})[\p{Cf}\p{Z}]+$/u;
const MAX_LENGTH = 60;

/**
 * What is wrong with a name that people choose, of themselves, an account or a key. The marks of
 * direction that names in Hebrew or Arabic need may stay: they turn nothing around.
 */
export function judgeName(name: string, subject = "The name"): string[] {
  const length = [...name.trim()].length;
  return [
    ...(length < 1 || length > MAX_LENGTH
      ? [`${subject} must have 1 to ${MAX_LENGTH} characters.`]
      : []),
    ...(NOTHING_TO_SEE.test(name) ? [`${subject} must hold something that can be seen.`] : []),
    ...(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)
      ? [`${subject} must not hold control characters.`]
      : []),
    ...(TURNS_TEXT.test(name)
      ? [`${subject} must not hold characters that change the direction of text.`]
      : []),
  ];
}
