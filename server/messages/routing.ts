import { queueFull } from "#http/problem";
import { batcher, type Database, type Queryable, sql, type Transaction } from "#platform";

/** Which carriers serve a number and what a segment costs, at one version of the tables. */
export type Routing = {
  version: number;
  /** In order of preference; undefined if no route matches. */
  carriersFor(recipient: string): readonly string[] | undefined;
  /** Credits per segment. */
  priceFor(recipient: string): number;
};

export type RoutingTable = ReturnType<typeof routingTable>;

/** Applies if no prefix has a price. */
export const DEFAULT_PRICE = 1;

/** The most requests that may wait for the tables at once. */
const MAX_WAITING = 10_000;

/**
 * The node's copy of the routing tables. It may be outdated: the statement that accepts a message
 * compares the version, and a message priced by an old copy is priced again. A reload never joins
 * one that is already running, so it returns tables read after it was asked for.
 */
export function routingTable(db: Database) {
  let current: Routing | undefined;

  const reload = batcher<undefined, Routing>({
    async run(asked) {
      const loaded = await loadRouting(db);
      current = loaded;
      return asked.map(() => loaded);
    },
    whenFull() {
      throw queueFull();
    },
    maxItems: MAX_WAITING,
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
  });

  return {
    current: async () => current ?? (await reload(undefined)),
    reload: async () => reload(undefined),
  };
}

const LOST_ROW = "The table routing_version has lost its row.";

/** Rises with every change of a route, a price or a carrier. */
export async function routingVersion(db: Queryable): Promise<number> {
  const [current] = await db.query<{ version: number }>(sql`select version from routing_version`);
  if (!current) throw new Error(LOST_ROW);
  return current.version;
}

/** The same, and keeps everybody else from changing routes or prices until the transaction ends. */
export async function lockRouting(tx: Transaction): Promise<number> {
  const [current] = await tx.query<{ version: number }>(sql`
    select version from routing_version for update`);
  if (!current) throw new Error(LOST_ROW);
  return current.version;
}

type Loaded = { version: number; routes: Record<string, string[]>; prices: Record<string, number> };

/** One statement, so that version, routes and prices are from the same moment. */
export async function loadRouting(db: Queryable): Promise<Routing> {
  const [loaded] = await db.query<Loaded>(sql`
    select v.version,
           coalesce((select jsonb_object_agg(r.prefix, r.carrier_ids) from routes r), '{}') as routes,
           coalesce((select jsonb_object_agg(p.prefix, p.credits) from prices p), '{}') as prices
      from routing_version v`);
  if (!loaded) throw new Error(LOST_ROW);
  const routes = longestPrefix(loaded.routes);
  const prices = longestPrefix(loaded.prices);
  return {
    version: loaded.version,
    carriersFor: routes,
    priceFor: (recipient) => prices(recipient) ?? DEFAULT_PRICE,
  };
}

/** Looks up the value of the longest prefix that matches a number. */
export function longestPrefix<Value>(
  table: Record<string, Value>,
): (digits: string) => Value | undefined {
  const values = new Map(Object.entries(table));
  const lengths = [...new Set([...values.keys()].map((prefix) => prefix.length))].toSorted(
    (a, b) => b - a,
  );
  return (digits) => {
    for (const length of lengths) {
      const value = values.get(digits.slice(0, length));
      if (value !== undefined) return value;
    }
    return undefined;
  };
}
