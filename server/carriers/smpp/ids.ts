/**
 * How a carrier spells the id of its answer in its receipts. `hex_to_decimal`: the answer has it
 * in hex, the receipt in decimal; `decimal_to_hex` is the reverse. Nothing is guessed from the
 * look of an id: an id of digits only may be hex.
 */
export type IdRule = {
  form: "exact" | "hex_to_decimal" | "decimal_to_hex";
  stripZeros: boolean;
  foldCase: boolean;
};

/** The protocol allows 64 octets. One far beyond it is nothing that a table could look for. */
export const LONGEST_ID = 255;

/** How each side writes the number. Both are compared in decimal: neither padding nor case of hex counts. */
const bases = {
  exact: { answer: null, receipt: null },
  hex_to_decimal: { answer: "hex", receipt: "decimal" },
  decimal_to_hex: { answer: "decimal", receipt: "hex" },
} as const;

/** The id of an answer in the form that receipts are compared with. */
export function matchId(answered: string, rule: IdRule): string {
  return answered.length > LONGEST_ID ? "" : convert(answered, bases[rule.form].answer, rule);
}

/**
 * The forms in which the answer's id may be on record, in this order: the receipt's id as if it were the
 * answer's, then converted by the rule, then as it stands. The last is for submissions from before the rule
 * was changed to a looser one; where it was not, it finds nothing more.
 */
export function matchIds(receipted: string, rule: IdRule): string[] {
  const byRule = convert(receipted, bases[rule.form].receipt, rule);
  return [...new Set([matchId(receipted, rule), byRule, receipted])];
}

const HEX = /^[0-9a-f]{1,64}$/i;
const DECIMAL = /^[0-9]{1,64}$/;

/** With BigInt: ids of 19 digits and more do not fit a number. What is no such id stays as it is. */
function convert(id: string, from: "hex" | "decimal" | null, rule: IdRule): string {
  if (from === "hex" && HEX.test(id)) return BigInt(`0x${id}`).toString();
  if (from === "decimal" && DECIMAL.test(id)) return BigInt(id).toString();
  return plain(id, rule);
}

/** "0" stays "0": a leading zero is one with something after it. */
function plain(id: string, { stripZeros, foldCase }: IdRule): string {
  const stripped = stripZeros ? id.replace(/^0+(?=.)/, "") : id;
  return foldCase ? stripped.toLowerCase() : stripped;
}
