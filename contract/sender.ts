export type JudgedSender =
  | {
      outcome: "valid";
      /** As the carrier gets it: a number has no plus. */
      sender: string;
    }
  | { outcome: "invalid"; message: string };

/**
 * Judges what the recipient sees as the sender: a number, a short code or a name. Whether a carrier
 * accepts it is up to the carrier.
 */
export function judgeSender(raw: string): JudgedSender {
  if (SHORT_CODE.test(raw) || NAME.test(raw)) return { outcome: "valid", sender: raw };
  if (NUMBER.test(raw)) return { outcome: "valid", sender: raw.replace("+", "") };
  return { outcome: "invalid", message: whyNot(raw) };
}

const SHORT_CODE = /^[0-9]{3,8}$/;
const NUMBER = /^\+?[1-9][0-9]{6,14}$/;
/** At least one letter, or it would pass for a number. */
const NAME = /^(?=.*[A-Za-z])[A-Za-z0-9 \-_.&]{1,11}$/;

function whyNot(raw: string): string {
  if (raw === "") return "A sender is not empty; leave the field out for the default.";
  if (/^\+?[0-9]*$/.test(raw)) {
    return "A sender of digits is a short code of 3 to 8 digits, or a number of 7 to 15 that begins with its country code.";
  }
  const foreign = /[^A-Za-z0-9 \-_.&]/u.exec(raw);
  if (foreign) return "A sender's name has only the letters A to Z, digits, space and - _ . &.";
  if (raw.length > 11)
    return `A sender's name has at most 11 characters; this one has ${raw.length}.`;
  return "A sender's name has at least one letter.";
}
