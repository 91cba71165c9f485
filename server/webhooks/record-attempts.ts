import {
  batcher,
  type Clock,
  type Database,
  DatabaseUnavailable,
  type Log,
  type Metrics,
  sql,
} from "#platform";
import { carrierText } from "#messages";
import type { ClaimedDelivery } from "./deliveries.ts";
import { outcomeClass } from "./outcome.ts";
import type { Attempt } from "./post.ts";
import type { Ended } from "./schedule.ts";

/** What became of a claimed delivery. */
export type Recorded = {
  delivery: ClaimedDelivery;
  /** Null where nothing was tried. */
  attempt: Attempt | null;
  at: Date;
} & (
  | { next: "ended"; ended: Ended }
  | { next: "again"; step: number; waitMs: number }
  | { next: "put_back"; waitMs: number }
);

const MAX_WAITING = 20_000;
const RETRY_MS = 500;

/** Writes attempts in batches; keeps trying while the database is away, as far as leases allow. */
export function attemptRecorder({
  db,
  clock,
  log,
  metrics,
}: {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
}) {
  const record = batcher<Recorded, "stored" | "full">({
    async run(items) {
      metrics.batchSize.labels("attempts").observe(items.length);
      await insertAttempts(db, items);
      return items.map(() => "stored");
    },
    whenFull: () => "full",
    maxItems: 500,
    maxRunning: 2,
    maxWaiting: MAX_WAITING,
  });
  return {
    async record(item: Recorded): Promise<void> {
      for (;;) {
        const stored = await record(item).catch((error: unknown) => {
          if (!(error instanceof DatabaseUnavailable)) throw error;
          return "full" as const;
        });
        if (stored === "stored") return;
        log.warn({ deliveryId: item.delivery.deliveryId }, "an attempt waits for the database");
        await clock.sleep(RETRY_MS);
      }
    },
    idle: () => record.idle(),
  };
}

async function insertAttempts(db: Database, items: Recorded[]): Promise<void> {
  const of = <Value>(pick: (item: Recorded) => Value) => items.map(pick);
  const tried = <Value>(pick: (attempt: Attempt) => Value) =>
    items.map(({ attempt }) => (attempt ? pick(attempt) : null));
  await db.query(sql`
    select record_attempts(
      ${of(({ delivery }) => delivery.accountId)}::uuid[], ${of(({ delivery }) => delivery.messageId)}::uuid[],
      ${of(({ delivery }) => delivery.sequence)}::smallint[], ${of(({ delivery }) => delivery.attempt)}::smallint[],
      ${of(({ at }) => at.toISOString())}::timestamptz[], ${of(({ delivery }) => delivery.deliveryId)}::uuid[],
      ${of(({ delivery }) => delivery.replayId)}::uuid[], ${of(({ delivery }) => delivery.step)}::smallint[],
      ${tried(({ status }) => status)}::smallint[], ${tried(({ outcome }) => outcomeClass(outcome))}::text[],
      ${tried(wordsOf)}::text[], ${tried(({ timings }) => timings.dnsMs)}::real[],
      ${tried(({ timings }) => timings.connectMs)}::real[], ${tried(({ timings }) => timings.tlsMs)}::real[],
      ${tried(({ timings }) => timings.firstByteMs)}::real[], ${of(({ attempt }) => attempt?.timings.totalMs ?? 0)}::real[],
      ${tried(({ address }) => address)}::text[], ${tried(headersOf)}::jsonb[],
      ${tried(({ answer }) => answer?.body ?? null)}::bytea[], ${of(({ delivery }) => delivery.epoch)}::integer[],
      ${of(({ next }) => next)}::text[], ${of((item) => (item.next === "ended" ? item.ended : null))}::text[],
      ${of((item) => (item.next === "again" ? item.step : item.delivery.step))}::smallint[],
      ${of((item) => (item.next === "ended" ? 0 : item.waitMs))}::float8[]
    )`);
}

/** The failure in words; nothing for an answer, whose status says it. */
function wordsOf({ outcome }: Attempt): string | null {
  return outcome.kind === "answered" ? null : storable(outcome.detail);
}

function headersOf({ answer }: Attempt): string | null {
  return answer === null ? null : JSON.stringify(answer.headers).replaceAll("\\u0000", "");
}

/** A receiver's words are data from outside. */
function storable(text: string): string {
  return carrierText(text);
}
