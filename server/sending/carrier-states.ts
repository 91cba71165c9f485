import type { CarrierCounts, CarrierState, LinkState } from "#carriers";
import { type Queryable, sql } from "#platform";
import type { CarrierRow } from "./carriers-table.ts";
import { countNotHeldBack } from "./held-back.ts";
import type { CarrierHour } from "./last-hour.ts";

/** What a node reports about a carrier. */
export type ReportedState = CarrierState & {
  lastHour: CarrierHour;
  /** Why the node cannot start it, if it cannot. */
  problem?: string;
  /** The version of its row as of which it is paused, once the node holds none of its messages. */
  heldAt?: number | null;
};

/** Reports are stored as JSON, so their times are strings. */
type SeenLink = Omit<LinkState, "since" | "enquireLinkAt"> & {
  since: string;
  enquireLinkAt: string | null;
};

/**
 * A carrier as all nodes together see it; `unknown` if none has reported lately. While it is
 * `pausing`, a node that has not heard of the pause may still take up messages for it.
 */
export type SeenCarrier = {
  state: "up" | "degraded" | "down" | "pausing" | "paused" | "unknown";
  links: SeenLink[];
  /** Why links are not bound, or why there are none, in the carrier's words or ours. */
  problems: string[];
  /** Counts of the last hour, summed over the nodes that report. */
  lastHour: CarrierHour;
  /** Counts since each reporting node started the carrier, summed. */
  sinceStart: Pick<CarrierCounts, "inDoubt" | "reconnects" | "throttled">;
  /** When a node last reported on it. */
  seenAt: Date | null;
};

/** Nodes report every 2 seconds; this tolerates a few late reports. */
const REPORT_FRESH_MS = 10_000;
const isFresh = sql`at > clock_timestamp() - make_interval(secs => ${REPORT_FRESH_MS / 1000})`;

type Report = {
  carrier_id: string;
  state: Omit<ReportedState, "links"> & { links: SeenLink[] };
  at: Date;
};

/** The states of the given carriers, by carrier id. */
export async function readCarrierStates(
  db: Queryable,
  carriers: readonly Pick<CarrierRow, "carrier_id" | "paused">[],
): Promise<Map<string, SeenCarrier>> {
  const rows = await db.query<Report>(sql`
    select carrier_id, state, at
      from carrier_states
     where carrier_id = any (${carriers.map(({ carrier_id }) => carrier_id)}::uuid[]) and ${isFresh}
     order by node_id`);
  const reports = Map.groupBy(rows, ({ carrier_id }) => carrier_id);
  const isPaused = carriers.filter(({ paused }) => paused).map(({ carrier_id }) => carrier_id);
  const missing = await countNotHeldBack(db, isPaused);
  return new Map(
    carriers.map(({ carrier_id, paused }) => {
      const own = reports.get(carrier_id) ?? [];
      const states = own.map(({ state }) => state);
      const seen = { ...together(states), ...countsOf(own) };
      const pause = missing.has(carrier_id) ? "pausing" : "paused";
      return [carrier_id, paused ? { ...seen, state: pause } : seen];
    }),
  );
}

/** Which of the given carriers take no messages now, and why. */
export async function findCarriersAway(
  db: Queryable,
  carrierIds: readonly string[],
): Promise<Map<string, "down" | "paused">> {
  if (carrierIds.length === 0) return new Map();
  const carriers = await db.query<Pick<CarrierRow, "carrier_id" | "paused">>(sql`
    select carrier_id, paused from carriers where carrier_id = any (${carrierIds}::uuid[])`);
  const states = await readCarrierStates(db, carriers);
  return new Map(
    [...states].flatMap(([carrierId, { state }]) =>
      state === "down" || state === "paused" ? [[carrierId, state]] : [],
    ),
  );
}

/** Whether a node reported lately that it is bound to the carrier. */
export async function isBoundNow(
  db: Queryable,
  carrier: Pick<CarrierRow, "carrier_id" | "paused">,
): Promise<boolean> {
  const seen = (await readCarrierStates(db, [carrier])).get(carrier.carrier_id);
  return seen?.links.some(({ state }) => state === "bound" || state === "throttled") ?? false;
}

/** A node with neither links nor a problem has no share of the binds: its state does not count. */
function together(reports: Report["state"][]): Pick<SeenCarrier, "state" | "links" | "problems"> {
  const links = reports.flatMap((report) => report.links);
  const ofNodes = reports.flatMap(({ problem }) => problem ?? []);
  const problems = [...new Set([...ofNodes, ...linkProblems(links)])];
  const telling = reports.filter((report) => report.links.length > 0 || report.problem);
  const states = new Set(telling.map(({ state }) => state));
  if (reports.length === 0) return { state: "unknown", links, problems };
  if (states.size === 0) return { state: "down", links, problems };
  if (states.size > 1) return { state: "degraded", links, problems };
  return { state: [...states][0] ?? "down", links, problems };
}

/** A problem that only the transmitters or only the receivers have is prefixed with their name. */
function linkProblems(links: SeenLink[]): string[] {
  const kinds = new Set(links.map(({ bind }) => bind));
  const byProblem = Map.groupBy(links, ({ problem }) => problem);
  return [...byProblem].flatMap(([problem, having]) => {
    if (problem === null) return [];
    const binds = new Set(having.map(({ bind }) => bind));
    return binds.size === kinds.size ? problem : `${[...binds].join(" and ")}: ${problem}`;
  });
}

function countsOf(reports: Report[]): Pick<SeenCarrier, "lastHour" | "sinceStart" | "seenAt"> {
  const refusals: Record<string, number> = {};
  let lateReceipts = 0;
  let since: string | null = null;
  const sinceStart = { inDoubt: 0, reconnects: 0, throttled: 0 };
  for (const { lastHour, counts } of reports.map(({ state }) => state)) {
    lateReceipts += lastHour.lateReceipts;
    // Of the node that started last: earlier counts may be missing. Both are ISO 8601 in UTC.
    if (lastHour.since !== null && lastHour.since > (since ?? "")) since = lastHour.since;
    sinceStart.inDoubt += counts.inDoubt;
    sinceStart.reconnects += counts.reconnects;
    sinceStart.throttled += counts.throttled;
    for (const [code, count] of Object.entries(lastHour.refusals))
      refusals[code] = (refusals[code] ?? 0) + count;
  }
  const times = reports.map(({ at }) => at.getTime());
  return {
    lastHour: { since, refusals, lateReceipts },
    sinceStart,
    seenAt: times.length === 0 ? null : new Date(Math.max(...times)),
  };
}

/** The carriers to which another node lately reported that it can hand messages. */
export async function carriersUpElsewhere(db: Queryable, nodeId: string): Promise<Set<string>> {
  const rows = await db.query<{ carrier_id: string }>(sql`
    select distinct carrier_id
      from carrier_states
     where node_id <> ${nodeId} and state ->> 'takesMessages' = 'true' and ${isFresh}`);
  return new Set(rows.map(({ carrier_id }) => carrier_id));
}

/** Stores this node's reports on its carriers. */
export async function reportStates(
  db: Queryable,
  nodeId: string,
  told: readonly { carrierId: string; state: ReportedState }[],
): Promise<void> {
  await db.query(sql`
    insert into carrier_states as c (carrier_id, node_id, state, at)
    select carrier_id, ${nodeId}, state, clock_timestamp()
      from unnest(${told.map(({ carrierId }) => carrierId)}::uuid[],
                  ${told.map(({ state }) => JSON.stringify(state))}::jsonb[]) as u (carrier_id, state)
        on conflict (carrier_id, node_id) do update set state = excluded.state, at = excluded.at`);
}
