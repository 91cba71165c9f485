import { hash } from "node:crypto";
import type { NewMessage } from "#contract";
import { judgeSender } from "#contract/sender";
import { type Database, deletePage, type Loop, readTime, sql } from "#platform";
import { DEFAULT_VALIDITY_SECONDS } from "./draft.ts";
import { digitsOf } from "./recipient.ts";

const PRINTABLE = /^[\x20-\x7E]{1,255}$/;

export function isIdempotencyKey(key: string): boolean {
  return PRINTABLE.test(key);
}

/** Equal for bodies with equal content: order of names, spaces and nulls do not count. */
export function fingerprint(operation: string, body: unknown): Buffer {
  return hash("sha256", `${operation}\n${canonicalJson(body)}`, "buffer");
}

/** What a client asks for, in one canonical form for all spellings of the same message. */
export function meaningOf(message: NewMessage): NewMessage {
  const { recipient, sender, encoding, sendAt, validitySeconds } = message;
  const judged = judgeSender(sender ?? "");
  return {
    ...message,
    recipient: digitsOf(recipient) ?? recipient,
    sender: judged.outcome === "valid" ? judged.sender : (sender ?? null),
    encoding: encoding === "auto" ? null : (encoding ?? null),
    sendAt: readTime(sendAt ?? "")?.toISOString() ?? sendAt ?? null,
    validitySeconds:
      validitySeconds === DEFAULT_VALIDITY_SECONDS ? null : (validitySeconds ?? null),
  };
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

/** Forgets keys after 24 hours, never earlier, a page at a time. */
export function sweepIdempotency(db: Database): Loop {
  return {
    name: "forget old idempotency keys",
    idleMs: 60_000,
    pass: () =>
      deletePage(
        db,
        sql`from idempotency`,
        // statement_timestamp(), because an index cannot be searched with clock_timestamp().
        sql`created_at < statement_timestamp() - interval '24 hours' order by created_at`,
      ),
  };
}
