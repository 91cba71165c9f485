import { type Database, LEASE_MS, sql } from "#platform";

/** The binds of a carrier, as far as this node has to do with them. */
export type Binds = {
  /** As many as the carrier allows, over all nodes. */
  most: number;
  /** Opens or closes links until there are so many. */
  hold(share: number): void;
  /** Opens at once what the carrier refused because others held too many. */
  tryAgain(): void;
  /** Whether a link that is no longer held has yet to end. */
  isClosing(): boolean;
};

type Lease = { carrierId: string; nodeId: string };

/**
 * Takes this node's share of the binds of a carrier: every nth of them for n nodes. Never more are open
 * than the carrier allows: a bind is given back once its link has ended, and that of a dead node is free
 * when its lease ends.
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
  // A link that is still closing counts with the carrier: until it has ended, none is opened in its place.
  if (binds.isClosing()) return;
  // The carrier may allow fewer than when they were leased.
  const allowed = leased.filter((slot) => slot < binds.most);
  binds.hold(Math.min(allowed.length, wanted.length));
  if (binds.isClosing()) return;
  // One bind is as good as another: one that others want is kept until one of our own is free.
  const surplus = Math.max(0, allowed.length - wanted.length);
  const spare = allowed.filter((slot) => !wanted.includes(slot)).slice(0, surplus);
  const beyond = leased.filter((slot) => slot >= binds.most);
  await giveBack(db, { carrierId, nodeId }, [...spare, ...beyond]);
}

/** Who holds most comes first, and has what cannot be divided: a bind moves only to make shares more equal. */
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

/** Renews all that this node holds, and takes those of the wanted that are free; answers which it has. */
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
