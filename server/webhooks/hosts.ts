import {
  type Clock,
  type Database,
  deletePage,
  type Log,
  type Loop,
  MAX_COUNTED,
  type Queryable,
  sql,
} from "#platform";
import type { DeliveryMetrics } from "./delivery-metrics.ts";
import type { LaneReport } from "./lane.ts";
import type { Health } from "./lane-health.ts";
import type { Lanes } from "./lanes.ts";
import { MAX_WAIT_FOR_OPEN_HOST_MS } from "./schedule.ts";

type Deps = {
  db: Database;
  clock: Clock;
  log: Log;
  lanes: Lanes;
  metrics: DeliveryMetrics;
};

/** A crash loses at most this much of the hosts' figures. */
const FLUSH_MS = 5_000;
/** Rarely, since it looks at every open host, and a day is long. */
const GIVE_UP_MS = 60_000;
const GIVE_UP_PAGE = 500;

/** Stores how receivers do, for people and the next start; ends what waited a day for open ones. */
export function hostKeeper(deps: Deps) {
  const { db, clock, lanes, metrics, log } = deps;
  /** Reports not stored yet. */
  const unnoted = new Map<bigint, LaneReport>();
  let giveUpAtMs = 0;

  async function pass(): Promise<number> {
    await flush();
    const survey = lanes.survey();
    metrics.lanes(survey);
    if (survey.open.length === 0 || clock.monotonicMs() < giveUpAtMs) return 0;
    // Set before it may fail: what took too long must not be tried in every pass.
    giveUpAtMs = clock.monotonicMs() + GIVE_UP_MS;
    const givenUp = await giveUpWaiting(survey.open);
    if (givenUp > 0) giveUpAtMs = 0;
    return givenUp;
  }

  async function flush(): Promise<void> {
    for (const report of lanes.takeChanges()) {
      const { hostKey, ok, failed } = report;
      const before = unnoted.get(hostKey) ?? { ok: 0, failed: 0 };
      unnoted.set(hostKey, { ...report, ok: before.ok + ok, failed: before.failed + failed });
    }
    await upsertHosts(db, [...unnoted.values()]);
    unnoted.clear();
  }

  async function giveUpWaiting(open: bigint[]): Promise<number> {
    const [result] = await db.query<{ given_up: number }>(sql`
      select give_up_waiting(${open.map(String)}::bigint[],
                             make_interval(secs => ${MAX_WAIT_FOR_OPEN_HOST_MS / 1000}), ${GIVE_UP_PAGE}) as given_up`);
    const count = result?.given_up ?? 0;
    if (count > 0) {
      metrics.gaveUp(count);
      log.warn(
        { count },
        "webhooks were given up that waited a day for a host that does not answer",
      );
    }
    return count;
  }

  /**
   * Known hosts do not start as strangers: otherwise a hundred dead hosts would delay a healthy
   * one. Returns the names of the proven ones.
   */
  async function recall(): Promise<string[]> {
    const remembered = await recentHosts(db);
    for (const { host_key, health, ok_ago_ms } of remembered)
      lanes.recall(BigInt(host_key), { health, lastOkAgoMs: ok_ago_ms });
    const proven = remembered.filter(({ health }) => health === "proven");
    return proven.flatMap(({ origin }) => URL.parse(origin)?.hostname ?? []);
  }

  const loop: Loop = { name: "note receivers", idleMs: FLUSH_MS, pass };
  return { loop, flush, recall };
}

async function upsertHosts(db: Database, reports: LaneReport[]): Promise<void> {
  if (reports.length === 0) return;
  // The same order everywhere, so that nodes that store the same hosts at once do not deadlock.
  const sorted = reports.toSorted((a, b) => (a.hostKey < b.hostKey ? -1 : 1));
  const of = <Value>(pick: (report: LaneReport) => Value) => sorted.map(pick);
  await db.query(sql`
    with u as materialized (
      select *
        from unnest(${of(({ accountId }) => accountId)}::uuid[], ${of(({ hostKey }) => hostKey.toString())}::bigint[],
                    ${of(({ origin }) => origin)}::text[], ${of(({ health }) => health)}::text[],
                    ${of(({ since }) => since)}::timestamptz[], ${of(({ p95Ms }) => p95Ms)}::real[],
                    ${of(({ lastOkAt }) => lastOkAt)}::timestamptz[], ${of(({ ok }) => ok)}::bigint[],
                    ${of(({ failed }) => failed)}::bigint[])
             as u (account_id, host_key, origin, health, since, p95_ms, last_ok_at, ok, failed)
    ), counted as (
      insert into webhook_host_hours as h (account_id, host_key, hour, ok, failed)
      select u.account_id, u.host_key, date_trunc('hour', clock_timestamp(), 'UTC'), u.ok, u.failed from u
          on conflict (account_id, host_key, hour) do update
         set ok = h.ok + excluded.ok, failed = h.failed + excluded.failed
    )
    insert into webhook_hosts as h (account_id, host_key, origin, health, since, p95_ms, last_at, last_ok_at)
    select u.account_id, u.host_key, u.origin, u.health, u.since, u.p95_ms, clock_timestamp(), u.last_ok_at from u
        on conflict (account_id, host_key) do update
       set origin = excluded.origin, health = excluded.health, since = excluded.since, p95_ms = excluded.p95_ms,
           last_at = excluded.last_at, last_ok_at = greatest(h.last_ok_at, excluded.last_ok_at)`);
}

const MAX_RECALLED = 10_000;

type RecentHost = { host_key: string; origin: string; health: Health; ok_ago_ms: number | null };

function recentHosts(db: Database): Promise<RecentHost[]> {
  return db.query<RecentHost>(sql`
    select host_key::text, origin, health,
           (extract(epoch from clock_timestamp() - last_ok_at) * 1000)::float8 as ok_ago_ms
      from webhook_hosts
     where last_at > clock_timestamp() - interval '24 hours'
     order by last_at desc
     limit ${MAX_RECALLED}`);
}

/** A receiver of an account, as people see it. */
export type HostRow = {
  origin: string;
  health: Health;
  p95_ms: number | null;
  last_ok_at: Date | null;
  /** Attempts in the last 24 hours. */
  ok: number;
  failed: number;
  /** Deliveries that wait for it, counted up to its share. */
  waiting: number;
  /** Whether counting stopped at that share: at least that many wait. */
  is_more: boolean;
};

const MAX_HOSTS = 1_000;

/**
 * The receivers of an account, the most recently used first. They share the number of waiting
 * deliveries to count, so the cost is the same for any backlog of any number of them.
 */
export function listHosts(
  db: Queryable,
  accountId: string,
  maxCounted: number = MAX_COUNTED,
): Promise<HostRow[]> {
  return db.query<HostRow>(sql`
    with hosts as materialized (
      select h.*
        from webhook_hosts h
       where h.account_id = ${accountId}
       order by h.last_at desc
       limit ${MAX_HOSTS}
    )
    select h.origin, h.health, h.p95_ms, h.last_ok_at,
           coalesce(t.ok, 0) as ok, coalesce(t.failed, 0) as failed,
           w.waiting, w.waiting = s.share as is_more
      from hosts h
     cross join (select ${maxCounted}::integer / nullif(count(*), 0) as share from hosts) s
     cross join lateral (
        select count(*) as waiting
          from (select from webhook_deliveries w
                 where w.host_key = h.host_key and w.account_id = h.account_id
                 limit s.share) w
      ) w
      left join lateral (
        select sum(t.ok) as ok, sum(t.failed) as failed
          from webhook_host_hours t
         where t.account_id = h.account_id and t.host_key = h.host_key
           and t.hour > clock_timestamp() - interval '24 hours'
      ) t on true
     order by h.last_at desc`);
}

const MAX_FAILING = 20;

/** Listed hosts with waiting deliveries that fail now, or failed more often than not in a day. */
export function listFailingHosts(db: Queryable, accountId: string): Promise<{ origin: string }[]> {
  return db.query<{ origin: string }>(sql`
    select h.origin
      from (select * from webhook_hosts
             where account_id = ${accountId} order by last_at desc limit ${MAX_HOSTS}) h
     where (h.health in ('failing', 'open')
            or (select sum(t.failed) > sum(t.ok)
                  from webhook_host_hours t
                 where t.account_id = h.account_id and t.host_key = h.host_key
                   and t.hour > clock_timestamp() - interval '24 hours'))
       and exists (select from webhook_deliveries w
                    where w.host_key = h.host_key and w.account_id = h.account_id)
     order by h.last_at desc
     limit ${MAX_FAILING}`);
}

/**
 * Forgets hours older than a day, and hosts that nothing was sent to for as long as attempts are
 * kept, a page at a time; returns how many.
 */
export async function sweepHosts(db: Queryable, keepDays: number): Promise<number> {
  const hours = await deletePage(
    db,
    sql`from webhook_host_hours`,
    sql`hour < clock_timestamp() - interval '25 hours'`,
  );
  const hosts = await deletePage(
    db,
    sql`from webhook_hosts`,
    sql`last_at < clock_timestamp() - make_interval(days => ${keepDays})`,
  );
  return hours + hosts;
}
