import { findSigningSecrets, signingNow } from "#accounts";
import type { EventName, ToldStatus } from "#contract";
import { eventNames } from "#contract/words";
import { eventId, type EventKey, findEventBodies } from "#messages";
import {
  type Clock,
  DatabaseUnavailable,
  type Queryable,
  type SecretBox,
  type Sql,
  sql,
} from "#platform";
import { webhookHeaders } from "./headers.ts";
import { noteTried } from "./tried.ts";

/** A status change, as a receiver would get it. */
export type FollowedEvent = {
  deliveryId: string;
  event: EventName;
  messageId: string;
  sequence: number;
  status: ToldStatus;
  at: Date;
  /** The bytes of its webhook, whether or not there is one. */
  body: Buffer;
  /** Its headers, signed at the call: receivers refuse signatures that are minutes old. */
  sign(): Record<string, string>;
};

type Deps = { db: Queryable; clock: Clock; secrets: SecretBox; version: string };

export type FollowRequest = {
  accountId: string;
  /** Ends the following. */
  signal: AbortSignal;
  /** Called when it follows: from then on nothing is missed. */
  onReady?: () => void;
  /** Called if it paused for so long that events may have been missed; it goes on. */
  onLapse?: () => void;
  /** Called if the database is away; events of the next minute are seen once it is back. */
  onAway?: () => void;
  /** Whether it may be asked again, if something else could have taken its place meanwhile. */
  isBack?: () => Promise<boolean>;
};

/** How long after the last renewal events are written for followers. */
const FOLLOW_MS = 60_000;
const RENEW_MS = 20_000;
/** What is written for followers is swept after this long, read or not. */
export const FOLLOWED_KEPT_MS = 120_000;
const LOOK_EVERY_MS = 200;
const PAGE = 500;
/** A database that restarts or fails over is back long before. */
const AWAY_LIMIT_MS = 300_000;
const ASK_AGAIN_MS = 500;
/** A change of status takes far less. If one hangs, following begins without it. */
const OUTLAST_LIMIT_MS = 10_000;

/**
 * Yields every status change of an account as it happens, each once, those of a message in order.
 * What a transaction wrote is seen when it commits: each look takes what its snapshot sees and the
 * previous one did not, so a slow transaction is never missed. The caller must read promptly:
 * events left unread for two minutes are swept.
 */
export async function* followEvents(
  { db: impatient, ...rest }: Deps,
  { accountId, onReady, onLapse, ...request }: FollowRequest,
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { clock } = rest;
  const { signal } = request;
  const db = patient(impatient, { clock, ...request });
  const deps = { db, ...rest };
  await renew(db, accountId);
  let renewedAtMs = clock.monotonicMs();
  let seen = await look(deps);
  let isNoted = false;
  await outlast(deps, signal);
  onReady?.();
  while (!signal.aborted) {
    const unrenewedMs = clock.monotonicMs() - renewedAtMs;
    if (unrenewedMs >= RENEW_MS) {
      // Another follower's renewal covers this one too, but does not read for it.
      if (!(await renew(db, accountId)) || unrenewedMs >= FOLLOWED_KEPT_MS) onLapse?.();
      renewedAtMs = clock.monotonicMs();
    }
    const now = await look(deps);
    for await (const page of pagesBetween(db, { accountId, seen, now })) {
      if (!isNoted) await noteTried(db, accountId);
      isNoted = true;
      yield* await eventsOf({ ...deps, databaseNow: now.databaseNow }, accountId, page);
      if (signal.aborted) return;
    }
    seen = now;
    await clock.sleep(LOOK_EVERY_MS, signal);
  }
}

type Patience = Pick<FollowRequest, "signal" | "onAway" | "isBack"> & { clock: Clock };

/** Repeats a query if the database is away: every query here is safe to repeat. */
function patient(
  db: Queryable,
  { clock, signal, onAway, isBack = () => Promise.resolve(true) }: Patience,
): Queryable {
  return {
    async query<Row extends object>(statement: Sql) {
      const until = clock.monotonicMs() + AWAY_LIMIT_MS;
      for (let isTold = false; ; isTold = true) {
        try {
          return await db.query<Row>(statement);
        } catch (error) {
          const isAway = error instanceof DatabaseUnavailable;
          if (!isAway || signal.aborted || clock.monotonicMs() > until) throw error;
          if (!isTold) onAway?.();
        }
        do await clock.sleep(ASK_AGAIN_MS, signal);
        while (!signal.aborted && clock.monotonicMs() < until && !(await isBack()));
      }
    },
  };
}

/** False if events were not written for this account for a while. */
async function renew(db: Queryable, accountId: string): Promise<boolean> {
  const rows = await db.query<{ was_followed: boolean }>(sql`
    with before as (
      select until from followers where account_id = ${accountId}
    )
    insert into followers as f (account_id, until)
    values (${accountId}, clock_timestamp() + make_interval(secs => ${FOLLOW_MS / 1000}))
        on conflict (account_id) do update set until = greatest(f.until, excluded.until)
    returning coalesce((select until > clock_timestamp() from before), false) as was_followed`);
  return rows[0]?.was_followed ?? false;
}

/** Waits for changes under way, which may have asked for followers before this one was there. */
async function outlast({ db, clock }: Pick<Deps, "db" | "clock">, signal: AbortSignal) {
  const until = clock.monotonicMs() + OUTLAST_LIMIT_MS;
  let left = await findChanging(db);
  while (left.size > 0 && !signal.aborted && clock.monotonicMs() < until) {
    await clock.sleep(LOOK_EVERY_MS, signal);
    left = left.intersection(await findChanging(db));
  }
}

/** The transactions that have asked for followers and write: until their end they hold a lock. */
async function findChanging(db: Queryable): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(sql`
    select asked.virtualtransaction as id
      from pg_locks asked
      join pg_locks writing on writing.virtualtransaction = asked.virtualtransaction
     where asked.relation = 'followers'::regclass
       and asked.database = (select oid from pg_database where datname = current_database())
       and asked.mode = 'AccessShareLock'
       and writing.locktype = 'transactionid' and writing.mode = 'ExclusiveLock'`);
  return new Set(rows.map(({ id }) => id));
}

type Look = {
  snapshot: string;
  /** The highest visible position. */
  position: number;
  databaseNow: () => Date;
};

/** What is visible now, and the database's time, carried forward by a clock that nobody can set. */
async function look({ db, clock }: Pick<Deps, "db" | "clock">): Promise<Look> {
  const [row] = await db.query<{ snapshot: string; position: number; at: Date }>(sql`
    select pg_current_snapshot()::text as snapshot, clock_timestamp() as at,
           coalesce((select max(position) from followed_events), 0) as position`);
  if (!row) throw new Error("The database told no snapshot.");
  const aheadMs = row.at.getTime() - clock.monotonicMs();
  const { snapshot, position } = row;
  return { snapshot, position, databaseNow: () => new Date(clock.monotonicMs() + aheadMs) };
}

type Span = { accountId: string; seen: Look; now: Look };

/**
 * Pages of what is visible now and was not before: what was written since, and what was written
 * earlier and committed late. A server that crashed, or a standby that had everything, may reuse
 * the numbers of finished transactions, but never a position that anyone saw.
 */
async function* pagesBetween(
  db: Queryable,
  { accountId, seen, now }: Span,
): AsyncGenerator<EventKey[]> {
  const columns = sql`position, message_id, sequence`;
  const isVisible = sql`account_id = ${accountId} and pg_visible_in_snapshot(xid, ${now.snapshot}::pg_snapshot)`;
  for (let after = 0, isMore = true; isMore;) {
    // Two queries, one index each: one with "or" would scan everything, five times a second.
    const page = await db.query<EventKey & { position: number }>(sql`
      with late as materialized (
        select ${columns}
          from followed_events
         where ${isVisible}
           and xid >= pg_snapshot_xmin(${seen.snapshot}::pg_snapshot)
           and not pg_visible_in_snapshot(xid, ${seen.snapshot}::pg_snapshot)
      )
      (select ${columns}
         from followed_events
        where ${isVisible} and position > ${Math.max(seen.position, after)}
        order by position
        limit ${PAGE})
      union
      select ${columns} from late where position > ${after}
       order by position
       limit ${PAGE}`);
    isMore = page.length === PAGE;
    after = page.at(-1)?.position ?? after;
    if (page.length > 0) yield page;
  }
}

async function eventsOf(
  { db, secrets, version, databaseNow }: Deps & Pick<Look, "databaseNow">,
  accountId: string,
  keys: EventKey[],
): Promise<FollowedEvent[]> {
  const events = await findEventBodies(db, keys);
  const opened = await findSigningSecrets(db, { accountIds: [accountId], secrets });
  const found = opened.get(accountId);
  return events.map(({ message_id: messageId, sequence, status, at, body }) => {
    const deliveryId = eventId(messageId, sequence);
    const event = eventNames[status];
    const sign = () => {
      const now = databaseNow();
      const timestampSeconds = Math.floor(now.getTime() / 1000);
      const live = found ? signingNow(found, now) : [];
      const signable = { eventId: deliveryId, timestampSeconds, body, secrets: live };
      return webhookHeaders({ ...signable, event, attempt: 1, sequence }, version);
    };
    return { deliveryId, event, messageId, sequence, status, at, body, sign };
  });
}
