/**
 * How a carrier's receipts write the id of its answer. `hex_to_decimal`: the answer has it in hex,
 * the receipt in decimal; `decimal_to_hex` is the reverse. Nothing is guessed from the look of an
 * id: one with only digits may be hex.
 */
export type IdRule = {
  form: "exact" | "hex_to_decimal" | "decimal_to_hex";
  stripZeros: boolean;
  foldCase: boolean;
};

/** The protocol allows 64 octets. An id far beyond that cannot be one to look up. */
export const LONGEST_ID = 255;

/** How each side writes the number. Compared in decimal, so padding and case do not matter. */
const bases = {
  exact: { answer: null, receipt: null },
  hex_to_decimal: { answer: "hex", receipt: "decimal" },
  decimal_to_hex: { answer: "decimal", receipt: "hex" },
} as const;

/** The id of an answer, normalized as receipts are matched against it. */
export function matchId(answered: string, rule: IdRule): string {
  return answered.length > LONGEST_ID ? "" : convert(answered, bases[rule.form].answer, rule);
}

/**
 * The forms in which the answer's id may be stored, in this order: the receipt's id as if it were
 * the answer's, then converted by the rule, then unchanged. The last finds submissions from before
 * the rule was changed to a looser one, and otherwise nothing more.
 */
export function matchIds(receipted: string, rule: IdRule): string[] {
  const byRule = convert(receipted, bases[rule.form].receipt, rule);
  return [...new Set([matchId(receipted, rule), byRule, receipted])];
}

const HEX = /^[0-9a-f]{1,64}$/i;
const DECIMAL = /^[0-9]{1,64}$/;

/** Uses BigInt, because ids of 19 and more digits exceed a number. Any other id is kept as text. */
function convert(id: string, from: "hex" | "decimal" | null, rule: IdRule): string {
  if (from === "hex" && HEX.test(id)) return BigInt(`0x${id}`).toString();
  if (from === "decimal" && DECIMAL.test(id)) return BigInt(id).toString();
  return plain(id, rule);
}

/** "0" stays "0": only a zero with something after it is a leading one. */
function plain(id: string, { stripZeros, foldCase }: IdRule): string {
  const stripped = stripZeros ? id.replace(/^0+(?=.)/, "") : id;
  return foldCase ? stripped.toLowerCase() : stripped;
}
