import { parsePhoneNumberFromString } from "libphonenumber-js/min";
import { askNumberingPlan, type PlanAnswer } from "./numbering-plans.ts";

export type JudgedRecipient =
  | {
      outcome: "valid";
      /** E.164 digits without the plus. */
      recipient: string;
      /** ISO 3166 alpha-2; null for numbers of no country. */
      country: string | null;
    }
  | {
      outcome: "invalid";
      /** A sentence for the client, including the suggested correction, if any. */
      message: string;
    };

/**
 * Judges a number as a recipient: 7 to 15 digits that its country's numbering plan has, after a
 * leading plus is dropped. Nothing else is corrected, because a guess could reach a stranger.
 * Instead, the refusal names the likely correction.
 */
export function judgeRecipient(raw: string): JudgedRecipient {
  const recipient = digitsOf(raw);
  if (recipient === null) return refuse(raw, whyNotDigits(raw));

  const answer = askNumberingPlan(recipient);
  if (answer.outcome !== "assigned") return refuse(raw, whyUnassigned(recipient, answer));
  return { outcome: "valid", recipient, country: answer.country };
}

/** The digits of an E.164 number without its leading plus; null if it has another form. */
export function digitsOf(raw: string): string | null {
  if (!NUMBER.test(raw)) return null;
  return raw.startsWith("+") ? raw.slice(1) : raw;
}

const NUMBER = /^\+?[0-9]{7,15}$/;

function whyNotDigits(raw: string): string {
  const foreign = /[^0-9]/u.exec(raw.startsWith("+") ? raw.slice(1) : raw);
  if (foreign) {
    return `A number must be digits only, with or without a leading +; this one has ${nameOf(foreign[0])}.`;
  }
  const length = raw.startsWith("+") ? raw.length - 1 : raw.length;
  return `A number has 7 to 15 digits with its country code; this one has ${length}.`;
}

function nameOf(character: string): string {
  if (/^\s$/u.test(character)) return "a space";
  const isVisible = /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(character);
  return isVisible ? `"${character}"` : "an invisible character";
}

function whyUnassigned(
  digits: string,
  answer: Exclude<PlanAnswer, { outcome: "assigned" }>,
): string {
  if (answer.outcome === "unassigned") {
    const owner = answer.countries.length === 1 ? ` (${answer.countries[0]})` : "";
    return `The numbering plan of +${answer.callingCode}${owner} has no such number.`;
  }
  if (digits.startsWith("00")) return "A number begins with its country code, without 00.";
  if (digits.startsWith("0")) return "A number begins with its country code instead of 0.";
  return "No country code begins with these digits.";
}

function refuse(raw: string, message: string): JudgedRecipient {
  const correction = findCorrection(raw);
  const hint = correction === null ? "" : ` Did you mean ${correction}?`;
  return { outcome: "invalid", message: `${message}${hint}` };
}

/** Longer input is no number that somebody typed, and is not searched for one. */
const CORRECTABLE_LENGTH = 40;

/** What people put between and around digits, including invisible marks of copied contacts. */
const SEPARATORS = /[\s().\-/\u00ad\u200b-\u200f\u2010-\u2015\u202a-\u202e\u2060-\u2069\ufeff+]/gu;

/** The prefixes for dialling abroad from most countries, and from North America. */
const DIALLED_ABROAD = /^(?:00|011)/;

/** Mexico dropped the 1 before mobile numbers in 2019. Many contacts still have it. */
const MEXICAN_MOBILE = /^521/;

function findCorrection(raw: string): string | null {
  if (raw.length > CORRECTABLE_LENGTH) return null;

  const written = raw.normalize("NFKC").replaceAll(SEPARATORS, "");
  const digits = written.replace(DIALLED_ABROAD, "");
  const guesses = [
    digits,
    withoutTrunkPrefix(digits),
    digits.replace(MEXICAN_MOBILE, "52"),
    `1${digits}`,
  ];
  return guesses.find((guess) => guess !== raw && isAssigned(guess)) ?? null;
}

/**
 * In +44 (0)20 …, the 0 is dialled only within the country. The library knows each country's prefix
 * and the digits of other scripts. It would skip anything else, so it gets only digits.
 */
function withoutTrunkPrefix(digits: string): string {
  if (!/^\p{Nd}+$/u.test(digits)) return "";
  return parsePhoneNumberFromString(`+${digits}`)?.number.slice(1) ?? "";
}

function isAssigned(digits: string): boolean {
  return digitsOf(digits) === digits && askNumberingPlan(digits).outcome === "assigned";
}
