import { hash } from "node:crypto";
import { once } from "node:events";
import pg from "pg";
import { arrayText } from "./array-text.ts";
import { systemClock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { type PoolMeter, poolMeter } from "./pool-metrics.ts";
import { type Primary, seekPrimary } from "./primary.ts";
import { sessionOptions } from "./session.ts";
import type { Sql } from "./sql.ts";
import { readTimestamp } from "./timestamp.ts";
import {
  type AbsenceTeller,
  absenceTeller,
  asUnavailable,
  type Backend,
  DatabaseUnavailable,
  isDemoted,
  isRolledBack,
  isServerError,
  isServerFull,
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

export type DatabaseOptions = {
  url: string;
  log: Log;
  metrics?: Metrics;
  maxConnections: number;
  applicationName?: string;
  /**
   * For connections that run few, hot, prepared statements: never plan one again, and so never by the
   * size that a table has just now. Rows are looked up by an index, one after the other.
   */
  genericPlans?: boolean;
  /** A standby is refused though the address names no other host: who only reads may do so from one. */
  primaryOnly?: boolean;
  /** 0 switches it off, for audits and migrations. */
  statementTimeoutMs?: number;
};

/** How long a caller waits for a free connection before it is told that there is none, unless the address says so. */
const CONNECT_TIMEOUT_MS = 2_000;
/** The server ends a statement by itself; one that is silent for this much longer is cut off from us. */
const SILENCE_MS = 2_000;
/** For so long nobody asks a server for more connections that had none left. */
const FULL_MS = 1_000;

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
  // One that breaks while it is lent out fails the statements on it; here too, silence would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  const open = new Set<pg.PoolClient>();
  pool.on("connect", (client) => {
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

type Source = {
  pool: pg.Pool;
  /** Its connections, and how many it may have. */
  open: ReadonlySet<pg.PoolClient>;
  most: number;
  primary: Primary;
  meter: PoolMeter;
  absence: AbsenceTeller;
};

async function onConnection<Result>(
  source: Source,
  work: (client: pg.PoolClient) => Promise<Result>,
) {
  const { primary, meter } = source;
  meter.asked();
  const client = await connect(source);
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

/** Tries each host once, so that a dead one among them is nobody's refusal. */
async function connect(source: Source): Promise<pg.PoolClient> {
  const { pool, primary, meter, absence } = source;
  const refusals: string[] = [];
  for (let hosts = 1; ; hosts += 1) {
    const tried = primary.position();
    try {
      const client = await takeOrShare(source);
      absence.reached();
      return client;
    } catch (error) {
      meter.failed("connect");
      const unavailable = unreachable(error);
      // Closed on purpose: that says nothing about the host, and nobody need be told.
      if (pool.ending) unavailable.isTold = true;
      if (pool.ending || isPoolBusy(error)) throw unavailable;
      primary.advance(tried);
      refusals.push(primary.refusal(tried, unavailable));
      if (hosts < primary.count) continue;
      const { cause } = unavailable;
      const noneThere = new DatabaseUnavailable(refusals.join("; "), { cause });
      absence.failed(noneThere);
      throw noneThere;
    }
  }
}

/** Where others have all that the server can give, waits for a connection of our own. */
async function takeOrShare(source: Source): Promise<pg.PoolClient> {
  const { pool, open } = source;
  const sharesUntilMs = systemClock.monotonicMs() + CONNECT_TIMEOUT_MS;
  for (;;) {
    try {
      return await pool.connect();
    } catch (error) {
      const mayShare = open.size > 0 && systemClock.monotonicMs() < sharesUntilMs;
      if (!mayShare || !isServerFull(unreachable(error))) throw error;
      shareOpen(source);
    }
  }
}

/** For a while the pool asks for no more than it has. */
function shareOpen({ pool, open, most }: Source): void {
  pool.options.max = open.size;
  systemClock.timer(FULL_MS, () => (pool.options.max = most));
}

/** Whatever it was, a wrong password included: nothing was sent, and it may be asked again. */
function unreachable(error: unknown): DatabaseUnavailable {
  // The driver speaks of a connection that could not be made, which would send people to the network.
  if (isPoolBusy(error))
    return new DatabaseUnavailable("no database connection was free in time", { cause: error });
  return asUnavailable(error) ?? new DatabaseUnavailable(String(error), { cause: error });
}

/** All connections were lent out for too long: that says nothing about the host. */
function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
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
    await client.query("commit");
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

const GENERIC_PLANS = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  // What is hot is in memory, whatever disk the server reckons with.
  "random_page_cost=1.1",
];

function poolConfig(options: DatabaseOptions): pg.PoolConfig {
  const { url, maxConnections, applicationName = "posthorn", statementTimeoutMs = 5_000 } = options;
  return {
    connectionString: url,
    max: maxConnections,
    // Kept: others might have the server's last one when it is needed again.
    min: 1,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutOf(url) ?? CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementTimeoutMs,
    ...(statementTimeoutMs === 0 ? {} : { query_timeout: statementTimeoutMs + SILENCE_MS }),
    lock_timeout: statementTimeoutMs === 0 ? 0 : 2_000,
    idle_in_transaction_session_timeout: 10_000,
    options: sessionOptions(options.genericPlans ? GENERIC_PLANS : []),
    types: { getTypeParser },
  };
}

/** Seconds, as every client of PostgreSQL reads them; the driver does not. */
function connectTimeoutOf(url: string): number | undefined {
  const seconds = /[?&]connect_timeout=([1-9]\d{0,3})(?:&|$)/.exec(url)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

const { INT8, NUMERIC, TIMESTAMPTZ } = pg.types.builtins;

/** Counts and credits stay below 2^53 by their constraints, so they are plain numbers here. */
const getTypeParser = ((oid: Parameters<typeof pg.types.getTypeParser>[0], format: "text") => {
  if (oid === INT8 || oid === NUMERIC) return Number;
  const parse = pg.types.getTypeParser(oid, format) as (text: string) => unknown;
  return oid === TIMESTAMPTZ ? (text: string) => readTimestamp(text) ?? parse(text) : parse;
}) as typeof pg.types.getTypeParser;
