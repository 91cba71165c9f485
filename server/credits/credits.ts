import { actorName, type Change, recordAudit } from "#accounts";
import { type Database, isId, sql } from "#platform";

export type Booking = Change & {
  accountId: string;
  kind: "topup" | "adjustment";
  amount: number;
  note: string;
  /** A reference is booked only once. Using it again with another amount is refused. */
  reference?: string | null;
};

export type Booked =
  | { outcome: "booked" | "repeated"; balance: number }
  | { outcome: "account_unknown" }
  | { outcome: "below_zero" | "reference_reused"; balance: number };

/** Adds or takes credits and writes the audit entry, under the account's lock. */
export function bookCredits(db: Database, booking: Booking): Promise<Booked> {
  const { accountId, kind, amount, note, actor, now, reference = null } = booking;
  if (!isId(accountId)) return Promise.resolve({ outcome: "account_unknown" });
  return db.transaction(async (tx) => {
    const [booked] = await tx.query<Booked>(sql`
      select outcome, balance
        from book_credits(${accountId}, ${kind}, ${amount}, ${actorName(actor)}, ${note}, ${reference}, ${now})`);
    if (booked?.outcome === "booked") {
      const details = { kind, amount, note, reference, balance: booked.balance };
      const action = "credits.booked";
      await recordAudit(tx, action, { actor, now, accountId, objectId: accountId, details });
    }
    return booked ?? { outcome: "account_unknown" };
  });
}

export type LedgerRow = {
  seq: number;
  message_id: string | null;
  kind: "charge" | "refund" | "topup" | "adjustment";
  amount: number;
  balance_after: number;
  actor: string | null;
  note: string | null;
  created_at: Date;
};

/** The entry as the API shows it; its actor is an id. */
export function ledgerEntry(row: LedgerRow) {
  return {
    seq: row.seq,
    at: row.created_at.toISOString(),
    kind: row.kind,
    amount: row.amount,
    balanceAfter: row.balance_after,
    messageId: row.message_id,
    note: row.note,
    actor: row.actor,
  };
}
