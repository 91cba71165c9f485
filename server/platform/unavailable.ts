import pg from "pg";
import { messageOf } from "./error-text.ts";
import type { Log } from "./log.ts";

/** The server's process behind a connection. */
export type Backend = {
  pid: number;
  /** Text, because a date would lose the microseconds, and with them the backend. */
  startedAt: string;
};

/** The database cannot be reached now; whoever asked may ask again. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
  /**
   * The backend that was at work when the connection broke: whether it committed is not known. Not
   * set where the statement was never sent, or where the server itself said that it failed.
   */
  unknownBackend: Backend | undefined;
  /** It broke while a transaction was being committed, or after: what that did may stand. */
  isCommitUnknown = false;
  /** The log says already that the database is away, or that we leave it; to repeat it for everybody who asks would hide the rest. */
  isTold = false;
}

/** A write was refused by a standby: another host must have become the primary. */
const DEMOTED = new Set(["25006"]);
/** The server has no connection left. */
const FULL = new Set(["53300"]);
/** Deadlock, and a lock not available in time: somebody else held what the statement needed. */
const LOCKED_OUT = new Set(["40P01", "55P03"]);
/** Also a statement canceled by its time limit. To be tried again, and the connection is sound. */
const ROLLED_BACK = LOCKED_OUT.union(new Set(["57014"]));

/** Also no room on the disk, no memory, an I/O error. */
const OVERSTRAINED = ROLLED_BACK.union(new Set(["53100", "53200", "58030"]));

/** The connection is gone; no room on the disk, memory, descriptors or connections left. */
const UNAVAILABLE_CLASSES = new Set(["08", "53"]);
const UNAVAILABLE_STATES = new Set([
  ...DEMOTED,
  "57P01", // admin shutdown
  "57P02", // crash shutdown
  "57P03", // cannot connect now
  "57P05", // idle session timeout
  "25P03", // idle in transaction timeout
  ...OVERSTRAINED,
]);
/** Also what a standby says of a table that only a primary has, under a code that says nothing. */
const UNAVAILABLE_WORDS =
  /unlogged relations during recovery|query read timeout|connection terminated|connection timeout|client has encountered a connection error|not queryable|server closed the connection/i;
const UNAVAILABLE_CALLS = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EMFILE",
]);

/** The database's absence as one kind of error, or undefined for an error of the statement itself. */
export function asUnavailable(error: unknown): DatabaseUnavailable | undefined {
  if (error instanceof DatabaseUnavailable) return error;
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error ? String(error.code) : "";
  const isAway =
    UNAVAILABLE_STATES.has(code) ||
    UNAVAILABLE_CLASSES.has(code.slice(0, 2)) ||
    UNAVAILABLE_CALLS.has(code) ||
    UNAVAILABLE_WORDS.test(error.message);
  return isAway ? new DatabaseUnavailable(messageOf(error), { cause: error }) : undefined;
}

/** Whether the statement was rolled back because somebody else held what it needed. */
export function isLockedOut(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, LOCKED_OUT);
}

/** The host takes no writes any more. */
export function isDemoted(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, DEMOTED);
}

/** The server is there, and others have all of its connections. */
export function isServerFull(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, FULL);
}

/** The statement is undone, and the connection sound. */
export function isRolledBack(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, ROLLED_BACK);
}

/** The server is there, and could not do it: it had to wait or work for too long, or has no room or memory left. */
export function isOverstrained(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, OVERSTRAINED);
}

function hasState({ cause }: DatabaseUnavailable, states: ReadonlySet<string>): boolean {
  return cause instanceof pg.DatabaseError && states.has(cause.code ?? "");
}

/** An error that the server sent, with its five-character state: the statement was rolled back. */
export function isServerError(error: unknown): boolean {
  return error instanceof pg.DatabaseError;
}

/** Whether a statement failed on the named constraint: an expected outcome, not a bug. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && "constraint" in error && error.constraint === constraint;
}

export type AbsenceTeller = ReturnType<typeof absenceTeller>;

/** Says once that the database is away, and once that it is there again: for each pool, since each finds out by itself. */
export function absenceTeller(log: Log, pool: string) {
  let isAway = false;
  return {
    failed(unavailable: DatabaseUnavailable) {
      const { message: reason } = unavailable;
      if (!isAway) log.error({ pool, reason }, "the database cannot be reached");
      isAway = true;
      unavailable.isTold = true;
    },
    reached() {
      if (isAway) log.warn({ pool }, "the database is there again");
      isAway = false;
    },
  };
}

/** How an error is logged: what the log has said already is for those who look closer. */
export function severityOf(error: unknown): "debug" | "error" {
  return error instanceof DatabaseUnavailable && error.isTold ? "debug" : "error";
}
