import { type Database, sql } from "#platform";

/** A lane with something due, and since when, for each kind. */
export type DueLane = { hostKey: bigint; firstAt: Date | null; againAt: Date | null };

export type Walk = {
  due: DueLane[];
  /** Where the next walk goes on; null if this one reached the end. */
  after: bigint | null;
};

/** The newest waiting replay in each of these lanes that has one. */
export async function findNewestReplays(
  db: Database,
  hostKeys: readonly bigint[],
): Promise<{ hostKey: bigint; replayId: string }[]> {
  const rows = await db.query<{ host_key: string; replay_id: string }>(sql`
    select host_key::text, replay_id from newest_replays(${hostKeys.map(String)}::bigint[])`);
  return rows.map(({ host_key, replay_id }) => ({
    hostKey: BigInt(host_key),
    replayId: replay_id,
  }));
}

export const BEFORE_ALL_LANES = -(2n ** 63n);

type Row = { host_key: string; n: number; first_at: Date | null; again_at: Date | null };

/** Looks at the next `most` lanes, due or not, so every lane is looked at before any is again. */
export async function walkLanes(db: Database, after: bigint, most: number): Promise<Walk> {
  const rows = await db.query<Row>(sql`
    select host_key::text, n, first_at, again_at from due_lanes(${after.toString()}, ${most})`);
  const lanes = rows.map(({ host_key, first_at, again_at }) => ({
    hostKey: BigInt(host_key),
    firstAt: first_at,
    againAt: again_at,
  }));
  const isEnd = Math.max(0, ...rows.map(({ n }) => n)) < most;
  return {
    due: lanes.filter(({ firstAt, againAt }) => firstAt !== null || againAt !== null),
    after: isEnd ? null : (lanes.at(-1)?.hostKey ?? null),
  };
}
