/** What the text of a receipt says. A key that is missing or empty is undefined. */
export type ReceiptText = {
  id: string | undefined;
  stat: string | undefined;
  err: string | undefined;
};

/**
 * Reads `id:… sub:… dlvrd:… submit date:… done date:… stat:… err:… text:…` by key, not by position:
 * any case, any order, missing keys, a space after the colon, unknown keys. The first of equal keys
 * counts. What follows `text:` was written by the message's sender and is read only if no id came
 * before it.
 */
export function readReceiptText(text: string): ReceiptText {
  const found: ReceiptText = { id: undefined, stat: undefined, err: undefined };
  for (let colon = text.indexOf(":"); colon >= 0; colon = text.indexOf(":", colon + 1)) {
    const key = keyBefore(text, colon);
    if (key === "text" && found.id !== undefined) break;
    if (key === "id" || key === "stat" || key === "err") found[key] ??= valueAfter(text, colon);
  }
  return found;
}

/** The longest key that matters has four letters; anything longer is ignored. */
const LONGEST_KEY = 4;

function keyBefore(text: string, colon: number): string {
  let start = colon;
  while (start > 0 && isLetter(text.charCodeAt(start - 1))) {
    start -= 1;
    if (colon - start > LONGEST_KEY) return "";
  }
  // "msg_id:" is a key of its own, not the id.
  const isWhole = start === 0 || !isWordCharacter(text.charCodeAt(start - 1));
  return isWhole ? text.slice(start, colon).toLowerCase() : "";
}

function valueAfter(text: string, colon: number): string | undefined {
  let start = colon + 1;
  while (start < text.length && isSpace(text.charCodeAt(start))) start += 1;
  let end = start;
  while (end < text.length && !isSpace(text.charCodeAt(end)) && !isBreak(text, end)) end += 1;
  if (end === start) return undefined;
  const value = text.slice(start, end);
  // If the value is empty, the next word is the next key.
  return start > colon + 1 && NEXT_KEY.test(value) ? undefined : value;
}

const NEXT_KEY = /^(?:id|sub|dlvrd|stat|err|text):/i;

/** Some carriers omit the key of the state and write the bare word. */
export function bareState(text: string): string | undefined {
  const end = text.search(/\btext:/i);
  return BARE_STATE.exec(end < 0 ? text : text.slice(0, end))?.[1];
}

const BARE_STATE =
  /(?:^|\s)(DELIVRD|EXPIRED|DELETED|UNDELIV|ACCEPTD|UNKNOWN|REJECTD|ENROUTE)(?:\s|$)/i;

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isWordCharacter(code: number): boolean {
  const isDigit = code >= 48 && code <= 57;
  return isDigit || isLetter(code) || code === 95;
}

/** Includes NUL and other controls: texts arrive with a terminator that is not theirs. */
function isSpace(code: number): boolean {
  return code <= 32;
}

function isBreak(text: string, at: number): boolean {
  const character = text[at];
  return character === "," || character === ";";
}
