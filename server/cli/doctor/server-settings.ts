import { type Queryable, sql } from "#platform";
import { type Check, ok, warning, warnings } from "./check.ts";

/** The size of all pools of one node together. */
export const CONNECTIONS_A_NODE = 28;
/** For commands, backups and people. */
const CONNECTIONS_BESIDE = 10;
/** A query may touch every partition of a log, and takes a few locks on each. */
const LEAST_LOCKS = 128;

type Server = {
  max_connections: number;
  max_locks: number;
  log_statement: string;
  log_min_duration: number;
  log_parameters: number;
  log_errors: string;
  is_superuser: boolean;
};

/** Settings of an external PostgreSQL that fail only under load, or that leak data. */
export async function checkServerSettings(
  db: Queryable,
  { nodes }: { nodes: number },
): Promise<Check[]> {
  const [server] = await db.query<Server>(sql`
    select current_setting('max_connections')::integer as max_connections,
           current_setting('max_locks_per_transaction')::integer as max_locks,
           current_setting('log_statement') as log_statement,
           (select setting::integer from pg_settings where name = 'log_min_duration_statement') as log_min_duration,
           (select setting::integer from pg_settings where name = 'log_parameter_max_length') as log_parameters,
           current_setting('log_error_verbosity') as log_errors,
           (select rolsuper from pg_roles where rolname = current_user) as is_superuser`);
  if (!server) throw new Error("The database did not report its settings.");
  return [checkConnections(server, nodes), checkLocks(server), checkLog(server), checkRole(server)];
}

function checkConnections({ max_connections }: Server, nodes: number): Check {
  const needed = Math.max(1, nodes) * CONNECTIONS_A_NODE + CONNECTIONS_BESIDE;
  const message = `${nodes} node${nodes === 1 ? "" : "s"} may use ${needed} connections; max_connections is ${max_connections}.`;
  if (max_connections >= needed) return ok("connections", message);
  return warning("connections", message, `Raise max_connections to ${needed} or more.`);
}

function checkLocks({ max_locks }: Server): Check {
  const message = `max_locks_per_transaction is ${max_locks}.`;
  if (max_locks >= LEAST_LOCKS) return ok("locks", message);
  const fix = `Set it to ${LEAST_LOCKS}: reading all partitions of a table takes that many.`;
  return warning("locks", message, fix);
}

function checkLog({ log_statement, log_min_duration, log_parameters, log_errors }: Server): Check {
  const name = "database log";
  const isLogged = log_statement !== "none" || log_min_duration >= 0;
  const risks = [
    isLogged &&
      log_parameters !== 0 && {
        message:
          "PostgreSQL logs statements with their parameters, which include texts and numbers.",
        fix: "Set log_parameter_max_length = 0, or log no statements.",
      },
    log_errors !== "terse" && {
      message: "PostgreSQL logs errors with the rows concerned.",
      fix: "Set log_error_verbosity = terse.",
    },
  ].filter((risk) => risk !== false);
  return risks.length === 0
    ? ok(name, "Errors are logged without rows, and statements without parameters.")
    : warnings(name, risks);
}

function checkRole({ is_superuser }: Server): Check {
  if (!is_superuser) return ok("database role", "It is not a superuser.");
  const message = "The service connects as a database superuser, which it does not need.";
  return warning("database role", message, "Give it a role that owns only its own database.");
}
