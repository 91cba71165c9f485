/**
 * The platform: what any server needs. Clock, database, migrations, loops, batches, ids, logs,
 * metrics, secrets, and the bundled PostgreSQL. It knows nothing about text messages, except that a
 * message's id is its trace id, and that the log recognizes our keys and secrets to remove them.
 */
export * from "./light.ts";
export { batcher, orEach } from "./batcher.ts";
export { databaseClock, type DatabaseClock, followDatabase } from "./database-clock.ts";
export { DAY_MS, HOUR_MS, MINUTE_MS } from "./durations.ts";
export {
  type Database,
  openDatabase,
  type Queryable,
  type Snapshot,
  type Transaction,
} from "./database.ts";
export { deletePage } from "./delete-page.ts";
export { findRunningPostgres } from "./embedded-postgres/running.ts";
export { pathsIn } from "./embedded-postgres/paths.ts";
export { checkSurroundings, freeBytes, NEEDED_BYTES } from "./embedded-postgres/surroundings.ts";
export { syncFolder } from "./embedded-postgres/sync-folder.ts";
export { cannotOpen, Unfit } from "./embedded-postgres/unfit.ts";
export { idFloor, isId, newId, newIdOf, NIL_ID, readId, timeOfId } from "./ids.ts";
export { DataDirInUse, type DataDirLock, lockDataDir } from "./instance-lock.ts";
export { createLog, type Log, silentLog } from "./log.ts";
export { chosen, listPage, type Looked, type Page, type Position, sideOf } from "./list-page.ts";
export { lookThrough } from "./look-through.ts";
export { type Leave, narrowGate } from "./narrow-gate.ts";
export { type Loop, type RunningLoop, runLoop } from "./loop.ts";
export { LEASE_MS } from "./lease.ts";
export { MAX_COUNTED } from "./max-counted.ts";
export { createMetrics, type Metrics, type Reading } from "./metrics.ts";
export { compareMigrations, migrate } from "./migrate.ts";
export { connectToPrimary, databasePorts } from "./primary.ts";
export { deriveKey, KEY_FILE, Secret, type SecretBox, secretBox } from "./secret.ts";
export { nearest } from "./nearest.ts";
export { quoted } from "./quoted.ts";
export { readCollectorHeaders, spanExport } from "./span-export.ts";
export { isoTime } from "./timestamp.ts";
export { allOf, rawSql, type Sql, sql } from "./sql.ts";
export { superviseEmbeddedPostgres } from "./supervised-postgres.ts";
export { newSpanId, type SpanContext, tracedLog, type Tracer, tracer, traceOf } from "./trace.ts";
export {
  type Backend,
  DatabaseUnavailable,
  isLockedOut,
  isOverstrained,
  severityOf,
  violates,
} from "./unavailable.ts";
export { tameJson, tameText, TURNS_TEXT } from "./tame.ts";
export { oneOf, text, wholeNumber } from "./text-values.ts";
export { hasVisible } from "./visible.ts";
export { tellCommits } from "./tell-commits.ts";
export { takeTurns, type Turns } from "./turns.ts";
export { within } from "./within.ts";
export { readBound, readTime } from "./time.ts";
export { keepYoungObjectsYoung } from "./young-objects.ts";
