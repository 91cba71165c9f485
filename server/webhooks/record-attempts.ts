import { foreignText } from "#messages";
import {
  batcher,
  type Clock,
  type Database,
  DatabaseUnavailable,
  LEASE_MS,
  type Log,
  type Metrics,
  orEach,
  sql,
} from "#platform";
import type { Claim } from "./deliveries.ts";
import { outcomeClass } from "./outcome.ts";
import type { Attempt } from "./post.ts";
import type { Ended } from "./schedule.ts";

/** What became of a claim. */
export type Recorded = {
  claim: Claim;
  /** Null if nothing was posted. */
  attempt: Attempt | null;
  at: Date;
} & (
  | { next: "ended"; ended: Ended; class?: string; error?: string }
  | { next: "again"; step: number; waitMs: number }
  | { next: "put_back"; waitMs: number }
);

type Deps = {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Called with lanes whose first attempts waited for an attempt that is now recorded. */
  onFreed: (hostKeys: bigint[]) => void;
};

export type AttemptRecorder = {
  /** Resolves once stored, or once the lease has run out and it can no longer be stored. */
  record(item: Recorded): Promise<void>;
  idle(): Promise<void>;
};

/** Many times what can be in flight and claimed ahead. */
const MAX_WAITING = 20_000;
const RETRY_MS = 500;

/** Stores attempts in batches. Retries while the database is away, as long as the lease holds. */
export function attemptRecorder(deps: Deps): AttemptRecorder {
  const { clock, log, metrics } = deps;
  const store = batcher<Recorded, "stored" | "later">({
    run(items) {
      metrics.batchSize.labels("attempts").observe(items.length);
      const words = `a batch of ${items.length} attempts failed; each is tried alone`;
      return orEach(
        items,
        (batch) => storeBatch(deps, batch),
        (error) => log.error({ error }, words),
      );
    },
    whenFull: () => "later",
    maxItems: 500,
    // One at a time: items that come meanwhile make the next batch larger, and each row cheaper.
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
  });
  metrics.batchWaiting(() => [{ labels: { kind: "attempts" }, value: store.waiting }]);
  return {
    async record(item) {
      for (;;) {
        const stored = await store(item).catch((error: unknown) => {
          if (!(error instanceof DatabaseUnavailable)) throw error;
          return "later" as const;
        });
        if (stored === "stored") return;
        // After its lease another node delivers it: waiting for ever would only fill memory.
        if (clock.leaseMs() - item.claim.claimedHere.leaseMs > LEASE_MS) {
          log.warn(idsOf(item.claim), "an attempt could not be recorded within its lease");
          return;
        }
        await clock.sleep(RETRY_MS);
      }
    },
    idle: () => store.idle(),
  };
}

async function storeBatch({ db, onFreed }: Deps, items: Recorded[]): Promise<"stored"[]> {
  const freed = await storeAttempts(db, items);
  if (freed.length > 0) onFreed(freed);
  return items.map(() => "stored");
}

async function storeAttempts(db: Database, items: Recorded[]): Promise<bigint[]> {
  const of = <Value>(pick: (item: Recorded) => Value) => items.map(pick);
  const tried = <Value>(pick: (attempt: Attempt) => Value) =>
    items.map(({ attempt }) => (attempt ? pick(attempt) : null));
  const rows = await db.query<{ host_key: string }>(sql`
    select host_key::text
      from record_attempts(
        ${of(({ claim }) => claim.accountId)}::uuid[], ${of(({ claim }) => claim.messageId)}::uuid[],
        ${of(({ claim }) => claim.sequence)}::smallint[], ${of(({ claim }) => claim.attempt)}::smallint[],
        ${of(({ at }) => at)}::timestamptz[], ${of(({ claim }) => claim.replayId)}::uuid[],
        ${of(({ claim }) => claim.step)}::smallint[], ${tried(({ status }) => status)}::smallint[],
        ${of(classOf)}::text[], ${of(errorOf)}::text[], ${tried(({ timings }) => timings.dnsMs)}::real[],
        ${tried(({ timings }) => timings.connectMs)}::real[], ${tried(({ timings }) => timings.tlsMs)}::real[],
        ${tried(({ timings }) => timings.firstByteMs)}::real[],
        ${of(({ attempt }) => attempt?.timings.totalMs ?? 0)}::real[], ${tried(({ address }) => address)}::text[],
        ${tried(({ answer }) => answer && JSON.stringify(answer.headers))}::text[], ${tried(({ answer }) => answer?.body ?? null)}::bytea[],
        ${of(({ claim }) => claim.epoch)}::integer[], ${of(({ next }) => next)}::text[],
        ${of((item) => (item.next === "ended" ? item.ended : null))}::text[],
        ${of((item) => (item.next === "again" ? item.step : item.claim.step))}::smallint[],
        ${of((item) => (item.next === "ended" ? 0 : item.waitMs))}::float8[]
      ) as host_key`);
  return rows.map(({ host_key }) => BigInt(host_key));
}

function classOf(item: Recorded): string | null {
  if (item.attempt) return outcomeClass(item.attempt.outcome);
  return item.next === "ended" ? (item.class ?? null) : null;
}

/** The details in words; null for an answer, whose status says it. Foreign text is sanitized. */
function errorOf(item: Recorded): string | null {
  const { attempt } = item;
  if (!attempt) return item.next === "ended" ? (item.error ?? null) : null;
  return attempt.outcome.kind === "answered" ? null : foreignText(attempt.outcome.detail);
}

/** What logs may say about a delivery: never its body, address or recipient. */
export function idsOf({ messageId, sequence, attempt }: Claim) {
  return { messageId, sequence, attempt };
}
