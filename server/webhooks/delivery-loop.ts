import { eventNames } from "#contract";
import {
  type Clock,
  type Database,
  eventId,
  type Log,
  type Loop,
  type Metrics,
  type SecretBox,
} from "#platform";
import { claimDeliveries, type ClaimedDelivery, findDueLanes } from "./deliveries.ts";
import { judgeUrl } from "./egress/judge-url.ts";
import type { EgressPolicy } from "./egress/policy.ts";
import { webhookHeaders } from "./headers.ts";
import type { Kind, Lanes } from "./lanes.ts";
import type { Attempt, Poster } from "./post.ts";
import { attemptRecorder } from "./record-attempts.ts";
import { isTooOldToWait, nextStep } from "./schedule.ts";

type Deps = {
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  secrets: SecretBox;
  lanes: Lanes;
  poster: Poster;
  policy: EgressPolicy;
  version: string;
  random?: () => number;
};

/** Also for what other nodes wrote; what this node writes wakes the loop. */
const IDLE_MS = 250;
const LANES_A_TURN = 500;
/** Claimed beyond the free slots of a proven lane, so that it need not wait for the next claim. */
const AHEAD = 64;
/** A claim not begun by then is given back, so that attempt and record stay well inside the lease. */
const BEGIN_WITHIN_MS = 5_000;
/** A delivery interrupted so often in a row is likely what ends the process: it is not tried again. */
const POISON = 3;
const FIRST_LANE = -(2n ** 63n);

/** Claims what is due, posts it, records what became of it. Nothing lives only in memory. */
export function deliveryLoop(deps: Deps) {
  const { db, clock, log, lanes, poster, secrets, random = Math.random } = deps;
  const recorder = attemptRecorder(deps);
  const ready = new Map<bigint, { kind: Kind; delivery: ClaimedDelivery }[]>();
  let after = FIRST_LANE;
  let isStopping = false;
  let inFlight = 0;
  let wake: () => void = () => undefined;

  async function pass(): Promise<number> {
    if (isStopping) return 0;
    const due = await findDueLanes(db, after, LANES_A_TURN);
    const isWholeTurn = after === FIRST_LANE;
    after = due.length === LANES_A_TURN ? (due.at(-1) ?? FIRST_LANE) : FIRST_LANE;
    if (due.length === 0) return isWholeTurn ? 0 : 1;
    // First attempts before the rest: a backlog that recovers never delays fresh events.
    const first = await claim(due, "first");
    const again = await claim(due, "again");
    return first + again;
  }

  async function claim(due: bigint[], kind: Kind): Promise<number> {
    const grants = lanes.grant(
      due.map((hostKey) => ({ hostKey })),
      kind,
    );
    const wish = grants.map(({ hostKey, slots }) => ({ hostKey, slots: slots + aheadOf(hostKey) }));
    const free = new Map(grants.map(({ hostKey, slots }) => [hostKey, slots]));
    try {
      const claimed = await claimDeliveries(db, {
        lanes: wish,
        isFirst: kind === "first",
        nowMs: clock.monotonicMs(),
        secrets,
      });
      for (const delivery of claimed) {
        const slots = free.get(delivery.hostKey) ?? 0;
        if (slots > 0) {
          free.set(delivery.hostKey, slots - 1);
          begin(delivery, kind);
        } else {
          keepReady(delivery, kind);
        }
      }
      return claimed.length;
    } finally {
      for (const [hostKey, slots] of free) if (slots > 0) lanes.giveBack({ hostKey, slots }, kind);
    }
  }

  /** Only where answers are known to come fast: elsewhere a claim would wait in vain. */
  function aheadOf(hostKey: bigint): number {
    return lanes.healthOf(hostKey) === "proven"
      ? Math.max(0, AHEAD - (ready.get(hostKey)?.length ?? 0))
      : 0;
  }

  function keepReady(delivery: ClaimedDelivery, kind: Kind): void {
    const waiting = ready.get(delivery.hostKey) ?? [];
    waiting.push({ kind, delivery });
    ready.set(delivery.hostKey, waiting);
  }

  /** A slot of the lane is free: the next one that was claimed for it begins. */
  function beginNext(hostKey: bigint): void {
    const waiting = ready.get(hostKey);
    while (waiting && waiting.length > 0) {
      const [next] = waiting;
      if (
        next === undefined ||
        (!isLate(next.delivery) && lanes.grant([{ hostKey, upTo: 1 }], next.kind).length === 0)
      )
        break;
      waiting.shift();
      if (isLate(next.delivery)) putBack(next.delivery, 0);
      else begin(next.delivery, next.kind);
    }
    if (waiting?.length === 0) ready.delete(hostKey);
  }

  function isLate({ claimedAtMs }: ClaimedDelivery): boolean {
    return isStopping || clock.monotonicMs() - claimedAtMs > BEGIN_WITHIN_MS;
  }

  /** The slot is taken already. */
  function begin(delivery: ClaimedDelivery, kind: Kind): void {
    const { hostKey } = delivery;
    const place = placeOf(delivery);
    if (isLate(delivery) || !lanes.begin(hostKey, kind, place)) {
      if (isLate(delivery)) lanes.giveBack({ hostKey, slots: 1 }, kind);
      return putBack(delivery, IDLE_MS);
    }
    inFlight += 1;
    attempt(delivery)
      .then((made) => {
        lanes.end({
          hostKey,
          kind,
          place,
          outcome: made.outcome,
          durationMs: made.timings.totalMs,
        });
        beginNext(hostKey);
        return conclude(delivery, made);
      })
      .catch((error: unknown) =>
        log.error(
          { error, deliveryId: delivery.deliveryId },
          "an attempt was lost; its lease brings it back",
        ),
      )
      .finally(() => {
        inFlight -= 1;
        // Another event of the same message may have waited for this one.
        wake();
      });
  }

  function placeOf({ url }: ClaimedDelivery) {
    const target = judgeUrl(url, deps.policy);
    return target.allowed
      ? { hostname: target.hostname, origin: target.origin }
      : { hostname: "forbidden", origin: url.slice(0, 200) };
  }

  function attempt(delivery: ClaimedDelivery): Promise<Attempt> {
    const { hostKey, url, body } = delivery;
    const headers = webhookHeaders(
      {
        eventId: eventId(delivery.messageId, delivery.sequence),
        // The database's clock, carried on: nodes may disagree about the time.
        timestampSeconds: Math.floor(
          (delivery.claimedAt.getTime() + clock.monotonicMs() - delivery.claimedAtMs) / 1000,
        ),
        body,
        secrets: [delivery.secrets.current, delivery.secrets.previous].filter(
          (secret) => secret !== null,
        ),
        event: eventNames[delivery.status],
        attempt: delivery.attempt,
        sequence: delivery.sequence,
      },
      deps.version,
    );
    return poster.post({ hostKey, url, headers, body });
  }

  async function conclude(delivery: ClaimedDelivery, made: Attempt): Promise<void> {
    const now = clock.now();
    const at = new Date(now.getTime() - made.timings.totalMs);
    const step = nextStep(made.outcome, { step: delivery.step, now, random: random() });
    switch (step.next) {
      case "ended":
        return recorder.record({ delivery, attempt: made, at, next: "ended", ended: step.ended });
      case "not_tried":
        log.error(
          { deliveryId: delivery.deliveryId, outcome: made.outcome },
          "a webhook could not be tried by a fault of ours",
        );
        return recorder.record({
          delivery,
          attempt: null,
          at,
          next: "put_back",
          waitMs: step.dueAt.getTime() - now.getTime(),
        });
      case "again": {
        const isWaitingInVain =
          lanes.healthOf(delivery.hostKey) === "open" && isTooOldToWait(delivery.createdAt, now);
        if (isWaitingInVain || delivery.interrupted >= POISON)
          return recorder.record({
            delivery,
            attempt: made,
            at,
            next: "ended",
            ended: "exhausted",
          });
        return recorder.record({
          delivery,
          attempt: made,
          at,
          next: "again",
          step: step.step,
          waitMs: step.dueAt.getTime() - now.getTime(),
        });
      }
    }
  }

  function putBack(delivery: ClaimedDelivery, waitMs: number): void {
    recorder
      .record({ delivery, attempt: null, at: clock.now(), next: "put_back", waitMs })
      .catch((error: unknown) =>
        log.error(
          { error, deliveryId: delivery.deliveryId },
          "a claim could not be given back; its lease ends by itself",
        ),
      );
  }

  const loop: Loop = { name: "deliver webhooks", idleMs: IDLE_MS, pass };
  return {
    loop,
    /** How to wake the loop, once it runs. */
    onWake(listener: () => void): void {
      wake = listener;
    },
    /** Gives back what has not begun, lets what has begun end within its deadline. */
    async stop(): Promise<void> {
      isStopping = true;
      for (const waiting of ready.values())
        for (const { delivery } of waiting) putBack(delivery, 0);
      ready.clear();
      const deadlineMs = clock.monotonicMs() + BEGIN_WITHIN_MS;
      while (inFlight > 0 && clock.monotonicMs() < deadlineMs) await clock.sleep(10);
      await poster.close();
      await recorder.idle();
    },
  };
}
