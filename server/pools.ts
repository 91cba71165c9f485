import { type Log, type Metrics, openDatabase } from "#platform";

/**
 * The connections of one node, apart by work, so that none of it waits for another's: what every
 * request passes through has few of its own, with plans that are made once. So has who sends: leases
 * that are not renewed in time are lost to others, and binds with them.
 */
export function openPools(given: { url: string; log: Log; metrics: Metrics }) {
  const own = (work: string, maxConnections: number) =>
    openDatabase({
      ...given,
      maxConnections,
      genericPlans: true,
      applicationName: `posthorn ${work}`,
    });
  const pools = {
    db: openDatabase({ ...given, maxConnections: 10 }),
    sendDb: openDatabase({ ...given, maxConnections: 4, applicationName: "posthorn send" }),
    acceptDb: own("accept", 3),
    recordDb: own("record", 2),
    deliverDb: own("deliver", 4),
    // Few, so that people who read much at once take nothing from clients of the API.
    consoleDb: openDatabase({
      ...given,
      maxConnections: 5,
      applicationName: "posthorn console",
    }),
  };
  return {
    ...pools,
    async close(): Promise<void> {
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
    },
  };
}
