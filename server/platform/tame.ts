/** These reverse the text that follows, even beyond what holds them: in a list, in a title. */
export const TURNS_TEXT = /[\u202A-\u202E\u2066-\u2069]/;
/** Controls move a terminal's cursor, clear it, or worse; a newline only ends the line. */
const STEERS = new RegExp(String.raw`[^\P{Cc}\n]|${TURNS_TEXT.source}`, "gu");

/** Text that may be from other parties, such as a carrier, so that it does nothing to a terminal. */
export function tameText(text: string): string {
  return text.replaceAll(STEERS, "\uFFFD");
}

/** JSON leaves some of these as they are. Escaped, they mean the same. */
export function tameJson(json: string): string {
  return json.replaceAll(
    STEERS,
    (sign) => String.raw`\u` + sign.charCodeAt(0).toString(16).padStart(4, "0"),
  );
}
