import { hash } from "node:crypto";
import { type Database, deletePage, type Loop, sql } from "#platform";

const PRINTABLE = /^[\x20-\x7E]{1,255}$/;

export function isIdempotencyKey(key: string): boolean {
  return PRINTABLE.test(key);
}

/** The same for bodies that mean the same: order of keys, spaces and nulls do not count. */
export function fingerprint(operation: string, body: unknown): Buffer {
  return hash("sha256", `${operation}\n${canonicalJson(body)}`, "buffer");
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    // Null is the same as leaving a field out.
    const given = Object.entries(value).filter(([, entry]) => entry !== null);
    const entries = given.toSorted(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonicalJson(entry)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Forgets keys after 24 hours, a page at a time; never earlier. */
export function sweepIdempotency(db: Database): Loop {
  return {
    name: "forget old idempotency keys",
    idleMs: 60_000,
    pass: () =>
      deletePage(
        db,
        sql`from idempotency`,
        // By the time of the statement, which an index can compare with; clock_timestamp() it cannot.
        sql`created_at < statement_timestamp() - interval '24 hours' order by created_at`,
      ),
  };
}
