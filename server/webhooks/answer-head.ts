import { remembering } from "#platform/light";

/** By name, in lower case. */
export type Headers = Readonly<Record<string, string | string[]>>;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t -~\u0080-\u00ff]*)?$/;
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** No control characters and no half of a line ending. */
const VALUE = /^[\t -~\u0080-\u00ff]*$/;
const KEEP_ALIVE = /timeout=(\d{1,6})/;

type Head = Readonly<{ status: number; headers: Headers; isLast: boolean; keepAliveMs: number }>;

const MAX_REMEMBERED_LENGTH = 1_024;

/** The status line and headers, or why they cannot be read. */
export function headOf(text: string): Head | string {
  return text.length > MAX_REMEMBERED_LENGTH ? readHead(text) : readOnce(text);
}

/** A receiver sends nearly the same head with every answer, differing at most in the time. */
const readOnce = remembering(256, readHead);

function readHead(text: string): Head | string {
  const [first = "", ...lines] = text.split("\r\n");
  const [, minor, digits] = STATUS_LINE.exec(first) ?? [];
  if (digits === undefined) return "the status line cannot be read";
  const status = Number(digits);
  // After 101 the connection speaks another protocol; other 1xx may come unasked (RFC 9110, 15.2).
  if (status === 101) return "101 was not asked for";
  const headers = readHeaders(lines);
  if (headers === undefined) return "a header cannot be read";
  const connection = wordsOf(headers["connection"]);
  const isLast = minor === "0" ? !connection.includes("keep-alive") : connection.includes("close");
  const promised = KEEP_ALIVE.exec(wordsOf(headers["keep-alive"]))?.[1];
  const keepAliveMs = promised === undefined ? Number.POSITIVE_INFINITY : 1_000 * Number(promised);
  return { status, headers, isLast, keepAliveMs };
}

/** By name, in lower case; undefined if a line is not a header. */
function readHeaders(lines: readonly string[]): Headers | undefined {
  // No prototype, because the receiver chooses the names.
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    const raw = line.slice(colon + 1);
    if (!NAME.test(name) || !VALUE.test(raw)) return undefined;
    const value = raw.trim();
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    // Appends without copying: thousands of headers with one name fit into a head.
    else if (Array.isArray(before)) before.push(value);
    else headers[name] = [before, value];
  }
  return headers;
}

export function wordsOf(value: string | string[] | undefined): string {
  if (value === undefined) return "";
  return (Array.isArray(value) ? value.join(",") : value).toLowerCase();
}
