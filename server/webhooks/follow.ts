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

/** A change of status, as a receiver would get it. */
export type FollowedEvent = {
  deliveryId: string;
  event: EventName;
  messageId: string;
  sequence: number;
  status: ToldStatus;
  at: Date;
  /** The octets that the webhook has, whether or not there is one. */
  body: Buffer;
  /** Its headers, signed when it is called: receivers refuse a signature that is minutes old. */
  sign(): Record<string, string>;
};

type Deps = { db: Queryable; clock: Clock; secrets: SecretBox; version: string };

export type FollowRequest = {
  accountId: string;
  /** Ends the following. */
  signal: AbortSignal;
  /** From now on nothing is missed. */
  onReady?: () => void;
  /** Nothing was asked for so long that events may have been missed; it goes on. */
  onLapse?: () => void;
  /** The database cannot be reached; what happens within a minute is seen once it is back. */
  onAway?: () => void;
  /** Whether it may be asked again, where somebody else could have taken its place meanwhile. */
  isBack?: () => Promise<boolean>;
};

/** Events are written for followers for this long after the last renewal. */
const FOLLOW_MS = 60_000;
const RENEW_MS = 20_000;
/** What was written for followers is swept after this long, whether or not it was read. */
export const FOLLOWED_KEPT_MS = 120_000;
const LOOK_EVERY_MS = 200;
const PAGE = 500;
/** A database that is started again, or fails over, is back long before. */
const AWAY_LIMIT_MS = 300_000;
const ASK_AGAIN_MS = 500;

/**
 * Every change of status of an account as it happens, each once, those of a message in order. What
 * one transaction wrote is seen when it commits: each look takes what its snapshot sees and the one
 * before it did not, so a slow transaction is never passed over. Whoever reads must take them as they
 * come: what is left unread for two minutes is swept.
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
  onReady?.();
  while (!signal.aborted) {
    const unrenewedMs = clock.monotonicMs() - renewedAtMs;
    if (unrenewedMs >= RENEW_MS) {
      // Another follower of the account renews for this one too, but does not read for it.
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

/** Asks again where the database is away: all that is asked here may be asked twice. */
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

/** False where nothing was written for this account for a while. */
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

type Look = {
  snapshot: string;
  /** The highest that is visible. */
  position: number;
  databaseNow: () => Date;
};

/** What is visible now, and the database's clock, carried on by one that nobody sets. */
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
 * What is visible now and was not before: what was written since, and what was written by then and
 * committed late. A server that crashed, or a standby that had all of it, may give the numbers of
 * transactions that were over once more, but never a position that anybody saw.
 */
async function* pagesBetween(
  db: Queryable,
  { accountId, seen, now }: Span,
): AsyncGenerator<EventKey[]> {
  const columns = sql`position, message_id, sequence`;
  const isVisible = sql`account_id = ${accountId} and pg_visible_in_snapshot(xid, ${now.snapshot}::pg_snapshot)`;
  for (let after = 0, isMore = true; isMore;) {
    // Two looks, each by its index: one with "or" would go through all that is kept, five times a second.
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
