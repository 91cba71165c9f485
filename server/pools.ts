import { type Database, type Log, type Metrics, openDatabase, sql } from "#platform";

/** Connections per node for each kind of work. `doctor` and docs/operating.md state their sum. */
export const CONNECTIONS = { db: 10, send: 4, accept: 3, record: 2, deliver: 4, console: 5 };

/**
 * The connections of one node, in a pool per kind of work, so that no work waits for another's.
 * What every message passes through has few, with generic plans. So has sending: leases not renewed
 * in time, however busy the other pools are, are lost to other nodes, and binds with them.
 */
export function openPools(given: { url: string; log: Log; metrics: Metrics }) {
  const open = (work: keyof typeof CONNECTIONS, genericPlans = false) =>
    openDatabase({
      ...given,
      genericPlans,
      primaryOnly: true,
      maxConnections: CONNECTIONS[work],
      ...(work === "db" ? {} : { applicationName: `posthorn ${work}` }),
    });
  const pools = {
    db: open("db"),
    sendDb: open("send", true),
    acceptDb: open("accept", true),
    recordDb: open("record", true),
    deliverDb: open("deliver", true),
    // A small pool, so that people who read a lot at once take nothing from clients of the API.
    consoleDb: open("console"),
  };
  return {
    ...pools,
    /** Keeps one connection per pool: a node that cannot get enough must never look ready. */
    async open(): Promise<void> {
      await Promise.all(Object.values(pools).map(firstConnection));
    },
    async close(): Promise<void> {
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
    },
  };
}

/** On a machine that is busy at startup, connecting may take longer than a request would wait. */
const TRIES = 10;

async function firstConnection(pool: Database): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      await pool.query(sql`select 1`);
      return;
    } catch (error) {
      if (tried === TRIES) throw error;
    }
  }
}
