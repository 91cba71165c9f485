import { type Database, LEASE_MS, type Loop, type Queryable, sql } from "#platform";

export type NodeInfo = {
  nodeId: string;
  roles: string[];
  host: string;
  pid: number;
  version: string;
  startedAt: Date;
};

/** Records that this node is alive; returns the ids of all living senders, in order. */
export async function heartbeat(
  db: Database,
  { nodeId, roles, host, pid, version, startedAt }: NodeInfo,
): Promise<string[]> {
  await db.query(sql`
    insert into nodes (node_id, roles, host, pid, version, started_at, heard_at)
    values (${nodeId}, ${roles}, ${host}, ${pid}, ${version}, ${startedAt}, clock_timestamp())
        on conflict (node_id) do update set heard_at = clock_timestamp()`);
  return (await livingSenders(db)).map(({ node_id }) => node_id);
}

export const HEARTBEAT_MS = 3_000;

/** For a node that hands nothing over. The fleet of a sender sends the heartbeat itself. */
export function presence(db: Database, node: NodeInfo) {
  const loop: Loop = {
    name: "say that this node lives",
    idleMs: HEARTBEAT_MS,
    async pass() {
      await heartbeat(db, node);
    },
  };
  return { loop, signOff: () => signOff(db, node.nodeId) };
}

export type LivingNode = { node_id: string; host: string; pid: number; version: string };

/** Whether a row of `nodes` is of a living node that hands messages over. */
export const isLivingSender = sql`
  (heard_at > clock_timestamp() - make_interval(secs => ${LEASE_MS / 1000}) and 'sender' = any (roles))`;

/** The nodes that hand messages over, in order of their ids. */
export function livingSenders(db: Queryable): Promise<LivingNode[]> {
  return db.query<LivingNode>(sql`
    select node_id, host, pid, version
      from nodes
     where ${isLivingSender}
     order by node_id`);
}

export type NodeRow = {
  node_id: string;
  roles: string[];
  host: string;
  version: string;
  started_at: Date;
  heard_at: Date;
  is_gone: boolean;
};

/** All nodes heard of within a day, the oldest first. */
export function listNodes(db: Queryable): Promise<NodeRow[]> {
  return db.query<NodeRow>(sql`
    select node_id, roles, host, version, started_at, heard_at,
           heard_at < clock_timestamp() - make_interval(secs => ${LEASE_MS / 1000}) as is_gone
      from nodes
     order by node_id
     limit 1000`);
}

export async function signOff(db: Database, nodeId: string): Promise<void> {
  await db.query(sql`delete from nodes where node_id = ${nodeId}`);
  await db.query(sql`delete from bind_leases where node_id = ${nodeId}`);
  await db.query(sql`delete from carrier_states where node_id = ${nodeId}`);
}

/**
 * For a service that has its database to itself: every node on record was killed, and there is no
 * need to wait for the binds it held.
 */
export async function forgetKilledNodes(db: Database): Promise<void> {
  await db.query(sql`delete from nodes`);
  await db.query(sql`delete from bind_leases`);
  await db.query(sql`delete from carrier_states`);
}

/** Forgets nodes that are long gone, with what they reported. */
export async function forgetNodes(db: Database): Promise<void> {
  await db.query(sql`delete from nodes where heard_at < clock_timestamp() - interval '1 day'`);
  await db.query(
    sql`delete from carrier_states where at < clock_timestamp() - interval '1 minute'`,
  );
}
