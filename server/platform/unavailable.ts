import pg from "pg";
import { messageOf } from "./error-text.ts";
import type { Log } from "./log.ts";

/** The server process behind a connection. */
export type Backend = {
  pid: number;
  /** Text, because a Date would lose the microseconds, and no longer match the backend. */
  startedAt: string;
};

/** The database cannot be reached now. The caller may try again. */
export class DatabaseUnavailable extends Error {
  override name = "DatabaseUnavailable";
  /**
   * The backend that was working when the connection broke: whether it committed is unknown. Not
   * set if the statement was never sent, or if the server itself reported the failure.
   */
  unknownBackend: Backend | undefined;
  /** The connection broke during or after a commit, so its changes may stand. */
  isCommitUnknown = false;
  /** The outage, or our shutdown, is already logged: repeating it would hide everything else. */
  isTold = false;
}

/** The server has no connections left. */
const FULL = new Set(["53300"]);
/** A deadlock, or a lock timeout: another transaction held what the statement needed. */
const LOCKED_OUT = new Set(["40P01", "55P03"]);
/** Includes statements that hit their time limit. They may be retried; the connection is fine. */
const ROLLED_BACK = LOCKED_OUT.union(new Set(["57014"]));

/** Includes a full disk, no memory, an I/O error. */
const OVERSTRAINED = ROLLED_BACK.union(FULL).union(new Set(["53100", "53200", "58030"]));

/** The connection is gone, or the server is out of disk, memory, descriptors or connections. */
const UNAVAILABLE_CLASSES = new Set(["08", "53"]);
const UNAVAILABLE_STATES = new Set([
  "25006", // read-only: the host has become a standby
  "57P01", // admin shutdown
  "57P02", // crash shutdown
  "57P03", // cannot connect now
  "57P05", // idle session timeout
  "25P03", // idle in transaction timeout
  ...OVERSTRAINED,
]);
/** Includes what a standby says about an unlogged table, for which the code is too general. */
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

/** Turns any sign of an absent database into one error; undefined if the statement is at fault. */
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

/** Whether the statement was rolled back because another transaction held what it needed. */
export function isLockedOut(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, LOCKED_OUT);
}

/** The server is up, but all of its connections are in use. */
export function isServerFull(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, FULL);
}

/** The statement was rolled back, and the connection is fine. */
export function isRolledBack(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, ROLLED_BACK);
}

/** The server is up but failed: it waited or worked too long, or lacks connections, disk or memory. */
export function isOverstrained(unavailable: DatabaseUnavailable): boolean {
  return hasState(unavailable, OVERSTRAINED);
}

function hasState({ cause }: DatabaseUnavailable, states: ReadonlySet<string>): boolean {
  return cause instanceof pg.DatabaseError && states.has(cause.code ?? "");
}

/** An error from the server, with its five-character state: the statement was rolled back. */
export function isServerError(error: unknown): boolean {
  return error instanceof pg.DatabaseError;
}

/** Whether a statement failed on the named constraint: an expected outcome, not a bug. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && "constraint" in error && error.constraint === constraint;
}

export type AbsenceTeller = ReturnType<typeof absenceTeller>;

/** Logs once that the database is away, and once that it is back. Each pool finds out by itself. */
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

/** The level at which to log an error: what the log already says is repeated for debugging only. */
export function severityOf(error: unknown): "debug" | "error" {
  return error instanceof DatabaseUnavailable && error.isTold ? "debug" : "error";
}
