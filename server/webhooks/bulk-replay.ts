import { type Change, recordAudit } from "#accounts";
import { eventTime } from "#messages";
import {
  type Clock,
  type Database,
  type Loop,
  type Queryable,
  sql,
  type Transaction,
} from "#platform";
import { findReplayable, insertReplay, queueReplays, REPLAYABLE_MS } from "./replay.ts";

/** A larger replay would flood receivers too; a second request takes the rest. */
export const MAX_REPLAYED = 10_000;
const PAGE = 500;

type Exhausted = { accountId: string; since: Date };

/** How many deliveries of an account ended exhausted since then and were not replayed. */
export async function countExhausted(db: Queryable, request: Exhausted): Promise<number> {
  const [counted] = await db.query<{ count: number }>(sql`
    select count(*) as count from (${exhausted({ ...request, until: null })} limit ${MAX_REPLAYED}) e`);
  return counted?.count ?? 0;
}

export type BulkReplayRequest = Exhausted & Change & { idempotencyKey?: string };

/**
 * Requests a replay of all of these. `finishReplay` queues them page by page, and `continueReplays`
 * in the background, even after the requesting process died.
 */
export function startBulkReplay(
  db: Database,
  request: BulkReplayRequest,
): Promise<{ replayId: string; total: number }> {
  const { accountId, since, actor, now } = request;
  return db.transaction(async (tx) => {
    const total = await countExhausted(tx, request);
    const { isNew, ...noted } = await insertReplay(tx, {
      ...request,
      what: { since: since.toISOString() },
      total,
    });
    if (!isNew) return noted;
    const details = { since, total };
    const action = "webhook.replayed";
    await recordAudit(tx, action, { actor, now, accountId, objectId: noted.replayId, details });
    return noted;
  });
}

type Unfinished = {
  replay_id: string;
  account_id: string;
  queued: number;
  since: Date;
  created_at: Date;
  after_message: string | null;
  after_sequence: number | null;
};

/** Queues the next page of a bulk replay; false if it is finished or another process is at it. */
function continueReplay(db: Database, replayId: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    // Skipped while another process holds it: that process goes on.
    const [replay] = await tx.query<Unfinished>(sql`
      select replay_id, account_id, queued, since, created_at, after_message, after_sequence
        from webhook_replays
       where replay_id = ${replayId} and finished_at is null
         for update skip locked`);
    if (!replay) return false;
    const page = await nextPage(tx, replay);
    const events = await findReplayable(tx, page);
    const queued = replay.queued + (await queueReplays(tx, events, replayId));
    const last = page.at(-1);
    const isFinished = page.length < PAGE;
    await tx.query(sql`
      update webhook_replays
         set queued = ${queued},
             after_message = ${last?.messageId ?? replay.after_message},
             after_sequence = ${last?.sequence ?? replay.after_sequence},
             finished_at = case when ${isFinished} then clock_timestamp() end,
             -- What was replayed singly meanwhile is not waited for.
             total = case when ${isFinished} then ${queued} else total end
       where replay_id = ${replayId}`);
    return true;
  });
}

/** The wait while another process queues a page. */
const LOOK_EVERY_MS = 50;

/** Queues all pages of a bulk replay, beside other processes; returns how many deliveries. */
export async function finishReplay(
  { db, clock }: { db: Database; clock: Clock },
  replayId: string,
): Promise<number> {
  for (;;) {
    const isContinued = await continueReplay(db, replayId);
    const [replay] = await db.query<{ queued: number; is_finished: boolean }>(sql`
      select queued, finished_at is not null as is_finished from webhook_replays where replay_id = ${replayId}`);
    if (!replay || replay.is_finished) return replay?.queued ?? 0;
    if (!isContinued) await clock.sleep(LOOK_EVERY_MS);
  }
}

/** Continues unfinished bulk replays, a page at a time. */
export function continueReplays(db: Database): Loop {
  return {
    name: "queue replays",
    idleMs: 1_000,
    async pass() {
      const unfinished = await db.query<{ replay_id: string }>(sql`
        select replay_id from webhook_replays where finished_at is null order by replay_id limit 10`);
      const failures: unknown[] = [];
      let continued = 0;
      for (const { replay_id } of unfinished) {
        try {
          if (await continueReplay(db, replay_id)) continued += 1;
        } catch (error) {
          failures.push(error);
        }
      }
      // Thrown only now, so that a failing replay does not block the others.
      if (failures.length > 0) throw failures[0];
      return continued;
    },
  };
}

function nextPage(tx: Transaction, replay: Unfinished) {
  const { account_id: accountId, since, created_at: until } = replay;
  const after =
    replay.after_message === null
      ? sql``
      : sql`and (a.message_id, a.sequence) > (${replay.after_message}::uuid, ${replay.after_sequence}::smallint)`;
  const limit = Math.min(PAGE, MAX_REPLAYED - replay.queued);
  return tx.query<{ messageId: string; sequence: number }>(sql`
    ${exhausted({ accountId, since, until })} ${after}
     order by a.message_id, a.sequence
     limit ${limit}`);
}

/** Deliveries that ended exhausted, neither wait nor ended again since, and are not too old. */
function exhausted({ accountId, since, until }: Exhausted & { until: Date | null }) {
  const eventAt = eventTime({ message: sql`a.message_id`, sequence: sql`a.sequence` });
  return sql`
    select a.message_id as "messageId", a.sequence
      from webhook_attempts a
     where a.account_id = ${accountId}
       and a.ended = 'exhausted'
       and a.at >= ${since}
       and a.at <= coalesce(${until}::timestamptz, clock_timestamp())
       and ${eventAt} > clock_timestamp() - make_interval(secs => ${REPLAYABLE_MS / 1000})
       and not exists (select from webhook_deliveries w where w.message_id = a.message_id and w.sequence = a.sequence)
       and not exists (select from webhook_attempts l
                        where l.account_id = a.account_id and l.message_id = a.message_id and l.sequence = a.sequence
                          and l.attempt > a.attempt and l.ended is not null)`;
}

export type ReplayProgress = {
  replayId: string;
  state: "running" | "done" | "canceled";
  total: number;
  /** Deliveries not begun yet or between attempts. */
  waiting: number;
  delivered: number;
  failed: number;
  createdAt: Date;
};

export async function findReplay(
  db: Queryable,
  { accountId, replayId }: { accountId: string; replayId: string },
): Promise<ReplayProgress | undefined> {
  const [row] = await db.query<Omit<ReplayProgress, "state"> & Stage>(sql`
    select r.replay_id as "replayId", r.total, r.created_at as "createdAt", r.finished_at is not null as "isQueued",
           r.canceled_at is not null as "isCanceled",
           case when r.finished_at is null then r.total - r.queued else 0 end
             + (select count(*) from webhook_deliveries w where w.replay_id = r.replay_id) as waiting,
           (select count(*) from webhook_attempts a
             where a.replay_id = r.replay_id and a.ended = 'delivered') as delivered,
           (select count(*) from webhook_attempts a
             where a.replay_id = r.replay_id and a.ended <> 'delivered') as failed
      from webhook_replays r
     where r.replay_id = ${replayId} and r.account_id = ${accountId}`);
  if (!row) return undefined;
  const { isQueued, isCanceled, ...progress } = row;
  const isDone = isQueued && progress.waiting === 0;
  return { ...progress, state: isCanceled ? "canceled" : isDone ? "done" : "running" };
}

type Stage = { isQueued: boolean; isCanceled: boolean };

export type CancelReplayRequest = Change & { accountId: string; replayId: string };

/**
 * Stops a replay: deliveries that have not begun are dropped. Those that have begun go on, and so
 * do those that waited before the replay was requested. False if the replay is unknown.
 */
export function cancelReplay(db: Database, request: CancelReplayRequest): Promise<boolean> {
  const { accountId, replayId, actor, now } = request;
  return db.transaction(async (tx) => {
    const found = await tx.query<{ is_canceled: boolean }>(sql`
      select canceled_at is not null as is_canceled
        from webhook_replays
       where replay_id = ${replayId} and account_id = ${accountId}
         for update`);
    if (found.length === 0) return false;
    if (found[0]?.is_canceled === true) return true;
    const left = await tx.query(sql`
      with idle as materialized (
        select w.message_id, w.sequence
          from webhook_replays r
          join webhook_deliveries w on w.replay_id = r.replay_id
         where r.replay_id = ${replayId} and w.leased_until is null
           and w.step = 0 and w.interrupted = 0 and w.created_at >= r.created_at
         order by w.message_id, w.sequence
           for update of w
      )
      delete from webhook_deliveries w
       using idle i
       where w.message_id = i.message_id and w.sequence = i.sequence
      returning w.message_id`);
    await tx.query(sql`
      update webhook_replays
         set canceled_at = ${now}, finished_at = coalesce(finished_at, ${now}), total = queued - ${left.length}::integer
       where replay_id = ${replayId}`);
    const details = { leftOut: left.length };
    const action = "webhook.replay_canceled";
    await recordAudit(tx, action, { actor, now, accountId, objectId: replayId, details });
    return true;
  });
}
