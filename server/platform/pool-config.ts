import pg from "pg";
import { sessionOptions } from "./session.ts";
import { readTimestamp } from "./timestamp.ts";

export type PoolOptions = {
  url: string;
  maxConnections: number;
  applicationName?: string;
  /**
   * For connections that run a few hot prepared statements: they are never planned again, and so
   * never by the current size of a table. Rows are looked up by index, one at a time.
   */
  genericPlans?: boolean;
  /** 0 disables it, for audits and migrations. */
  statementTimeoutMs?: number;
};

/** How long to wait for a free connection, unless the address sets `connect_timeout`. */
export const CONNECT_TIMEOUT_MS = 2_000;
/** The server ends slow statements itself. If it stays silent this much longer, we disconnect. */
const SILENCE_MS = 2_000;

const GENERIC_PLANS = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  // Hot data is in memory, whatever kind of disk the server assumes.
  "random_page_cost=1.1",
];

export function poolConfig(options: PoolOptions): pg.PoolConfig {
  const { url, maxConnections, applicationName = "posthorn", statementTimeoutMs = 5_000 } = options;
  return {
    connectionString: url,
    max: maxConnections,
    // Kept open: others may have the server's last connection when this one is needed again.
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

/** In seconds, as all PostgreSQL clients read it. The driver ignores this parameter. */
function connectTimeoutOf(url: string): number | undefined {
  const seconds = /[?&]connect_timeout=([1-9]\d{0,3})(?:&|$)/.exec(url)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

const { INT8, NUMERIC, TIMESTAMPTZ } = pg.types.builtins;

/** Constraints keep counts and credits below 2^53, so they are plain numbers here. */
const getTypeParser = ((oid: Parameters<typeof pg.types.getTypeParser>[0], format: "text") => {
  if (oid === INT8 || oid === NUMERIC) return Number;
  const parse = pg.types.getTypeParser(oid, format) as (text: string) => unknown;
  return oid === TIMESTAMPTZ ? (text: string) => readTimestamp(text) ?? parse(text) : parse;
}) as typeof pg.types.getTypeParser;
