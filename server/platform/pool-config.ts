import pg from "pg";
import { sessionOptions } from "./session.ts";
import { readTimestamp } from "./timestamp.ts";

export type PoolOptions = {
  url: string;
  maxConnections: number;
  applicationName?: string;
  /**
   * For connections that run few, hot, prepared statements: never plan one again, and so never by the
   * size that a table has just now. Rows are looked up by an index, one after the other.
   */
  genericPlans?: boolean;
  /** 0 switches it off, for audits and migrations. */
  statementTimeoutMs?: number;
};

/** How long a caller waits for a free connection before it is told that there is none, unless the address says so. */
export const CONNECT_TIMEOUT_MS = 2_000;
/** The server ends a statement by itself; one that is silent for this much longer is cut off from us. */
const SILENCE_MS = 2_000;

const GENERIC_PLANS = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  // What is hot is in memory, whatever disk the server reckons with.
  "random_page_cost=1.1",
];

export function poolConfig(options: PoolOptions): pg.PoolConfig {
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
