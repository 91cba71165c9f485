import { hash } from "node:crypto";
import { once } from "node:events";
import pg from "pg";
import { arrayText } from "./array-text.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { poolConfig, type PoolOptions } from "./pool-config.ts";
import { poolMeter } from "./pool-metrics.ts";
import { seekPrimary } from "./primary.ts";
import type { Sql } from "./sql.ts";
import { type Source, takeConnection } from "./take-connection.ts";
import {
  absenceTeller,
  asUnavailable,
  type Backend,
  DatabaseUnavailable,
  isDemoted,
  isRolledBack,
  isServerError,
} from "./unavailable.ts";

export type Queryable = {
  query<Row extends object>(statement: Sql): Promise<Row[]>;
};

/** Proof that the statements run in one transaction; the caller of `transaction` draws its bounds. */
export type Transaction = Queryable & {
  readonly inTransaction: true;
  /** Runs once the transaction is known to be committed, and never otherwise. */
  afterCommit(run: () => void): void;
  /** Runs where it was rolled back, or nobody knows. */
  afterFailure(run: () => void): void;
};

export type Database = Queryable & {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
};

export type DatabaseOptions = PoolOptions & {
  log: Log;
  metrics?: Metrics;
  /** A standby is refused though the address names no other host: who only reads may do so from one. */
  primaryOnly?: boolean;
};

export function openDatabase(options: DatabaseOptions): Database {
  const primary = seekPrimary(options.url);
  const primaryOnly = options.primaryOnly || primary.count > 1;
  const pool = new pg.Pool({
    ...poolConfig(options),
    Client: primary.Client,
    // The pool waits for what this returns, though its types do not say so.
    onConnect: ((client: pg.ClientBase) => greet(client, { primaryOnly })) as unknown as () => void,
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  // Only its words are logged: the error carries the whole client. A closing pool loses them all, as asked.
  pool.on("error", ({ message }) => {
    if (!pool.ending) options.log.warn({ reason: message }, "an idle database connection was lost");
  });
  const open = new Set<pg.PoolClient>();
  pool.on("connect", (client) => {
    // One that breaks while it is lent out fails the statements on it; here too, silence would end the process.
    client.on("error", () => {});
    open.add(client);
    client.once("end", () => open.delete(client));
  });
  const name = options.applicationName ?? "posthorn";
  const meter = poolMeter(options.metrics, name, pool);
  const absence = absenceTeller(options.log, name);
  const source = { pool, open, most: options.maxConnections, primary, meter, absence };
  return {
    query: (statement) => onConnection(source, (client) => run(client, statement)),
    transaction: (work) =>
      onConnection(source, (client) => inTransaction(client, work, options.log)),
    async close() {
      await pool.end();
      await Promise.all([...open].map(hasLeft));
    },
  };
}

/** A server that stops next would cut off whoever has not left, and complain in its log. */
const FAREWELL_MS = 1_000;

/**
 * The pool takes leave of the server and does not wait until it has let go. One that hangs never does, and
 * its connection would keep the process from ending.
 */
async function hasLeft(client: pg.PoolClient): Promise<void> {
  const signal = AbortSignal.timeout(FAREWELL_MS);
  await once(client, "end", { signal }).catch(() => client.connection.stream.destroy());
}

const backends = new WeakMap<pg.ClientBase, Backend>();

async function greet(
  client: pg.ClientBase,
  { primaryOnly }: { primaryOnly: boolean },
): Promise<void> {
  // Asked now: when the connection breaks, it is too late. A session always finds itself.
  const { rows } = await client.query<Backend & { isStandby: boolean }>(
    `select pid, backend_start::text as "startedAt", pg_is_in_recovery() as "isStandby" from pg_stat_activity where pid = pg_backend_pid()`,
  );
  const [{ isStandby, ...backend }] = rows as [Backend & { isStandby: boolean }];
  if (isStandby && primaryOnly) throw new DatabaseUnavailable("this host is a standby");
  backends.set(client, backend);
}

async function onConnection<Result>(
  source: Source,
  work: (client: pg.PoolClient) => Promise<Result>,
) {
  const { primary, meter } = source;
  meter.asked();
  const client = await takeConnection(source);
  const tried = primary.position();
  let broken: Error | undefined;
  try {
    return await work(client);
  } catch (error) {
    const unavailable = asUnavailable(error);
    if (unavailable && !isRolledBack(unavailable)) {
      meter.failed("work");
      broken = unavailable;
    }
    if (unavailable && !isServerError(unavailable.cause))
      unavailable.unknownBackend = backends.get(client);
    if (unavailable && isDemoted(unavailable)) primary.advance(tried);
    throw unavailable ?? error;
  } finally {
    client.release(broken);
  }
}

async function inTransaction<Result>(
  client: pg.PoolClient,
  work: (tx: Transaction) => Promise<Result>,
  log: Log,
): Promise<Result> {
  await client.query("begin");
  const listeners: (() => void)[] = [];
  const failureListeners: (() => void)[] = [];
  let result: Result;
  let isCommitting = false;
  try {
    result = await work({
      inTransaction: true,
      query: (statement) => run(client, statement),
      afterCommit: (listener) => void listeners.push(listener),
      afterFailure: (listener) => void failureListeners.push(listener),
    });
    isCommitting = true;
    const { command } = await client.query("commit");
    // After a statement that failed, though somebody passed over it, the server does this instead.
    if (command !== "COMMIT")
      throw new Error("The transaction was rolled back: a statement failed.");
  } catch (error) {
    // A lost connection rolls back by itself, and asking it to would only wait once more.
    const lost = asUnavailable(error);
    if (!lost || isServerError(lost.cause)) await client.query("rollback").catch(() => undefined);
    else lost.isCommitUnknown = isCommitting;
    tell(failureListeners, log);
    throw lost ?? error;
  }
  tell(listeners, log);
  return result;
}

/** What is done is done, whatever becomes of those who hear of it. */
function tell(listeners: (() => void)[], log: Log): void {
  for (const listener of listeners) {
    try {
      listener();
    } catch (error) {
      log.error({ error }, "a listener to a transaction failed");
    }
  }
}

async function run<Row extends object>(
  client: pg.ClientBase,
  { text, values }: Sql,
): Promise<Row[]> {
  const sent = values.map((value) => (Array.isArray(value) ? arrayText(value) : value));
  const result = await client.query<Row>({ name: statementName(text), text, values: sent });
  return result.rows;
}

const names = new Map<string, string>();

/** Every text is prepared once per connection: planning it each time nearly doubles the cost. */
function statementName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = hash("sha256", text, "base64url").slice(0, 24);
    names.set(text, name);
  }
  return name;
}
