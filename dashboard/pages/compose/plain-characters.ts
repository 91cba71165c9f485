/** GSM equivalents of characters that word processors insert by themselves. */
const PLAIN: Record<string, string> = {
  "\u2018": "'",
  "\u2019": "'",
  "\u201A": ",",
  "\u201B": "'",
  "\u201C": '"',
  "\u201D": '"',
  "\u201E": '"',
  "\u00AB": '"',
  "\u00BB": '"',
  "\u2010": "-",
  "\u2011": "-",
  "\u2012": "-",
  "\u2013": "-",
  "\u2014": "-",
  "\u2026": "...",
  "\u00A0": " ",
  "\u202F": " ",
  "\u2009": " ",
  "\u200B": "",
  "\u2022": "*",
  "\u00B4": "'",
  "`": "'",
  "\t": " ",
};

export function hasPlain(character: string): boolean {
  return Object.hasOwn(PLAIN, character);
}

/** Replaces only characters with a plain equivalent; all others stay, so the meaning does too. */
export function toPlain(text: string): string {
  return [...text].map((character) => PLAIN[character] ?? character).join("");
}
