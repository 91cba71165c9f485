import { findSigningSecrets, type SigningSecrets } from "#accounts";
import { findEvents } from "#messages";
import { type Database, type SecretBox, sql, violates } from "#platform";

/** A delivery that this node holds the lease of, with everything its POST needs. */
export type ClaimedDelivery = {
  deliveryId: string;
  messageId: string;
  sequence: number;
  accountId: string;
  hostKey: bigint;
  replayId: string | null;
  /** Counts every POST of the event, this one included. */
  attempt: number;
  step: number;
  epoch: number;
  /** Leases in a row that ended without an outcome. */
  interrupted: number;
  status: "SENT" | "DELIVERED" | "UNDELIVERED" | "FAILED";
  createdAt: Date;
  url: string;
  body: Buffer;
  secrets: SigningSecrets;
  /** By the database's clock, and at what moment of the monotonic one. */
  claimedAt: Date;
  claimedAtMs: number;
};

export const LEASE_MS = 30_000;

/** Lanes with something due, beginning after one; an empty answer means that a turn is complete. */
export async function findDueLanes(db: Database, after: bigint, most: number): Promise<bigint[]> {
  const rows = await db.query<{ host_key: string }>(sql`
    select host_key::text from due_lanes(${after.toString()}, ${most}) as host_key`);
  return rows.map(({ host_key }) => BigInt(host_key));
}

type Row = {
  delivery_id: string;
  message_id: string;
  sequence: number;
  account_id: string;
  host_key: string;
  replay_id: string | null;
  attempts: number;
  step: number;
  lease_epoch: number;
  interrupted: number;
  claimed_at: Date;
};

export type ClaimWish = {
  lanes: { hostKey: bigint; slots: number }[];
  isFirst: boolean;
  nowMs: number;
  secrets: SecretBox;
};

/**
 * Leases what is due, committed before any HTTP. Two nodes may claim two events of one message in
 * the same instant; the index that forbids it makes one of them start over.
 */
export async function claimDeliveries(db: Database, wish: ClaimWish): Promise<ClaimedDelivery[]> {
  const { lanes, isFirst, nowMs } = wish;
  if (lanes.length === 0) return [];
  const rows = await db
    .query<Row>(sql`
      select delivery_id, message_id, sequence, account_id, host_key::text, replay_id, attempts, step, lease_epoch,
             interrupted, claimed_at
        from claim_deliveries(
          ${lanes.map(({ hostKey }) => hostKey.toString())}::bigint[], ${lanes.map(({ slots }) => slots)}::integer[],
          ${isFirst}, make_interval(secs => ${LEASE_MS / 1000})
        )`)
    .catch((error: unknown) => {
      if (violates(error, "one_delivery_in_flight_per_message")) return [];
      throw error;
    });
  if (rows.length === 0) return [];
  // Read by the claim and never kept: a secret that was dropped signs nothing more, on any node.
  const accountIds = [...new Set(rows.map(({ account_id }) => account_id))];
  const [secrets, events] = await Promise.all([
    findSigningSecrets(db, { accountIds, secrets: wish.secrets }),
    findEvents(db, rows),
  ]);
  return rows.flatMap((row) => {
    const event = events.get(`${row.message_id} ${row.sequence}`);
    const signing = secrets.get(row.account_id);
    if (!event || !signing) return [];
    return [{ ...claimOf(row), ...event, secrets: signing, claimedAtMs: nowMs }];
  });
}

function claimOf(row: Row) {
  return {
    deliveryId: row.delivery_id,
    messageId: row.message_id,
    sequence: row.sequence,
    accountId: row.account_id,
    hostKey: BigInt(row.host_key),
    replayId: row.replay_id,
    attempt: row.attempts,
    step: row.step,
    epoch: row.lease_epoch,
    interrupted: row.interrupted,
    claimedAt: row.claimed_at,
  };
}
