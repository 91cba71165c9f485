import type { CarrierState, LinkState } from "#carriers";
import { type Queryable, sql } from "#platform";
import type { CarrierRow } from "./carriers-table.ts";

/** A carrier as all nodes together see it; `unknown` where none has reported lately. */
export type SeenCarrier = {
  state: "up" | "degraded" | "down" | "paused" | "unknown";
  links: LinkState[];
  /** Why links are not bound, in the carrier's or our words. */
  problems: string[];
};

/** Nodes report every 2 seconds; this leaves room for a few that were late. */
const FRESH_MS = 10_000;

/** By carrier id, of the carriers given. */
export async function readCarrierStates(
  db: Queryable,
  carriers: readonly Pick<CarrierRow, "carrier_id" | "paused">[],
): Promise<Map<string, SeenCarrier>> {
  const rows = await db.query<{ carrier_id: string; state: CarrierState }>(sql`
    select carrier_id, state
      from carrier_states
     where carrier_id = any (${carriers.map(({ carrier_id }) => carrier_id)}::uuid[])
       and at > clock_timestamp() - make_interval(secs => ${FRESH_MS / 1000})
     order by node_id`);
  const reports = Map.groupBy(rows, ({ carrier_id }) => carrier_id);
  return new Map(
    carriers.map(({ carrier_id, paused }) => {
      const states = (reports.get(carrier_id) ?? []).map(({ state }) => state);
      return [carrier_id, together(states, paused)];
    }),
  );
}

/** A node that holds no bind of the carrier says nothing about it. */
function together(reports: CarrierState[], isPaused: boolean): SeenCarrier {
  const links = reports.flatMap((report) => report.links);
  const problems = [
    ...new Set(links.flatMap(({ problem }) => (problem === null ? [] : [problem]))),
  ];
  const states = new Set(
    reports.filter((report) => report.links.length > 0).map(({ state }) => state),
  );
  if (isPaused) return { state: "paused", links, problems };
  if (reports.length === 0) return { state: "unknown", links, problems };
  if (states.size === 0) return { state: "down", links, problems };
  if (states.size > 1) return { state: "degraded", links, problems };
  return { state: [...states][0] ?? "down", links, problems };
}
