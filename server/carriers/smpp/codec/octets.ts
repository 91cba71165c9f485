/**
 * Octet strings are latin1: one octet, one character, nothing lost. Short strings are read and
 * written octet by octet, because a call into native code costs more.
 */
const SHORT = 24;

/** Where the NUL of the string that begins at `start` is; the buffer's end if there is none. */
export function stringEnd(buffer: Uint8Array, start: number): number {
  let end = start;
  while (end < buffer.length && buffer[end] !== 0) end += 1;
  return end;
}

export function readLatin1(buffer: Buffer, start: number, end: number): string {
  if (end - start > SHORT) return buffer.toString("latin1", start, end);
  let text = "";
  for (let at = start; at < end; at += 1) text += String.fromCharCode(buffer[at] ?? 0);
  return text;
}

/** Writes the string and its NUL; returns where the next field begins. */
export function writeString(buffer: Buffer, at: number, text: string): number {
  if (text.length > SHORT) buffer.write(text, at, "latin1");
  else for (let i = 0; i < text.length; i += 1) buffer[at + i] = text.charCodeAt(i);
  buffer[at + text.length] = 0;
  return at + text.length + 1;
}
