export type Settings = Record<string, string | number>;

type Instance = {
  port: number;
  /** Marks this cluster's processes among others; see `processes.ts`. */
  clusterName: string;
  /** Overrides the ordinary settings, for example with less memory in tests. */
  overrides?: Settings;
};

/** The service's promises depend on these. Nothing may weaken them, not even a test. */
const DURABILITY: Settings = { fsync: "on", full_page_writes: "on", synchronous_commit: "on" };

const ORDINARY: Settings = {
  max_connections: 100,
  shared_buffers: "256MB",
  effective_cache_size: "1GB",
  random_page_cost: 1.1,
  jit: "off",
  // A query may touch every partition of a table, and each takes a few locks.
  max_locks_per_transaction: 128,

  // Bounds what must be replayed after a crash. Replaying 8 GB took half a minute.
  max_wal_size: "1GB",
  min_wal_size: "256MB",
  // No wal_compression: this build lacks lz4, and pglz costs more time than it saves.

  // Queue rows live for seconds. Their tables stay small only if dead rows are removed soon.
  autovacuum_naptime: "10s",
  autovacuum_vacuum_scale_factor: 0.05,
  // Hot plans are generic and use keys: rough statistics suffice and take a tenth of the work.
  default_statistics_target: 25,
  autovacuum_analyze_scale_factor: 0.2,
  autovacuum_vacuum_cost_limit: 1000,

  timezone: "UTC",
  log_timezone: "UTC",
  log_line_prefix: "%m [%p] ",
  // Statements and details contain message texts and phone numbers, which no log may hold.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
};

/** Passed on the command line, so they override every file in the cluster. */
export function settingArguments({ port, clusterName, overrides = {} }: Instance): string[] {
  const network = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "" };
  const settings = {
    ...ORDINARY,
    ...overrides,
    ...network,
    cluster_name: clusterName,
    ...DURABILITY,
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
