import { formatNumber, formatTime, type Zone } from "../../format.ts";
import { auditDetailsText as text } from "../../text/operator.ts";

/** A name with its value and the one before, if any; without a value, a heading of lines below. */
export type DetailLine = { name: string; before?: string; value?: string; depth: number };

/** What the words depend on: the reader's zone, and names for ids. */
export type Telling = { zone: Zone; names: ReadonlyMap<string, string> };

type Told = { action: string; details: Record<string, unknown> };

/** An action such as `key.created` in words. */
export function actionInWords(action: string): string {
  const words = action.replaceAll(/[._]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** First what changed, from and to; then the rest by name. */
export function detailsInWords({ action, details }: Told, telling: Telling): DetailLine[] {
  const { before, after, ...others } = details;
  const [subject = ""] = action.split(".");
  const name = text.changed[subject] ?? text.change;
  const changes = areRecords(before, after)
    ? changesWithin(before, after, { depth: 0, telling })
    : changeOf(name, [before, after], { depth: 0, telling });
  return [...changes, ...linesOf(others, { depth: 0, telling })];
}

type Place = { depth: number; telling: Telling };

function changesWithin(before: unknown, after: unknown, place: Place): DetailLine[] {
  const [was, is] = [recordOf(before), recordOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return names.flatMap((name) => changeOf(name, [was[name], is[name]], place));
}

function changeOf(name: string, [before, after]: [unknown, unknown], place: Place): DetailLine[] {
  if (areRecords(before, after)) {
    const inner = changesWithin(before, after, { ...place, depth: place.depth + 1 });
    return inner.length === 0 ? [] : [headingOf(name, place), ...inner];
  }
  const [was, is] = [inWords(before, name, place), inWords(after, name, place)];
  if (was === is) return [];
  return [{ name: nameInWords(name), before: was, value: is, depth: place.depth }];
}

function linesOf(details: Record<string, unknown>, place: Place): DetailLine[] {
  return Object.entries(details).flatMap(([name, value]) => {
    // Null means that there is nothing to show, except that a null `expiresAt` means never.
    if (value === null && name !== "expiresAt") return [];
    if (!isRecord(value) || Object.keys(value).length === 0) {
      return [{ name: nameInWords(name), value: inWords(value, name, place), depth: place.depth }];
    }
    return [headingOf(name, place), ...linesOf(value, { ...place, depth: place.depth + 1 })];
  });
}

function headingOf(name: string, { depth }: Place): DetailLine {
  return { name: nameInWords(name), depth };
}

/** `expiresAt`, `in_doubt` and `isOperator` in words. */
function nameInWords(name: string): string {
  return name
    .replace(/^is(?=[A-Z])/, "")
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`)
    .replaceAll("_", " ")
    .toLowerCase();
}

/** Longer lists end with how many more there are. */
const MAX_LISTED = 10;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

/** Writes a value on one line. */
function inWords(value: unknown, name: string, place: Place): string {
  if (Array.isArray(value)) return listInWords(value, name, place);
  if (isRecord(value)) {
    const named = Object.entries(value).map(
      ([key, each]) => `${nameInWords(key)}: ${inWords(each, key, place)}`,
    );
    return named.join("; ") || text.none;
  }
  if (typeof value === "string") return textInWords(value, place.telling);
  if (typeof value === "boolean") return value ? text.yes : text.no;
  if (typeof value === "number") return numberInWords(value, name);
  return name === "expiresAt" ? text.never : text.none;
}

function listInWords(list: unknown[], name: string, place: Place): string {
  const listed = list.slice(0, MAX_LISTED).map((each) => inWords(each, name, place));
  if (list.length > MAX_LISTED) listed.push(text.more(formatNumber(list.length - MAX_LISTED)));
  return listed.join(", ") || text.none;
}

function textInWords(value: string, { zone, names }: Telling): string {
  if (value === "") return text.empty;
  if (value === "[secret]") return text.secret;
  return TIME.test(value) ? formatTime(value, zone) : (names.get(value) ?? value);
}

/** A port is a name made of digits, so it is not formatted as a number. */
function numberInWords(value: number, name: string): string {
  return Number.isInteger(value) && name !== "port" ? formatNumber(value) : String(value);
}

/** One of them may be missing, for example before a thing was created. */
function areRecords(...values: unknown[]): boolean {
  const isMissing = (value: unknown) => value === undefined || value === null;
  return values.some(isRecord) && values.every((value) => isRecord(value) || isMissing(value));
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
