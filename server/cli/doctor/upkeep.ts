import { type Clock, DAY_MS, type Queryable, sql } from "#platform";
import { measureBacklog } from "#webhooks";
import { type Check, fault, ok, warning } from "./check.ts";
import { statusOf } from "./readiness.ts";

type Partitions = { parent: string; until: Date | null; has_strays: boolean };

/** A running service creates partitions long before they are needed. */
export async function checkPartitions(db: Queryable, clock: Clock): Promise<Check> {
  const name = "partitions";
  const tables = await db.query<Partitions>(sql`
    select parent, until, has_strays from partition_health()`);
  const soon = clock.now().getTime() + DAY_MS;
  const short = tables.filter(({ until }) => until === null || until.getTime() < soon);
  if (short.length > 0) {
    const message = `${namesOf(short)} end within a day.`;
    return fault(name, message, "Start the service, which creates new ones, and check its log.");
  }
  const strayed = tables.filter(({ has_strays }) => has_strays);
  if (strayed.length > 0) {
    const message = `Rows of ${namesOf(strayed)} are outside their partitions: no node ran in time, or a clock was wrong.`;
    const fix = "Nothing is lost; retention deletes them row by row. Check the clocks.";
    return warning(name, message, fix);
  }
  return ok(name, "They reach far enough ahead.");
}

function namesOf(tables: readonly Partitions[]): string {
  return tables.map(({ parent }) => parent).join(", ");
}

/** Retries may wait for hours, but with a working node no webhook is overdue for this long. */
const LATE_MS = 5 * 60_000;

export async function checkWebhooks(db: Queryable, clock: Clock): Promise<Check> {
  const { waiting, isMore, oldestDueAt } = await measureBacklog(db);
  const lateMs = oldestDueAt ? clock.now().getTime() - oldestDueAt.getTime() : 0;
  if (lateMs < LATE_MS)
    return ok("webhooks", `${waiting}${isMore ? " or more" : ""} wait, none for too long.`);
  const message = `A webhook has been due for ${Math.round(lateMs / 60_000)} minutes.`;
  const fix = "Run a node with the role webhooks; the dashboard shows receivers that are down.";
  return warning("webhooks", message, fix);
}

type Kept = { retentionMessagesDays: number; redactTextDays: number };

export function checkRetention({ retentionMessagesDays, redactTextDays }: Kept): Check {
  const name = "retention";
  if (retentionMessagesDays > 0 && redactTextDays > retentionMessagesDays) {
    const message = `Texts are to be redacted after ${redactTextDays} days, but messages are dropped after ${retentionMessagesDays}.`;
    return warning(name, message, "Set REDACT_TEXT_DAYS below RETENTION_MESSAGES_DAYS.");
  }
  const kept = retentionMessagesDays === 0 ? "for ever" : `${retentionMessagesDays} days`;
  const texts = redactTextDays === 0 ? "as long" : `${redactTextDays} days`;
  return ok(name, `Messages are kept ${kept}, their texts ${texts}.`);
}

/** Any answer will do: it shows that something listens there. */
export async function checkCollector({
  tracesEndpoint,
}: {
  tracesEndpoint: string | undefined;
}): Promise<Check> {
  if (tracesEndpoint === undefined) return ok("traces", "Tracing is off.");
  if ((await statusOf(tracesEndpoint)) !== undefined)
    return ok("traces", `A collector answers at ${tracesEndpoint}.`);
  const message = `No collector answers at ${tracesEndpoint}: traces are dropped.`;
  return warning("traces", message, "Correct OTEL_EXPORTER_OTLP_ENDPOINT, or leave it out.");
}
