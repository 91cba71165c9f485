/**
 * What our statements, and the parsing of their results, rely on. These override settings that a
 * role or a database may have.
 */
const SETTINGS = [
  // Compiling a plan takes longer than any of our statements, and would happen on every call.
  "jit=off",
  "datestyle=ISO",
  // Days and months are in UTC.
  "timezone=UTC",
  "standard_conforming_strings=on",
  "default_transaction_isolation=read\\ committed",
  "default_transaction_read_only=off",
  // By a notice, accepting tells that everything is written.
  "client_min_messages=notice",
  // No limits, for audits and migrations. Pools set theirs separately, as the driver drops a 0.
  "statement_timeout=0",
  "lock_timeout=0",
  // A server that closes idle sessions would do so just as work is sent to one.
  "idle_session_timeout=0",
  // Otherwise the server keeps the connections of a node that vanished for two hours.
  "tcp_user_timeout=10s",
  "tcp_keepalives_idle=10s",
  "tcp_keepalives_interval=10s",
  "tcp_keepalives_count=3",
];

/** For the driver, which passes them on when it connects. */
export function sessionOptions(more: readonly string[] = []): string {
  return [...SETTINGS, ...more].map((setting) => `-c ${setting}`).join(" ");
}
