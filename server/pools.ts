import { type Database, type Log, type Metrics, openDatabase, sql } from "#platform";

/** Connections of one node, by their work. `doctor` and docs/operating.md tell the sum. */
export const CONNECTIONS = { db: 10, send: 4, accept: 3, record: 2, deliver: 4, console: 5 };

/**
 * The connections of one node, apart by work, so that none of it waits for another's: what every
 * request passes through has few of its own, with plans that are made once. So has who sends: leases
 * that are not renewed in time, whatever the queue was like before, are lost to others, and binds with them.
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
    // Few, so that people who read much at once take nothing from clients of the API.
    consoleDb: open("console"),
  };
  return {
    ...pools,
    /** One connection for each kind of work, which it keeps: a server without them would let a node look ready that is not. */
    async open(): Promise<void> {
      await Promise.all(Object.values(pools).map(firstConnection));
    },
    async close(): Promise<void> {
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
    },
  };
}

/** On a machine that does much else at its start, one may take longer than a request would wait for it. */
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
