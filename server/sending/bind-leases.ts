import { type Database, LEASE_MS, sql } from "#platform";

/** What this node needs to manage its binds to a carrier. */
export type Binds = {
  /** How many the carrier allows, over all nodes. */
  most: number;
  /** Opens or closes links until exactly this many are held. */
  hold(share: number): void;
  /** Opens at once the links that the carrier refused because other nodes held too many. */
  tryAgain(): void;
  /** Whether a link that is no longer held is still closing. */
  isClosing(): boolean;
};

type Lease = { carrierId: string; nodeId: string };

/**
 * Takes this node's share of a carrier's binds: every nth of them for n nodes. There are never more
 * open than the carrier allows: a bind is given back only once its link has ended, and the bind of
 * a dead node becomes free when its lease ends.
 */
export async function shareBinds(
  db: Database,
  { carrierId, nodeId, nodes }: Lease & { nodes: string[] },
  binds: Binds,
): Promise<void> {
  const ranked = await byHolding(db, { carrierId, nodes, most: binds.most });
  const position = Math.max(0, ranked.indexOf(nodeId));
  const wanted = Array.from({ length: binds.most }, (_, slot) => slot).filter(
    (slot) => slot % Math.max(1, ranked.length) === position,
  );
  const leased = await leaseBinds(db, { carrierId, nodeId }, wanted);
  // The carrier still counts a link that is closing, so none is opened before it has ended.
  if (binds.isClosing()) return;
  // The carrier may allow fewer binds now than when they were leased.
  const allowed = leased.filter((slot) => slot < binds.most);
  binds.hold(Math.min(allowed.length, wanted.length));
  if (binds.isClosing()) return;
  // All binds are equal: one that other nodes want is kept until one of this node's own is free.
  const surplus = Math.max(0, allowed.length - wanted.length);
  const spare = allowed.filter((slot) => !wanted.includes(slot)).slice(0, surplus);
  const beyond = leased.filter((slot) => slot >= binds.most);
  await giveBack(db, { carrierId, nodeId }, [...spare, ...beyond]);
}

/** The largest holder comes first and gets the remainder: binds move only to even out shares. */
async function byHolding(
  db: Database,
  { carrierId, nodes, most }: { carrierId: string; nodes: string[]; most: number },
): Promise<string[]> {
  const holders = await db.query<{ node_id: string }>(sql`
    select node_id from bind_leases
     where carrier_id = ${carrierId} and slot < ${most}
       and node_id = any (${nodes}::uuid[]) and leased_until > clock_timestamp()
     group by node_id
     order by count(*) desc, node_id`);
  return [...new Set([...holders.map(({ node_id }) => node_id), ...nodes])];
}

/** Renews this node's leases and takes the wanted slots that are free. Returns what it holds. */
export async function leaseBinds(
  db: Database,
  { carrierId, nodeId }: Lease,
  wanted: number[],
): Promise<number[]> {
  const leased = await db.query<{ slot: number }>(sql`
    insert into bind_leases as b (carrier_id, slot, node_id, leased_until)
    select ${carrierId}, slot, ${nodeId}, clock_timestamp() + make_interval(secs => ${LEASE_MS / 1000})
      from (
        select unnest(${wanted}::smallint[]) as slot
         union
        select slot from bind_leases where carrier_id = ${carrierId} and node_id = ${nodeId}
      ) as s
     order by slot
        on conflict (carrier_id, slot) do update
       set node_id = excluded.node_id, leased_until = excluded.leased_until
     where b.node_id = excluded.node_id or b.leased_until < clock_timestamp()
    returning slot`);
  return leased.map(({ slot }) => slot);
}

async function giveBack(
  db: Database,
  { carrierId, nodeId }: Lease,
  slots: number[],
): Promise<void> {
  if (slots.length === 0) return;
  await db.query(sql`
    delete from bind_leases
     where carrier_id = ${carrierId} and node_id = ${nodeId} and slot = any (${slots}::smallint[])`);
}
