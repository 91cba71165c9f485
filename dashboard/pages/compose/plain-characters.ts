/** What stands in the GSM alphabet for characters that word processors put in by themselves. */
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

/** Replaces only what has a plain equal; everything else stays, so the meaning does. */
export function toPlain(text: string): string {
  return [...text].map((character) => PLAIN[character] ?? character).join("");
}
