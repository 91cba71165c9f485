import { hash } from "node:crypto";
import { once } from "node:events";
import pg from "pg";
import { arrayParameter } from "./array-parameter.ts";
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
  isRolledBack,
  isServerError,
} from "./unavailable.ts";

export type Queryable = {
  /** A notice that the statement raises is heard at once, its rows only when it is committed. */
  query<Row extends object>(statement: Sql, onNotice?: () => void): Promise<Row[]>;
};

/** Proof that the statements share a transaction, whose extent the caller of `transaction` sets. */
export type Transaction = Queryable & {
  readonly inTransaction: true;
  /** Runs once the transaction is known to be committed, and never otherwise. */
  afterCommit(run: () => void): void;
  /** Runs if the transaction was rolled back, or if its outcome is unknown. */
  afterFailure(run: () => void): void;
};

/** Proof that the statements only read, and all see what was committed before the first of them. */
export type Snapshot = Transaction & { readonly isSnapshot: true };

export type Database = Queryable & {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  snapshot<Result>(work: (snapshot: Snapshot) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
};

export type DatabaseOptions = PoolOptions & {
  log: Log;
  metrics?: Metrics;
  /** Refuses a standby even if the address names one host. For reading, a standby would do. */
  primaryOnly?: boolean;
};

export function openDatabase(options: DatabaseOptions): Database {
  const primary = seekPrimary(options.url);
  const primaryOnly = options.primaryOnly || primary.count > 1;
  const pool = new pg.Pool({
    ...poolConfig(options),
    Client: primary.Client,
    // The pool does wait for this promise, although its types do not say so.
    onConnect: ((client: pg.ClientBase) => greet(client, { primaryOnly })) as unknown as () => void,
  });
  // The pool replaces a broken idle connection; without a listener it would end the process. Only
  // its message is logged: the error holds the client. Closing the pool breaks them all on purpose.
  pool.on("error", ({ message }) => {
    if (!pool.ending) options.log.warn({ reason: message }, "an idle database connection was lost");
  });
  const open = new Set<pg.PoolClient>();
  pool.on("connect", (client) => {
    // If it breaks in use, its statements fail. An unheard error would end the process here too.
    client.on("error", () => {});
    open.add(client);
    client.once("end", () => open.delete(client));
  });
  const name = options.applicationName ?? "posthorn";
  const meter = poolMeter(options.metrics, name, pool);
  const absence = absenceTeller(options.log, name);
  const source = { pool, open, most: options.maxConnections, primary, meter, absence };
  return {
    query: (statement, onNotice) =>
      onConnection(source, (client) => run(client, statement, onNotice)),
    transaction: (work) =>
      onConnection(source, (client) => inTransaction(client, "begin", work, options.log)),
    snapshot: (work) =>
      onConnection(source, (client) => {
        const within = (tx: Transaction) => work({ ...tx, isSnapshot: true });
        return inTransaction(client, BEGIN_SNAPSHOT, within, options.log);
      }),
    async close() {
      await pool.end();
      await Promise.all([...open].map(hasLeft));
    },
  };
}

/** A server that stops next would cut off connections that are still open, and log complaints. */
const FAREWELL_MS = 1_000;

/**
 * The pool says goodbye to the server without waiting for it to close the connection. A server that
 * hangs never closes it, and the connection would keep the process from ending.
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
  // Asked now, because after the connection broke it is too late. A session always sees itself.
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
  const { meter } = source;
  meter.asked();
  const client = await takeConnection(source);
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
    throw unavailable ?? error;
  } finally {
    client.release(broken);
  }
}

const BEGIN_SNAPSHOT = "begin isolation level repeatable read, read only";

async function inTransaction<Result>(
  client: pg.PoolClient,
  begin: string,
  work: (tx: Transaction) => Promise<Result>,
  log: Log,
): Promise<Result> {
  await client.query(begin);
  const listeners: (() => void)[] = [];
  const failureListeners: (() => void)[] = [];
  let result: Result;
  let isCommitting = false;
  try {
    result = await work({
      inTransaction: true,
      query: (statement, onNotice) => run(client, statement, onNotice),
      afterCommit: (listener) => void listeners.push(listener),
      afterFailure: (listener) => void failureListeners.push(listener),
    });
    isCommitting = true;
    const { command } = await client.query("commit");
    // If a statement failed and its error was ignored, the server rolls back instead.
    if (command !== "COMMIT")
      throw new Error("The transaction was rolled back: a statement failed.");
  } catch (error) {
    // A lost connection rolls back by itself. Asking for it would only mean another wait.
    const lost = asUnavailable(error);
    if (!lost || isServerError(lost.cause)) await client.query("rollback").catch(() => undefined);
    else lost.isCommitUnknown = isCommitting;
    tell(failureListeners, log);
    throw lost ?? error;
  }
  tell(listeners, log);
  return result;
}

/** The outcome stands, even if a listener fails. */
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
  { text, values, parts }: Sql,
  onNotice?: () => void,
): Promise<Row[]> {
  const sent = values.map((value, n) =>
    Array.isArray(value) ? arrayParameter(value, parts[n + 1] ?? "") : value,
  );
  if (onNotice) client.on("notice", onNotice);
  try {
    const result = await client.query<Row>({ name: statementName(text), text, values: sent });
    return result.rows;
  } finally {
    if (onNotice) client.off("notice", onNotice);
  }
}

const names = new Map<string, string>();

/** Each statement is prepared once per connection: planning every time nearly doubles its cost. */
function statementName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = hash("sha256", text, "base64url").slice(0, 24);
    names.set(text, name);
  }
  return name;
}
