import { type RangedPageSearch, readRangedPage } from "../../range.ts";
import {
  present,
  type RawSearch,
  readChoice,
  readChoices,
  readId,
  readText,
} from "../../search.ts";
import { ERROR_CODES, STATUSES } from "../../vocabulary.ts";

export type MessagesSearch = RangedPageSearch & {
  status?: (typeof STATUSES)[number][];
  errorCode?: (typeof ERROR_CODES)[number][];
  /** A key's id, or `console` for messages that people sent from the dashboard. */
  key?: string;
  sender?: string;
  /** As typed: it may turn out to be a reference. */
  recipient?: string;
  reference?: string;
  /** The message open in the drawer. */
  id?: string;
  live?: "on";
};

export function readMessages(raw: RawSearch): MessagesSearch {
  return {
    ...readRangedPage(raw),
    ...present({
      status: readChoices(raw["status"], STATUSES),
      errorCode: readChoices(raw["errorCode"], ERROR_CODES),
      key: readChoice(raw["key"], ["console"]) ?? readId(raw["key"]),
      sender: readText(raw["sender"], 20),
      recipient: readNumber(raw["recipient"]),
      reference: readText(raw["reference"]),
      id: readId(raw["id"]),
      live: readChoice(raw["live"], ["on"]),
    }),
  };
}

/** What a person searches for: a message's id, a number, or their own reference. */
export type Wanted =
  | { kind: "id"; id: string }
  | { kind: "recipient"; recipient: string }
  | { kind: "reference"; reference: string };

/** Characters that people put between the digits of a number. */
const BETWEEN = /[\s().-]/g;
/** Seven digits or more are a number, fewer a reference. */
const NUMBER = /^\+?\d{7,15}$/;

function readNumber(value: unknown): string | undefined {
  const text = readText(value, 40);
  return text !== undefined && isNumber(text) ? text : undefined;
}

function isNumber(text: string): boolean {
  return NUMBER.test(text.replaceAll(BETWEEN, ""));
}

export function withoutMarks(number: string): string {
  return number.replaceAll(BETWEEN, "").replace(/^\+/, "");
}

/** A person who sees only the end of numbers may not search for a number. */
export function recognise(typed: string, seesNumbers: boolean): Wanted | undefined {
  const text = typed.trim();
  const id = readId(text);
  if (id !== undefined) return { kind: "id", id };
  if (seesNumbers && isNumber(text)) return { kind: "recipient", recipient: text };
  const reference = readText(text);
  return reference === undefined ? undefined : { kind: "reference", reference };
}

export const NO_FILTERS = {
  status: undefined,
  errorCode: undefined,
  key: undefined,
  sender: undefined,
  recipient: undefined,
  reference: undefined,
  range: undefined,
  from: undefined,
  to: undefined,
} satisfies Partial<MessagesSearch>;

export function isFiltered(search: MessagesSearch): boolean {
  return Object.keys(NO_FILTERS).some(
    (name) => search[name as keyof typeof NO_FILTERS] !== undefined,
  );
}

/** What remains when the filters are cleared. */
export function cleared({ limit, live }: MessagesSearch): MessagesSearch {
  return present({ limit, live });
}
