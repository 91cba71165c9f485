import { actorName, type Change, recordAudit } from "#accounts";
import { Problem } from "#http/problem";
import {
  type EventRow,
  findEvents,
  fingerprint,
  hostKeyOf,
  lockMessagesOf,
  parseEventId,
} from "#messages";
import { type Database, DAY_MS, newId, type Queryable, sql, type Transaction } from "#platform";

/** Holds however long attempts are kept. */
export const REPLAYABLE_MS = 30 * DAY_MS;

export type ReplayRequest = Change & {
  /** The operator, who may name any delivery, leaves it out. */
  accountId?: string;
  /** The `webhook-id`, which is the delivery's id too. */
  deliveryId: string;
  /** Requests of an account with the same key are one request. */
  idempotencyKey?: string;
};

export type Replayed =
  | { outcome: "replayed" | "repeated"; replayId: string; accountId: string }
  | { outcome: "not_found" | "too_old" | "in_flight" };

/**
 * Delivers again: same id, same bytes, same address, a new attempt. A waiting delivery is brought
 * forward; an ended one gets the whole schedule again, with its attempts counted on. One being
 * tried is left alone and not queued: two deliveries of one message are never in flight at once.
 */
export function replayDelivery(db: Database, request: ReplayRequest): Promise<Replayed> {
  const { deliveryId, actor, now } = request;
  const key = parseEventId(deliveryId);
  if (!key) return Promise.resolve({ outcome: "not_found" });
  return db.transaction(async (tx) => {
    const [event] = await findReplayable(tx, [key]);
    if (!event || (request.accountId !== undefined && event.account_id !== request.accountId))
      return { outcome: "not_found" };
    if (!isReplayable(event, now)) return { outcome: "too_old" };
    const { account_id: accountId } = event;
    const what = { deliveryId };
    const noted = await insertReplay(tx, { ...request, accountId, what, total: 1, since: null });
    if (!noted.isNew) return { outcome: "repeated", replayId: noted.replayId, accountId };
    const queued = await queueReplays(tx, [event], noted.replayId);
    if (queued === 0) {
      // Frees the key, so that the same request can be made again.
      await tx.query(sql`delete from webhook_replays where replay_id = ${noted.replayId}`);
      return { outcome: "in_flight" };
    }
    const details = { replayId: noted.replayId };
    const action = "webhook.replayed";
    await recordAudit(tx, action, { actor, now, accountId, objectId: deliveryId, details });
    return { outcome: "replayed", replayId: noted.replayId, accountId };
  });
}

export function isReplayable({ at }: { at: Date }, now: Date): boolean {
  return now.getTime() - at.getTime() < REPLAYABLE_MS;
}

export type SelectedReplayRequest = Omit<ReplayRequest, "accountId" | "deliveryId"> & {
  accountId: string;
  deliveryIds: readonly string[];
};

/** Replays several deliveries of one account. Leaves out those unknown, too old or being tried. */
export function replaySelected(
  db: Database,
  request: SelectedReplayRequest,
): Promise<{ replayId: string; total: number }> {
  const { accountId, deliveryIds, actor, now } = request;
  return db.transaction(async (tx) => {
    const events = await findSelected(tx, request);
    const what = { deliveryIds };
    const noted = await insertReplay(tx, { ...request, what, total: events.length, since: null });
    if (!noted.isNew) return noted;
    const total = await queueReplays(tx, events, noted.replayId);
    await tx.query(sql`
      update webhook_replays set total = ${total}, queued = ${total} where replay_id = ${noted.replayId}`);
    const details = { deliveryIds, total };
    const action = "webhook.replayed";
    await recordAudit(tx, action, { actor, now, accountId, objectId: noted.replayId, details });
    return { ...noted, total };
  });
}

/** How many of these would be replayed. */
export async function countSelected(
  db: Queryable,
  request: Pick<SelectedReplayRequest, "accountId" | "deliveryIds" | "now">,
): Promise<number> {
  return (await findSelected(db, request)).length;
}

async function findSelected(
  db: Queryable,
  { accountId, deliveryIds, now }: Pick<SelectedReplayRequest, "accountId" | "deliveryIds" | "now">,
): Promise<Replayable[]> {
  const keys = [...new Set(deliveryIds)].flatMap((id) => parseEventId(id) ?? []);
  const events = await findReplayable(db, keys);
  return events.filter((event) => event.account_id === accountId && isReplayable(event, now));
}

export type Replayable = EventRow & { callback_url: string };

/** Events with a callback address; others have nothing to replay. */
export async function findReplayable(
  db: Queryable,
  keys: readonly { messageId: string; sequence: number }[],
): Promise<Replayable[]> {
  const wanted = keys.map(({ messageId, sequence }) => ({ message_id: messageId, sequence }));
  const events = await findEvents(db, wanted);
  return events.flatMap((event) =>
    event.callback_url === null ? [] : [{ ...event, callback_url: event.callback_url }],
  );
}

type NewReplay = Change & {
  accountId: string;
  idempotencyKey?: string;
  /** What the caller asked for: tells this request from others with the same key. */
  what: object;
  total: number;
  /** The start of a bulk replay, queued page by page; null if everything is queued at once. */
  since: Date | null;
};

/** Stores the request or finds it if repeated; throws if the key belongs to another request. */
export async function insertReplay(
  tx: Transaction,
  { accountId, actor, now, idempotencyKey, what, total, since }: NewReplay,
): Promise<{ isNew: boolean; replayId: string; total: number }> {
  const print = fingerprint("replay", what);
  const replayId = newId(now.getTime());
  const inserted = await tx.query(sql`
    insert into webhook_replays (replay_id, account_id, actor, idempotency_key, fingerprint, created_at, total, queued, since, finished_at)
    values (${replayId}, ${accountId}, ${actorName(actor)}, ${idempotencyKey ?? null}, ${print},
            clock_timestamp(), ${total}, ${since === null ? total : 0}, ${since}, ${since === null ? now : null})
        on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing
    returning replay_id`);
  if (inserted.length > 0) return { isNew: true, replayId, total };
  const [before] = await tx.query<{ replay_id: string; total: number }>(sql`
    select replay_id, total from webhook_replays
     where account_id = ${accountId} and idempotency_key = ${idempotencyKey ?? null} and fingerprint = ${print}`);
  if (!before) throw new Problem("IDEMPOTENCY_KEY_REUSED");
  return { isNew: false, replayId: before.replay_id, total: before.total };
}

/** Makes these due now as part of this replay. Returns how many: all but those being tried. */
export async function queueReplays(
  tx: Transaction,
  events: readonly Replayable[],
  replayId: string,
): Promise<number> {
  if (events.length === 0) return 0;
  // Whoever adds deliveries of a message holds its row lock, so nobody else adds any meanwhile.
  await lockMessagesOf(tx, events);
  const keys = sql`
    unnest(${events.map(({ message_id }) => message_id)}::uuid[], ${events.map(({ sequence }) => sequence)}::smallint[],
           ${events.map(({ account_id }) => account_id)}::uuid[],
           ${events.map(({ account_id, callback_url }) => hostKeyOf(account_id, callback_url).toString())}::bigint[])
      as u (message_id, sequence, account_id, host_key)`;
  const broughtForward = await tx.query(sql`
    with idle as materialized (
      select w.message_id, w.sequence
        from ${keys}
        join webhook_deliveries w on w.message_id = u.message_id and w.sequence = u.sequence
       -- The holder of a lease is known by the replay too, so it must stay what it was.
       where w.leased_until is null
       -- As in cancelReplay, which locks no messages; otherwise they deadlock.
       order by w.message_id, w.sequence
         for update of w
    )
    update webhook_deliveries w
       set next_at = least(w.next_at, clock_timestamp()), replay_id = ${replayId}
      from idle i
     where w.message_id = i.message_id and w.sequence = i.sequence
    returning w.message_id`);
  const queued = await tx.query<{ message_id: string; sequence: number }>(sql`
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, replay_id, attempts, created_at, next_at)
    -- Never 0: that is for those that were never tried, and must go in order.
    select u.message_id, u.sequence, u.account_id, u.host_key, ${replayId}, 1, clock_timestamp(), clock_timestamp()
      from ${keys}
        on conflict (message_id, sequence) do nothing
    returning message_id, sequence`);
  // After the insert, which may have waited for an attempt being recorded: now it is visible.
  await tx.query(sql`
    update webhook_deliveries w
       set attempts = greatest(w.attempts, (select max(a.attempt)
                                              from webhook_attempts a
                                             where a.account_id = w.account_id and a.message_id = w.message_id
                                               and a.sequence = w.sequence))
      from unnest(${queued.map(({ message_id }) => message_id)}::uuid[],
                  ${queued.map(({ sequence }) => sequence)}::smallint[]) as u (message_id, sequence)
     where w.message_id = u.message_id and w.sequence = u.sequence`);
  return broughtForward.length + queued.length;
}
