import { eventId } from "#messages";
import type { Clock, Log, Tracer } from "#platform";
import type { Ahead } from "./ahead.ts";
import { conclude } from "./conclude.ts";
import type { Claim, ClaimedDelivery } from "./deliveries.ts";
import { attemptSpan } from "./attempt-span.ts";
import { databaseNow, requestOf } from "./delivery-request.ts";
import type { DeliveryMetrics } from "./delivery-metrics.ts";
import { judgeUrl } from "./egress/judge-url.ts";
import type { EgressPolicy } from "./egress/policy.ts";
import type { Place } from "./lane.ts";
import type { Kind } from "./lane-slots.ts";
import type { Grant, Lanes } from "./lanes.ts";
import { outcomeClass } from "./outcome.ts";
import type { Attempt, Poster } from "./post.ts";
import { type AttemptRecorder, idsOf, type Recorded } from "./record-attempts.ts";

type Deps = {
  clock: Clock;
  log: Log;
  metrics: DeliveryMetrics;
  lanes: Lanes;
  ahead: Ahead;
  poster: Pick<Poster, "post" | "close">;
  recorder: AttemptRecorder;
  policy: EgressPolicy;
  version: string;
  tracer?: Tracer | undefined;
  /** Called when slots are free, or soon will be, and nothing is claimed for them. */
  onRoom: () => void;
};

export type DeliveryRunner = {
  /** Begins a delivery with its slot taken; false if it must wait for its host name. */
  begin(delivery: ClaimedDelivery, kind: Kind): boolean;
  /** Keeps a delivery that was claimed ahead until its lane has a free slot. */
  keep(delivery: ClaimedDelivery, kind: Kind): void;
  /** Keeps a first attempt, then begins what can begin in its lane. */
  offerFirst(delivery: ClaimedDelivery): void;
  hasKept(): boolean;
  /** The lanes whose next kept delivery is of this kind. */
  lanesKept(kind: Kind): bigint[];
  /** Begins kept deliveries in granted slots; returns how many slots are left. */
  beginKept(grant: Grant, kind: Kind): number;
  putBack(claim: Claim, waitMs: number): void;
  /** Begins what can begin now, and gives back what has waited too long. */
  sweep(): void;
  /** Gives back what has not begun, and lets what has begun end within its deadline. */
  stop(): Promise<void>;
};

type Kept = { kind: Kind; delivery: ClaimedDelivery };

/** A claim not begun by then is given back, so attempt and record stay well inside the lease. */
const BEGIN_WITHIN_MS = 5_000;
/** Longer than the deadline of an attempt: after this nothing can be in flight. */
const DRAIN_MS = 11_000;

/** Makes the one attempt of each claimed delivery, as slots allow. */
export function deliveryRunner(deps: Deps): DeliveryRunner {
  const { clock, log, lanes, ahead, poster, recorder, metrics } = deps;
  const waiting = new Map<bigint, Kept[]>();
  let isStopping = false;
  let inFlight = 0;

  /** False if its host name is full: it then stands first in line. */
  function begin(delivery: ClaimedDelivery, kind: Kind): boolean {
    const { hostKey } = delivery;
    if (isLate(delivery)) {
      lanes.giveBack({ hostKey, slots: 1 }, kind);
      putBack(delivery, 0);
      return true;
    }
    const place = placeOf(delivery, deps.policy);
    if (!lanes.begin(hostKey, kind, place)) {
      lineOf(hostKey).unshift({ kind, delivery });
      ahead.add(hostKey, 1);
      return false;
    }
    inFlight += 1;
    attempt({ delivery, kind, place })
      .catch((error: unknown) =>
        log.error(
          { error, ...idsOf(delivery) },
          "an attempt was lost; its lease brings the delivery back",
        ),
      )
      .finally(() => (inFlight -= 1));
    return true;
  }

  function isLate({ claimedHere }: Claim): boolean {
    return isStopping || clock.leaseMs() - claimedHere.leaseMs > BEGIN_WITHIN_MS;
  }

  function post(delivery: ClaimedDelivery): Promise<Attempt> {
    const now = databaseNow(delivery, clock);
    if (delivery.attempt === 1) metrics.begun(now.getTime() - delivery.createdAt.getTime());
    // After a crash between here and the commit of the record, the receiver may have seen the POST:
    // the lease runs out, the attempt is noted as interrupted, and the next one has the same id.
    return Promise.try(() => {
      const isReliable = lanes.isReliable(delivery.hostKey);
      return poster.post({ ...requestOf(delivery, now, deps.version), isReliable });
    });
  }

  type Begun = { delivery: ClaimedDelivery; kind: Kind; place: Place };

  async function attempt({ delivery, kind, place }: Begun): Promise<void> {
    const { hostKey } = delivery;
    const made = await post(delivery).catch((error: unknown) => {
      // A bug must not leak the slot as well.
      const outcome = { kind: "our_fault", detail: "the attempt failed" } as const;
      lanes.end({ hostKey, kind, place, outcome, durationMs: 0 });
      throw error;
    });
    const { outcome, timings } = made;
    lanes.end({ hostKey, kind, place, outcome, durationMs: timings.totalMs });
    await settle({ delivery, place }, made);
  }

  async function settle(
    { delivery, place }: Pick<Begun, "delivery" | "place">,
    attempt: Attempt,
  ): Promise<void> {
    const { hostKey } = delivery;
    const health = lanes.healthOf(hostKey);
    const now = databaseNow(delivery, clock);
    const concluded = conclude(delivery, attempt, { now, health, random: Math.random() });
    metrics.attempted(attempt, concluded.next === "ended" ? concluded.ended : null);
    deps.tracer?.step(delivery.messageId, attemptSpan(delivery, attempt, clock.now()));
    tell({ delivery, outcome: attempt.outcome, concluded, place });
    // If the lane may not continue by itself, its slot goes to those that wait for a grant.
    if (!beginNext(hostKey)) deps.onRoom();
    await recorder.record(concluded);
  }

  type Told = Pick<Attempt, "outcome"> &
    Pick<Begun, "delivery" | "place"> & { concluded: Recorded };

  function tell({ delivery, outcome, concluded, place }: Told): void {
    const ended = concluded.next === "ended" ? concluded.ended : null;
    // Most attempts succeed and need no log entry.
    if (outcome.kind !== "our_fault" && ended !== "exhausted" && ended !== "forbidden") return;
    const { messageId, sequence, accountId } = delivery;
    const fields = {
      eventId: eventId(messageId, sequence),
      ...idsOf(delivery),
      accountId,
      // Nothing else of its address: paths and queries hold secrets.
      host: place.hostname,
      class: outcomeClass(outcome),
      outcome,
    };
    if (outcome.kind === "our_fault")
      log.error(fields, "a webhook could not be tried by a fault of ours");
    else if (ended === "exhausted")
      log.warn(fields, "a webhook was given up after its last attempt");
    else log.warn(fields, "a webhook was not sent: its address must not be called");
  }

  /** Begins what was claimed for the lane, as far as it may take slots; false if nothing began. */
  function beginNext(hostKey: bigint): boolean {
    let hasBegun = false;
    const line = waiting.get(hostKey) ?? [];
    for (let next = line[0]; next !== undefined; next = line[0]) {
      const { delivery, kind } = next;
      const isTooLate = isLate(delivery);
      if (!isTooLate && !lanes.take(hostKey, kind)) break;
      line.shift();
      ahead.add(hostKey, -1);
      if (isTooLate) putBack(delivery, 0);
      else if (begin(delivery, kind)) hasBegun = true;
      else break;
    }
    if (line.length === 0) waiting.delete(hostKey);
    if (line.length === 0 || ahead.isShort(hostKey)) deps.onRoom();
    return hasBegun;
  }

  function beginKept({ hostKey, slots }: Grant, kind: Kind): number {
    const line = waiting.get(hostKey) ?? [];
    let left = slots;
    while (left > 0 && line[0]?.kind === kind) {
      const { delivery } = line[0];
      line.shift();
      ahead.add(hostKey, -1);
      left -= 1;
      // If the host name is full, `begin` gives the slot back.
      begin(delivery, kind);
    }
    if (line.length === 0) waiting.delete(hostKey);
    return left;
  }

  function sweep(): void {
    for (const hostKey of waiting.keys()) beginNext(hostKey);
  }

  function keep(delivery: ClaimedDelivery, kind: Kind): void {
    lineOf(delivery.hostKey).push({ kind, delivery });
    ahead.add(delivery.hostKey, 1);
  }

  function lineOf(hostKey: bigint): Kept[] {
    return waiting.getOrInsertComputed(hostKey, () => []);
  }

  function putBack(claim: Claim, waitMs: number): void {
    recorder
      .record({ claim, attempt: null, at: clock.now(), next: "put_back", waitMs })
      .catch((error: unknown) =>
        log.error(
          { error, ...idsOf(claim) },
          "a claim could not be given back; its lease ends by itself",
        ),
      );
  }

  return {
    begin,
    keep,
    offerFirst(delivery) {
      keep(delivery, "first");
      beginNext(delivery.hostKey);
    },
    hasKept: () => waiting.size > 0,
    lanesKept: (kind) => [...waiting.keys()].filter((key) => waiting.get(key)?.[0]?.kind === kind),
    beginKept,
    putBack,
    sweep,
    async stop() {
      isStopping = true;
      sweep();
      const untilMs = clock.monotonicMs() + DRAIN_MS;
      const isBusy = () => inFlight > 0 && clock.monotonicMs() < untilMs;
      while (isBusy()) await clock.sleep(10);
      await poster.close();
      await recorder.idle();
    },
  };
}

function placeOf({ accountId, url }: ClaimedDelivery, policy: EgressPolicy): Place {
  const target = judgeUrl(url, policy);
  return target.allowed
    ? { accountId, hostname: target.hostname, origin: target.origin }
    : { accountId, hostname: "forbidden", origin: "" };
}
