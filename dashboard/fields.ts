import { fieldText } from "./text/sign-in.ts";

/** The checks of forms. The server checks again; these only spare a round trip. */
export function checkName(value: string): string | null {
  const name = value.trim();
  if (name === "") return fieldText.nameNeeded;
  return [...name].length > 60 ? fieldText.nameLong : null;
}

export function checkEmail(value: string): string | null {
  return /^[^\s@]+@[^\s@]+$/.test(value.trim()) ? null : fieldText.emailNeeded;
}

/** Counts characters after NFKC, as the server does. */
export function checkNewPassword(value: string): string | null {
  const { length } = [...value.normalize("NFKC")];
  if (length < 12) return fieldText.passwordShort;
  return length > 128 ? fieldText.passwordLong : null;
}

/** Takes the value of a number input, which may be empty. */
export function checkWholeNumber(value: number | string): string | null {
  return /^\d+$/.test(String(value)) ? null : fieldText.wholeNumber;
}

export function checkPresent(words: string): (value: string) => string | null {
  return (value) => (value.trim() === "" ? words : null);
}
