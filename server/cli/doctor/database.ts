import { type Clock, type Queryable, sql } from "#platform";
import { type Check, fault, ok, warning } from "./check.ts";

type Server = { version: string; data_checksums: string; is_standby: boolean };

/** Settings with which a crash loses accepted messages were refused before: see `storage.ts`. */
export async function checkDatabase(db: Queryable): Promise<Check[]> {
  const [server] = await db.query<Server>(sql`
    select current_setting('server_version') as version,
           current_setting('data_checksums') as data_checksums, pg_is_in_recovery() as is_standby`);
  if (!server) throw new Error("The database did not report its version.");
  if (server.is_standby) {
    return [
      fault(
        "database",
        "DATABASE_URL points to a standby, which accepts no writes.",
        "Point it at the primary, or name all hosts.",
      ),
    ];
  }
  return [ok("database", `PostgreSQL ${server.version} answers.`), durability(server)];
}

function durability(server: Server): Check {
  if (server.data_checksums !== "on") {
    const message = "Data checksums are off: a failing disk may go unnoticed.";
    return warning("durability", message, "Stop PostgreSQL and run: pg_checksums --enable");
  }
  return ok("durability", "Every commit is on disk before it is answered.");
}

/** A standby that lags behind loses accepted messages when it takes over. */
export async function checkStandbys(db: Queryable): Promise<Check> {
  const standbys = await db.query<{ name: string; sync_state: string | null }>(sql`
    select application_name as name, sync_state from pg_stat_replication`);
  if (standbys.length === 0)
    return ok("standby", "There is none; the data is only as safe as your backups.");
  const names = standbys
    .map(({ name, sync_state }) => `${name} (${sync_state ?? "unknown"})`)
    .join(", ");
  if (standbys.some(({ sync_state }) => sync_state === "sync" || sync_state === "quorum"))
    return ok("standby", `Commits wait for a standby: ${names}.`);
  // An ordinary role sees that there is a standby, but not how it replicates.
  if (standbys.some(({ sync_state }) => sync_state === null))
    return warning(
      "standby",
      `It cannot be seen whether commits wait for a standby: ${names}.`,
      "Let the role of DATABASE_URL see it: grant pg_read_all_stats to ROLE",
    );
  return warning(
    "standby",
    `All standbys are asynchronous: ${names}. A failover could lose accepted messages.`,
    "Name them in synchronous_standby_names.",
  );
}

/** All nodes use the database's clock, but logs, certificates and commands the machine's. */
const SMALL_SKEW_MS = 1_000;
const LARGE_SKEW_MS = 30_000;

export async function checkClock(db: Queryable, clock: Clock): Promise<Check> {
  const before = clock.now().getTime();
  const [row] = await db.query<{ now: Date }>(sql`select clock_timestamp() as now`);
  const after = clock.now().getTime();
  const theirs = row?.now.getTime() ?? before;
  // A difference within the round trip counts as agreement.
  const skewMs = theirs < before ? theirs - before : Math.max(0, theirs - after);
  const message = `This machine's clock and the database's differ by ${Math.abs(skewMs)} ms.`;
  const fix = "Keep both clocks in sync with NTP.";
  if (Math.abs(skewMs) > LARGE_SKEW_MS) return fault("clock", message, fix);
  return Math.abs(skewMs) > SMALL_SKEW_MS ? warning("clock", message, fix) : ok("clock", message);
}

export function judgeMigrations({ missing, newer }: Record<"missing" | "newer", string[]>): Check {
  const name = "migrations";
  if (newer.length > 0) {
    const message = `A newer version applied ${newer.join(", ")}: this version no longer starts.`;
    return fault(name, message, "Install the newer version here too, or restore a backup.");
  }
  return missing.length === 0
    ? ok(name, "The database is up to date.")
    : fault(name, `Not applied yet: ${missing.join(", ")}.`, "Run: npx posthorn migrate");
}
