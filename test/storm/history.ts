import { createWriteStream } from "node:fs";
import type { Status } from "#contract";

/**
 * refused: the answer says so, and nothing may have been done. unknown: no answer, or one that
 * leaves it open; done once or not at all.
 */
export type Outcome = "ok" | "refused" | "unknown";

/** When the request was sent and its answer was complete, by the logger's monotonic clock. */
type Span = { t0: number; t1: number };

/** What a client asked for: enough to find the message, whatever was answered. */
export type Wish = { reference: string; recipient: string; text: string; validitySeconds?: number };

export type Send = Span & {
  kind: "send";
  node: number;
  accountId: string;
  keyId: string;
  idempotencyKey: string | null;
  wishes: Wish[];
  outcome: Outcome;
  code: string | null;
  messageIds: string[];
  /** From a refusal for lack of credits. */
  required: number | null;
  available: number | null;
};
export type Read = Span & {
  kind: "read";
  node: number;
  messageId: string;
  status: Status | null;
  /** The error code, if there was no status. */
  code: string | null;
};
export type Cancel = Span & {
  kind: "cancel";
  messageId: string;
  outcome: Outcome;
  code: string | null;
};
/** Every message of an account, read page by page, newest first. */
export type Walk = Span & { kind: "walk"; accountId: string; messageIds: string[] };
/** Read on every node after the storm. */
export type Balance = Span & { kind: "balance"; node: number; accountId: string; balance: number };
export type ClientEntry = Send | Read | Cancel | Walk | Balance;

export type Revocation = Span & { kind: "revocation"; keyId: string; outcome: Outcome };
export type TopUp = Span & {
  kind: "topup";
  accountId: string;
  amount: number;
  note: string;
  outcome: Outcome;
};
export type OperatorEntry = Revocation | TopUp;

/** A submit as the SMSC received it, and whether it asked for another try. */
export type Submit = {
  kind: "submit";
  t: number;
  /** Wall time, in milliseconds. */
  at: number;
  recipient: string;
  segment: number;
  text: string;
  isRefusedForNow: boolean;
};
/** A receipt that left the SMSC, by the id in it; the SMSC repeats it until it is answered. */
export type ReceiptSent = { kind: "receipt"; carrierMessageId: string };
export type CarrierEntry = Submit | ReceiptSent;

export type Post = {
  kind: "post";
  /** Identifies it in the entry that says when it was answered. */
  number: number;
  t: number;
  eventId: string;
  timestamp: string;
  signature: string;
  body: string;
};
export type PostAnswered = { kind: "answered"; number: number; t: number };
export type Fault = { kind: "fault"; t: number; name: string; target: string };

export type Entry = ClientEntry | OperatorEntry | CarrierEntry | Post | PostAnswered | Fault;

/** What was seen from outside, in the order in which it became known. */
export type History = {
  entries: Entry[];
  log(entry: Entry): void;
  of<Kind extends Entry["kind"]>(kind: Kind): Extract<Entry, { kind: Kind }>[];
  close(): Promise<void>;
};

/** Kept in memory, and as JSON lines in `file` if given. */
export function openHistory(file?: string): History {
  const entries: Entry[] = [];
  const stream = file === undefined ? undefined : createWriteStream(file);
  return {
    entries,
    log(entry) {
      entries.push(entry);
      stream?.write(`${JSON.stringify(entry)}\n`);
    },
    of: <Kind extends Entry["kind"]>(kind: Kind) =>
      entries.filter((entry) => entry.kind === kind) as Extract<Entry, { kind: Kind }>[],
    close: () =>
      new Promise((resolve) => (stream === undefined ? resolve() : stream.end(() => resolve()))),
  };
}
