/**
 * What our statements and the reading of their answers are written for. A role or a database may have
 * other settings of its own; they do not hold for our sessions.
 */
const SETTINGS = [
  // Compiling a plan takes longer than any of our statements, and is done at every call.
  "jit=off",
  "datestyle=ISO",
  // Days and months are those of UTC.
  "timezone=UTC",
  "standard_conforming_strings=on",
  "default_transaction_isolation=read\\ committed",
  "default_transaction_read_only=off",
  // None, for audits and migrations: who has limits asks for them beside these, and the driver asks for no 0.
  "statement_timeout=0",
  "lock_timeout=0",
  // A server that closes what waits for work does so while work is on its way to it.
  "idle_session_timeout=0",
  // Otherwise the server keeps the connections of a node that vanished without a word for two hours.
  "tcp_user_timeout=10s",
  "tcp_keepalives_idle=10s",
  "tcp_keepalives_interval=10s",
  "tcp_keepalives_count=3",
];

/** For the driver, which hands them over when it connects. */
export function sessionOptions(more: readonly string[] = []): string {
  return [...SETTINGS, ...more].map((setting) => `-c ${setting}`).join(" ");
}
