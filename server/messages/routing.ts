import { batcher, type Database, DatabaseUnavailable, type Queryable, sql } from "#platform";

/** Which carriers serve a number and what a segment costs, as of one version of the tables. */
export type Routing = {
  version: number;
  /** In order of preference; undefined where no route matches. */
  carriersFor(recipient: string): readonly string[] | undefined;
  /** Credits per segment. */
  priceFor(recipient: string): number;
};

const DEFAULT_PRICE = 1;

/** Requests that may wait for the tables at once. */
const MAX_WAITING = 10_000;

/**
 * The node's copy of the routing tables. It may be old: the statement that accepts a message
 * compares the version, and one priced by an old copy is priced again. Whoever asks for a reload gets
 * tables read after the question: it never joins one that is under way.
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
      throw new DatabaseUnavailable("More requests wait for the routing tables than can be held.");
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

type Loaded = { version: number; routes: Record<string, string[]>; prices: Record<string, number> };

/** One statement, so that version, routes and prices are of the same moment. */
export async function loadRouting(db: Queryable): Promise<Routing> {
  const [loaded] = await db.query<Loaded>(sql`
    select v.version,
           coalesce((select jsonb_object_agg(r.prefix, r.carrier_ids) from routes r), '{}') as routes,
           coalesce((select jsonb_object_agg(p.prefix, p.credits) from prices p), '{}') as prices
      from routing_version v`);
  if (!loaded) throw new Error("The table routing_version has lost its row.");
  const routes = longestPrefix(loaded.routes);
  const prices = longestPrefix(loaded.prices);
  return {
    version: loaded.version,
    carriersFor: routes,
    priceFor: (recipient) => prices(recipient) ?? DEFAULT_PRICE,
  };
}

/** Looks up the value of the longest prefix that a number has. */
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
