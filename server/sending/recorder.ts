import type { MoveListener } from "#messages";
import {
  batcher,
  type Clock,
  type Database,
  DatabaseUnavailable,
  isLockedOut,
  type Log,
  type Metrics,
  orEach,
  type Tracer,
  type Transaction,
} from "#platform";
import { type CarrierHour, type LastHour, lastHour } from "./last-hour.ts";
import type { ArrivedReceipt, MatchRules } from "./match-receipts.ts";
import { takeParked } from "./parked-receipts.ts";
import { applyReceipts, findRejected } from "./receipts.ts";
import { isHeld, recordSubmissions, type Submission } from "./record.ts";
import { type RecordMetrics, recordMetrics } from "./record-metrics.ts";
import { receiptSpan } from "./sending-spans.ts";
import type { Note } from "./submission-receipts.ts";

type Item = { submission: Submission } | { receipt: ArrivedReceipt };

type Stored = "stored" | "overtaken";

export type Recorder = {
  /**
   * Resolves once stored, however long the database is away: the carrier's answer must not be lost.
   * Returns `overtaken` if the lease ran out and was taken again: the answer is then only history,
   * and nothing more of the message may leave under that lease.
   */
  submission(submission: Submission): Promise<Stored>;
  /**
   * Whether so many answers wait, or for so long, that no more should leave: every answer not
   * stored when the process dies is in doubt, and its segment goes out twice.
   */
  isBehind(): boolean;
  /** Rejects if it cannot be stored now; the carrier then repeats it. */
  receipt(receipt: ArrivedReceipt): Promise<void>;
  /** When a batch was last stored, by the monotonic clock. */
  storedAtMs(): number;
  /** Applies parked receipts that match by now; returns how many. */
  sweepParked(): Promise<number>;
  lastHour(carrierId: string): CarrierHour;
  /** Waits for what is being stored. Whatever cannot be stored is left to its lease, in doubt. */
  stop(): Promise<void>;
};

type Deps = {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  nodeId: string;
  rules: MatchRules;
  listener: MoveListener;
  tracer?: Tracer | undefined;
};

/** A batch makes nine round trips to the database under load, whatever its size. */
const MAX_ITEMS = 2_000;
/** More than the windows of all carriers together. Carriers repeat the receipts beyond it. */
const MAX_WAITING = 100_000;
const RETRY_MS = 500;
/** At full load answers wait for half a second, and rarely for a whole one. */
const BEHIND_MS = 3_000;
const MAX_UNSTORED = 4_000;
const PARKED_PAGE = 500;
/**
 * Recording a submission applies its parked receipts too, but misses those parked at the same
 * moment. A sweep finds them: every pass looks at the last minute, and one pass a minute at the
 * last hour, as what has waited for longer than a moment rarely matches any more.
 */
const SWEPT_MS = 60_000;
const SWEPT_RARELY_MS = 3_600_000;
/** Reading this many takes a tenth of the statement timeout. */
const MOST_SWEPT = 20_000;

/**
 * Stores what carriers answer and report. Submissions and receipts share one queue and one batch at
 * a time: a receipt never overtakes the answer before it, and both are in one transaction.
 */
export function recorder(deps: Deps): Recorder {
  const { db, clock, log, metrics } = deps;
  const counted = { ...deps, counts: recordMetrics(metrics), hour: lastHour(clock) };
  let storedAtMs = Number.NEGATIVE_INFINITY;
  const record = batcher<Item, Stored | "later">({
    run(items) {
      metrics.batchSize.labels("record").observe(items.length);
      const words = `a batch of ${items.length} answers and receipts failed; each is tried alone`;
      return orEach(
        items,
        async (batch) => {
          const stored = await recordOrAgain(counted, batch);
          storedAtMs = clock.monotonicMs();
          return stored;
        },
        (error) => log.error({ error }, words),
      );
    },
    whenFull: () => "later",
    maxItems: MAX_ITEMS,
    maxRunning: 1,
    maxWaiting: MAX_WAITING,
  });

  let isStopped = false;
  let isAway = false;
  let sweptRarelyAtMs = Number.NEGATIVE_INFINITY;
  /** When each unstored answer came, oldest first. */
  const unstored = new Map<Submission, number>();
  metrics.batchWaiting(() => [{ labels: { kind: "record" }, value: record.waiting }]);

  /** Logs once for all answers that wait. */
  function tellAway(error: unknown): "later" {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    const count = unstored.size;
    if (!isAway) log.warn({ error, count }, "answers of carriers wait for the database");
    isAway = true;
    return "later";
  }

  return {
    async submission(submission) {
      unstored.set(submission, clock.monotonicMs());
      try {
        while (!isStopped) {
          const stored = await record({ submission }).catch(tellAway);
          if (stored !== "later") {
            isAway = false;
            return stored;
          }
          await clock.sleep(RETRY_MS);
        }
        return "overtaken";
      } finally {
        unstored.delete(submission);
      }
    },
    isBehind() {
      const [oldestMs = Number.POSITIVE_INFINITY] = unstored.values();
      return unstored.size >= MAX_UNSTORED || clock.monotonicMs() - oldestMs > BEHIND_MS;
    },
    async receipt(receipt) {
      if ((await record({ receipt })) === "later")
        throw new Error("More receipts arrive than can be stored.");
    },
    storedAtMs: () => storedAtMs,
    sweepParked() {
      const nowMs = clock.monotonicMs();
      const isRare = nowMs - sweptRarelyAtMs >= SWEPT_MS;
      // Set before it may fail: a failing rare sweep must not block the frequent ones.
      if (isRare) sweptRarelyAtMs = nowMs;
      const since = new Date(clock.now().getTime() - (isRare ? SWEPT_RARELY_MS : SWEPT_MS));
      return db.transaction(async (tx) => {
        const parked = await takeParked(tx, { since, newest: MOST_SWEPT }, PARKED_PAGE);
        // There may be more, so the next pass is a rare one again.
        if (isRare && parked.length === PARKED_PAGE) sweptRarelyAtMs = Number.NEGATIVE_INFINITY;
        const { rules, listener, hour } = counted;
        const onNoted = (notes: readonly Note[]) => countLate(hour, notes);
        const unmatched = await applyReceipts(tx, parked, { rules, listener, onNoted });
        return parked.length - unmatched;
      });
    },
    lastHour: (carrierId) => counted.hour.read(carrierId),
    stop() {
      isStopped = true;
      return record.idle();
    },
  };
}

type Counted = Deps & { counts: RecordMetrics; hour: LastHour };

/**
 * A batch locks first the messages that were answered, then those with receipts, each group by id.
 * Two nodes may therefore deadlock. The one that the database aborts tries again.
 */
async function recordOrAgain(deps: Counted, items: Item[]): Promise<Stored[]> {
  try {
    return await recordBatch(deps, items);
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable) || !isLockedOut(error)) throw error;
    return await recordBatch(deps, items);
  }
}

async function recordBatch(deps: Counted, items: Item[]): Promise<Stored[]> {
  const { db, nodeId, rules, listener, tracer, clock, counts, hour } = deps;
  const submissions = items.flatMap((item) => ("submission" in item ? [item.submission] : []));
  const receipts = items.flatMap((item) => ("receipt" in item ? [item.receipt] : []));
  return db.transaction(async (tx) => {
    const accepted = submissions.flatMap(({ answer, carrierId, message }) =>
      answer.kind === "accepted" && answer.matchId !== ""
        ? [{ carrierId, matchId: answer.matchId, recipient: message.recipient }]
        : [],
    );
    const parked = accepted.length > 0 ? await takeParked(tx, accepted, PARKED_PAGE) : [];
    const arrived = [...parked, ...receipts];
    // Accounts are locked before queue rows and messages everywhere, also those a receipt refunds.
    const alsoLocked = await accountsToRefund(tx, arrived, { submissions, rules });
    const held = await recordSubmissions(tx, { nodeId, submissions, rules, listener, alsoLocked });
    const onNoted = (notes: readonly Note[]) => {
      countLate(hour, notes);
      if (tracer) traceReceipts(tracer, clock, notes);
    };
    const unmatched = await applyReceipts(tx, arrived, { rules, listener, onNoted });
    tx.afterCommit(() => {
      counts.stored(submissions);
      counts.parked(unmatched);
      countRefusals(hour, submissions);
    });
    return items.map((item) =>
      "submission" in item && !isHeld(held, item.submission) ? "overtaken" : "stored",
    );
  });
}

/** A rejecting receipt may belong to an answer of this very batch, which is not stored yet. */
async function accountsToRefund(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  { submissions, rules }: { submissions: Submission[]; rules: MatchRules },
): Promise<string[]> {
  if (!arrived.some(({ receipt }) => receipt.effect === "rejected")) return [];
  const own = submissions.map(({ message }) => message.account_id);
  return [...own, ...(await findRejected(tx, arrived, rules))];
}

/** Our own refusals, such as a text the carrier's alphabet cannot hold, have no carrier code. */
function countRefusals(hour: LastHour, submissions: readonly Submission[]): void {
  for (const { answer, carrierId } of submissions) {
    if (answer.kind === "refused" && answer.carrierCode !== null)
      hour.refused(carrierId, answer.carrierCode);
  }
}

function countLate(hour: LastHour, notes: readonly Note[]): void {
  for (const { receipt, isLate } of notes) if (isLate) hour.cameLate(receipt.carrierId);
}

function traceReceipts(tracer: Tracer, clock: Clock, notes: readonly Note[]): void {
  const endedAt = clock.now();
  for (const { match, receipt, at, isApplied } of notes) {
    const { message_id: messageId, segment } = match;
    tracer.step(messageId, receiptSpan(receipt, { segment, isApplied, at, endedAt }));
  }
}
