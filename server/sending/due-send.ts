import type { DeliveryErrorCode } from "#contract";
import { findMessagesOf, type MessageRow, renewLeases } from "#messages";
import {
  type Clock,
  type Database,
  DatabaseUnavailable,
  LEASE_MS,
  type Queryable,
  sql,
} from "#platform";

/** What is known of one segment's earlier submissions. */
type SegmentState = {
  turns: number;
  isAccepted: boolean;
  /** Whether it held all of a message of several segments; null if no carrier can have any. */
  isWhole: boolean | null;
  doubts: number;
  /** A permanent refusal by this carrier, if there was one. */
  refusal: { code: DeliveryErrorCode; carrierCode: string | null } | null;
  /** Carriers whose alphabet cannot hold it. */
  unfit: string[];
};

/** A message whose lease this node holds. */
export type DueSend = {
  message: MessageRow;
  epoch: number;
  /** Claims so far, this one included. */
  attempt: number;
  /** A node held it when its lease ran out: a submission without a recorded answer is in doubt. */
  wasLeased: boolean;
  /** Segments that were submitted before. */
  earlier: Map<number, SegmentState>;
  /** When the lease was taken or renewed, by `clock.leaseMs()`. */
  leasedAtMs: number;
};

type Claim = {
  message_id: string;
  account_id: string;
  lease_epoch: number;
  attempt: number;
  was_leased: boolean;
};
type Earlier = {
  message_id: string;
  segment: number;
  turns: number;
  is_accepted: boolean;
  is_whole: boolean | null;
  doubts: number;
  refused_as: DeliveryErrorCode | null;
  refusal_code: string | null;
  unfit: string[];
};

/** A claim or, without a message, the account at which the search stopped. */
type ClaimRow = Claim | { message_id: null; account_id: string };

const RETRY_MS = 500;

export type ClaimRequest = {
  carrierId: string;
  nodeId: string;
  room: number;
  afterAccount: string;
  nowMs: number;
};

/** What one claim took. */
type Claimed = {
  due: DueSend[];
  /** The account at which the search stopped; undefined if it reached the last account. */
  lastAccount: string | undefined;
};

/** Claims messages that are due for a carrier. Leases are committed before anything leaves. */
export async function claimDueSends(
  db: Database,
  request: ClaimRequest,
  patience: Patience,
): Promise<Claimed> {
  const { carrierId, nodeId, room, afterAccount, nowMs } = request;
  const rows = await db.query<ClaimRow>(sql`
    select message_id, account_id, lease_epoch, attempt, was_leased
      from claim_sends(${carrierId}, ${nodeId}, make_interval(secs => ${LEASE_MS / 1000}), ${room}, ${afterAccount})`);
  const claims = rows.filter((row) => row.message_id !== null);
  const lastAccount = rows.find((row) => row.message_id === null)?.account_id;
  const due = await readDue(db, claims, { carrierId, nowMs, patience });
  const { clock } = patience;
  const wasSlow = clock.leaseMs() - nowMs > RETRY_MS;
  if (wasSlow) await persist(() => renewDue(db, { nodeId, clock }, due), patience);
  return { due, lastAccount };
}

/** Extends the leases this node holds. A message that another node took over keeps its old time. */
export async function renewDue(
  db: Database,
  { nodeId, clock }: { nodeId: string; clock: Clock },
  held: DueSend[],
): Promise<void> {
  if (held.length === 0) return;
  const startedMs = clock.leaseMs();
  const messageIds = held.map(({ message }) => message.message_id);
  const renewed = await renewLeases(db, { nodeId, messageIds });
  for (const due of held) {
    if (renewed.get(due.message.message_id) === due.epoch) due.leasedAtMs = startedMs;
  }
}

type Patience = { clock: Clock; signal?: AbortSignal };

/** Repeats the question until the database answers. */
async function persist<Answer>(
  ask: () => Promise<Answer>,
  { clock, signal }: Patience,
): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || signal?.aborted) throw error;
      await clock.sleep(RETRY_MS);
    }
  }
}

/** Reads the claimed messages and their earlier submissions, however long the database is away. */
export async function readDue(
  db: Queryable,
  claims: Claim[],
  { carrierId, nowMs, patience }: { carrierId: string; nowMs: number; patience: Patience },
): Promise<DueSend[]> {
  if (claims.length === 0) return [];
  // If given up now, they would return in doubt after their lease, though nothing has left.
  const [messages, earlier] = await persist(
    () => Promise.all([findMessagesOf(db, claims), readEarlier(db, claims, carrierId)]),
    patience,
  );
  return claims.flatMap(({ message_id, lease_epoch, attempt, was_leased }) => {
    const message = messages.get(message_id);
    if (!message) return [];
    return [
      {
        message,
        epoch: lease_epoch,
        attempt,
        wasLeased: was_leased,
        earlier: segmentsOf(earlier.get(message_id) ?? []),
        leasedAtMs: nowMs,
      },
    ];
  });
}

/** A first claim has no history, unless it was leased at birth and its node died. */
async function readEarlier(
  db: Queryable,
  claims: Claim[],
  carrierId: string,
): Promise<Map<string, Earlier[]>> {
  const again = claims.filter(({ attempt }) => attempt > 1).map(({ message_id }) => message_id);
  if (again.length === 0) return new Map();
  const submissions = await readSubmissions(db, again, carrierId);
  return Map.groupBy(submissions, ({ message_id }) => message_id);
}

/** Reads what is recorded of a message this node holds, however long the database is away. */
export async function readSegments(
  db: Queryable,
  patience: Patience,
  { messageId, carrierId }: { messageId: string; carrierId: string },
): Promise<DueSend["earlier"]> {
  return segmentsOf(await persist(() => readSubmissions(db, [messageId], carrierId), patience));
}

/** Refused by us before anything left: another carrier's alphabet may have the characters. */
export const isUnfit = sql`(outcome = 'refused' and carrier_code is null and error_code = 'CONTENT_REJECTED')`;

function readSubmissions(
  db: Queryable,
  messageIds: string[],
  carrierId: string,
): Promise<Earlier[]> {
  return db.query<Earlier>(sql`
    select message_id, segment, max(turn) as turns, coalesce(bool_or(outcome = 'accepted'), false) as is_accepted,
           coalesce(bool_or(is_whole) filter (where outcome = 'accepted'),
                    bool_or(is_whole) filter (where in_doubt_at is not null and carrier_id = ${carrierId})) as is_whole,
           count(in_doubt_at) as doubts,
           min(error_code) filter (where outcome = 'refused' and carrier_id = ${carrierId} and not ${isUnfit}) as refused_as,
           min(carrier_code) filter (where outcome = 'refused' and carrier_id = ${carrierId}) as refusal_code,
           coalesce(array_agg(carrier_id) filter (where ${isUnfit}), '{}') as unfit
      from submissions
     where message_id = any (${messageIds}::uuid[])
     group by message_id, segment`);
}

function segmentsOf(rows: readonly Earlier[]): DueSend["earlier"] {
  return new Map(
    rows.map(
      ({ segment, turns, is_accepted, is_whole, doubts, refused_as, refusal_code, unfit }) => [
        segment,
        {
          turns,
          isAccepted: is_accepted,
          isWhole: is_whole,
          doubts,
          refusal: refused_as && { code: refused_as, carrierCode: refusal_code },
          unfit,
        },
      ],
    ),
  );
}
