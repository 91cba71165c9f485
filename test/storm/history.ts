import { createWriteStream } from "node:fs";
import type { Status } from "#contract";

/**
 * refused: answered so, and nothing may have been done. unknown: cut off, or answered so; done once or
 * not at all.
 */
export type Outcome = "ok" | "refused" | "unknown";

/** When it was sent and when its answer had come, by the monotonic clock of the one who logs. */
type Span = { t0: number; t1: number };

/** What a client asked for: enough to find it again, whatever was answered. */
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
  /** Of a refusal for want of credits. */
  required: number | null;
  available: number | null;
};
export type Read = Span & {
  kind: "read";
  node: number;
  messageId: string;
  status: Status | null;
  /** Of what was answered instead. */
  code: string | null;
};
export type Cancel = Span & {
  kind: "cancel";
  messageId: string;
  outcome: Outcome;
  code: string | null;
};
/** Every message of an account, page by page, newest first. */
export type Walk = Span & { kind: "walk"; accountId: string; messageIds: string[] };
/** Asked on every node after the storm. */
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

/** A submit as the SMSC got it, and whether it told the sender to try again. */
export type Submit = {
  kind: "submit";
  t: number;
  /** By the clock on the wall, in milliseconds. */
  at: number;
  recipient: string;
  segment: number;
  text: string;
  isRefusedForNow: boolean;
};
/** A receipt that left the SMSC, by the id that it names; it is repeated until it is answered. */
export type ReceiptSent = { kind: "receipt"; carrierMessageId: string };
export type CarrierEntry = Submit | ReceiptSent;

export type Post = {
  kind: "post";
  /** Names it to the entry that says when it was answered. */
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

/** What the outside saw, in the order in which it was known. */
export type History = {
  entries: Entry[];
  log(entry: Entry): void;
  of<Kind extends Entry["kind"]>(kind: Kind): Extract<Entry, { kind: Kind }>[];
  close(): Promise<void>;
};

/** Kept in memory and, where a file is named, as JSON lines in it. */
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
