import type { ToldEvent } from "#contract";
import { eventNames } from "#contract/words";
import { eventId, type EventKey, type EventRow, findEvents, parseEventId } from "#messages";
import { DAY_MS, type Queryable, sql, timeOfId } from "#platform";
import type { Ended } from "./schedule.ts";

/** Waiting: no attempt yet. Retrying: some failed, or it is replayed. The rest: how it ended. */
export type DeliveryState = "waiting" | "retrying" | Ended;

/** One event to one callback address, as people see it. */
export type DeliveryRow = {
  /** The `webhook-id`, which attempts and replays share. */
  deliveryId: string;
  messageId: string;
  sequence: number;
  event: ToldEvent;
  url: string;
  state: DeliveryState;
  attempts: number;
  /** When the status changed. */
  createdAt: Date;
  /** Null if it has ended or an attempt is under way. */
  nextAttemptAt: Date | null;
  /** Whether its receiver is open, so only probes are sent there. */
  isPaused: boolean;
  /** The replay under way, or the one that the last attempt belonged to. */
  replayId: string | null;
  last: LastAttempt | null;
};

export type LastAttempt = {
  at: Date;
  httpStatus: number | null;
  errorClass: string | null;
  error: string | null;
  totalMs: number;
};

type Live = EventKey & {
  next_at: Date;
  is_leased: boolean;
  is_paused: boolean;
  replay_id: string | null;
};

type Tried = EventKey &
  Pick<
    AttemptRow,
    "attempt" | "at" | "replay_id" | "http_status" | "error_class" | "error" | "total_ms" | "ended"
  >;

/** Describes deliveries of an account in the given order; leaves out unknown ones. */
export async function describeDeliveries(
  db: Queryable,
  accountId: string,
  keys: readonly EventKey[],
): Promise<DeliveryRow[]> {
  if (keys.length === 0) return [];
  // In this order, what is written or ends meanwhile is seen by a later query, never by none.
  const events = await findEvents(db, keys);
  const live = await findLive(db, keys);
  const tried = await findTried(db, accountId, keys);
  return events
    .filter(({ account_id }) => account_id === accountId)
    .flatMap((event) => {
      const id = eventId(event.message_id, event.sequence);
      return describe(event, live.get(id), tried.get(id)) ?? [];
    });
}

function describe(
  event: EventRow,
  live: Live | undefined,
  tried: Tried | undefined,
): DeliveryRow | undefined {
  const state = live ? (tried ? "retrying" : "waiting") : tried?.ended;
  if (event.callback_url === null || !state) return undefined;
  return {
    deliveryId: eventId(event.message_id, event.sequence),
    messageId: event.message_id,
    sequence: event.sequence,
    event: eventNames[event.status],
    url: event.callback_url,
    state,
    attempts: tried?.attempt ?? 0,
    createdAt: event.at,
    nextAttemptAt: live && !live.is_leased ? live.next_at : null,
    isPaused: live?.is_paused ?? false,
    replayId: live?.replay_id ?? tried?.replay_id ?? null,
    last: tried
      ? {
          at: tried.at,
          httpStatus: tried.http_status,
          errorClass: tried.error_class,
          error: tried.error,
          totalMs: tried.total_ms,
        }
      : null,
  };
}

function byId<Row extends EventKey>(rows: Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [eventId(row.message_id, row.sequence), row]));
}

async function findLive(db: Queryable, keys: readonly EventKey[]): Promise<Map<string, Live>> {
  return byId(
    await db.query<Live>(sql`
      select w.message_id, w.sequence, w.next_at, w.leased_until is not null as is_leased, w.replay_id,
             h.health is not distinct from 'open' as is_paused
        from unnest(${keys.map(({ message_id }) => message_id)}::uuid[],
                    ${keys.map(({ sequence }) => sequence)}::smallint[]) as u (message_id, sequence)
        join webhook_deliveries w on w.message_id = u.message_id and w.sequence = u.sequence
        left join webhook_hosts h on h.account_id = w.account_id and h.host_key = w.host_key`),
  );
}

/** The clocks of nodes differ by far less than a day: no attempt precedes its message by more. */
const ATTEMPT_BEFORE_MESSAGE_MS = DAY_MS;
/** A made-up id may hold any time; PostgreSQL reads years of four digits. */
const LAST_MS = Date.UTC(9999, 0, 1);

/**
 * The last attempt of each delivery; for an ended one it is the attempt that ended it. Days before
 * the oldest message are left out, and each other day is walked once for all keys: looking into
 * every day for every key would cost twenty times as much.
 */
async function findTried(
  db: Queryable,
  accountId: string,
  keys: readonly EventKey[],
): Promise<Map<string, Tried>> {
  const messageIds = [...new Set(keys.map(({ message_id }) => message_id))].toSorted();
  const oldestMs = Math.min(timeOfId(messageIds[0] ?? "").getTime(), LAST_MS);
  const since = new Date(oldestMs - ATTEMPT_BEFORE_MESSAGE_MS);
  // A subquery, so that the planner does not weigh each of thousands of ids for each day.
  const ids = sql`array(select unnest(${messageIds}::uuid[]))`;
  return byId(
    await db.query<Tried>(sql`
      select distinct on (a.message_id, a.sequence)
             a.message_id, a.sequence, a.attempt, a.at, a.replay_id, a.http_status, a.error_class, a.error, a.total_ms,
             a.ended
        from webhook_attempts a
       where a.account_id = ${accountId} and a.message_id = any (${ids}) and a.at >= ${since}
       order by a.message_id, a.sequence, a.attempt desc, a.at desc`),
  );
}

/** One attempt with everything kept of it. */
export type AttemptRow = {
  attempt: number;
  at: Date;
  replay_id: string | null;
  http_status: number | null;
  error_class: string | null;
  error: string | null;
  dns_ms: number | null;
  connect_ms: number | null;
  tls_ms: number | null;
  first_byte_ms: number | null;
  total_ms: number;
  address: string | null;
  answer_headers: Record<string, string | string[]> | null;
  answer: Buffer | null;
  ended: Ended | null;
};

export type DeliveryDetail = DeliveryRow & {
  /** The exact bytes that are sent. */
  body: Buffer;
  /** Oldest first. */
  tried: AttemptRow[];
};

/** A delivery with its body and its attempts; undefined if the account has none with that id. */
export async function findDelivery(
  db: Queryable,
  { accountId, deliveryId }: { accountId: string; deliveryId: string },
): Promise<DeliveryDetail | undefined> {
  const key = parseEventId(deliveryId);
  if (!key) return undefined;
  const keys = [{ message_id: key.messageId, sequence: key.sequence }];
  const [described] = await describeDeliveries(db, accountId, keys);
  const [event] = await findEvents(db, keys);
  if (!described || !event?.body) return undefined;
  const tried = await db.query<AttemptRow>(sql`
    select attempt, at, replay_id, http_status, error_class, error, dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms,
           address, answer_headers, answer, ended
      from webhook_attempts
     where account_id = ${accountId} and message_id = ${key.messageId} and sequence = ${key.sequence}
     order by attempt, at
     limit ${MAX_ATTEMPTS_SHOWN}`);
  return { ...described, body: event.body, tried };
}

/** Replays are unlimited; a person needs no more than this. */
const MAX_ATTEMPTS_SHOWN = 200;
