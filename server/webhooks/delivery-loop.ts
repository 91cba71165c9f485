import type { WebhookIntake } from "#messages";
import {
  type Clock,
  type Database,
  localMoment,
  type Log,
  type Loop,
  type Metrics,
  type RunningLoop,
  runLoop,
  type SecretBox,
  type Tracer,
} from "#platform";
import { aheadKeeper } from "./ahead.ts";
import { claimDeliveries, type Claims } from "./deliveries.ts";
import { deliveryIntake, putBackUnsigned } from "./delivery-intake.ts";
import { deliveryMetrics } from "./delivery-metrics.ts";
import { deliveryRunner } from "./delivery-runner.ts";
import { BEFORE_ALL_LANES, findNewestReplays, walkLanes } from "./due-lanes.ts";
import type { EgressPolicy } from "./egress/policy.ts";
import { hostKeeper } from "./hosts.ts";
import type { Health } from "./lane-health.ts";
import type { Kind } from "./lane-slots.ts";
import type { Lanes } from "./lanes.ts";
import { namedLanes } from "./named-lanes.ts";
import type { Poster } from "./post.ts";
import { attemptRecorder, idsOf } from "./record-attempts.ts";
import { WALK_EVERY_MS } from "./schedule.ts";

type Deps = {
  /** A few connections with generic plans. */
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  secrets: SecretBox;
  lanes: Lanes;
  poster: Pick<Poster, "post" | "close">;
  policy: EgressPolicy;
  version: string;
  tracer?: Tracer | undefined;
  /** Called with the names of receivers that were healthy before this process began. */
  onRecalled?: (hostnames: string[]) => void;
};

export type DeliveryLoop = WebhookIntake & {
  start(): void;
  /** Claims no more, gives back what has not begun, and lets what has begun end. */
  stop(): Promise<void>;
};

const LANES_A_TURN = 500;

/** Claims what is due, posts it, and records the result. Nothing lives only in memory. */
export function deliveryLoop(deps: Deps): DeliveryLoop {
  const { db, clock, log, lanes, secrets } = deps;
  const metrics = deliveryMetrics(deps.metrics);
  const recorder = attemptRecorder({ db, clock, log, metrics: deps.metrics, onFreed: wake });
  const ahead = aheadKeeper(lanes);
  const runner = deliveryRunner({
    ...deps,
    ahead,
    metrics,
    recorder,
    onRoom: () => {
      if (!named.first.isEmpty() || !named.again.isEmpty() || runner.hasKept()) wakeSoon();
    },
  });
  const isBehind = (hostKey: bigint) => named.first.has(hostKey);
  const intake = deliveryIntake({ db, clock, log, secrets, ahead, runner, isBehind });
  const hosts = hostKeeper({ db, clock, log, lanes, metrics });
  const named = { first: namedLanes(lanes), again: namedLanes(lanes) };
  let after = BEFORE_ALL_LANES;
  let oldestDue = new Map<Health, Date>();
  let walkAtMs = 0;
  let hasRecalled = false;
  let isWakeDue = false;
  let running: RunningLoop | undefined;
  let keepingHosts: RunningLoop | undefined;

  /** What this node writes need not wait for a walk. */
  function wake(hostKeys: readonly bigint[]): void {
    for (const hostKey of hostKeys) named.first.add(hostKey);
    running?.wake();
  }

  /** Many answers come in one turn of the event loop: one pass serves the slots of all of them. */
  function wakeSoon(): void {
    if (isWakeDue) return;
    isWakeDue = true;
    setImmediate(() => {
      isWakeDue = false;
      running?.wake();
    });
  }

  async function pass(): Promise<number> {
    if (!hasRecalled) await recall();
    const isTimeToWalk = clock.monotonicMs() >= walkAtMs;
    if (isTimeToWalk) runner.sweep();
    if (isTimeToWalk) await walk();
    // First attempts before the rest: a recovering backlog never delays fresh events.
    const first = await claim("first");
    const again = await claim("again");
    return first + again + (isTimeToWalk && after !== BEFORE_ALL_LANES ? 1 : 0);
  }

  /** Tried only once: without it hosts start as strangers, and no webhook must wait for this. */
  async function recall(): Promise<void> {
    hasRecalled = true;
    await hosts
      .recall()
      .then(deps.onRecalled)
      .catch((error: unknown) => log.warn({ error }, "known receivers could not be read"));
  }

  /** Looks at lanes in turn, from where the last walk stopped. */
  async function walk(): Promise<void> {
    const walked = await walkLanes(db, after, LANES_A_TURN);
    await probeForReplays(walked.due.map(({ hostKey }) => hostKey));
    for (const { hostKey, firstAt, againAt } of walked.due) {
      if (firstAt !== null) named.first.add(hostKey);
      if (againAt !== null) named.again.add(hostKey);
      noteDue(lanes.healthOf(hostKey), firstAt);
      noteDue(lanes.healthOf(hostKey), againAt);
    }
    after = walked.after ?? BEFORE_ALL_LANES;
    if (walked.after !== null) return;
    metrics.walked(oldestDue, clock.now());
    oldestDue = new Map();
    walkAtMs = clock.monotonicMs() + WALK_EVERY_MS;
  }

  /** A person asked for a replay, on any node or the command line: it waits for no probe. */
  async function probeForReplays(due: bigint[]): Promise<void> {
    const held = due.filter((hostKey) => !lanes.mayTry(hostKey));
    if (held.length === 0) return;
    for (const { hostKey, replayId } of await findNewestReplays(db, held))
      lanes.probe(hostKey, replayId);
  }

  function noteDue(health: Health, at: Date | null): void {
    const oldest = oldestDue.get(health);
    if (at !== null && (oldest === undefined || at < oldest)) oldestDue.set(health, at);
  }

  /** Claims in the named lanes that have room; a lane that may have more stays named. */
  async function claim(kind: Kind): Promise<number> {
    const hostKeys = named[kind].sift();
    // Lanes whose claims wait for a slot share in the grant with those that have yet to claim.
    const inNeed = new Set([...hostKeys, ...runner.lanesKept(kind)]);
    const grants = lanes.grant([...inNeed], kind);
    const free = new Map(grants.map((grant) => [grant.hostKey, runner.beginKept(grant, kind)]));
    // Only first attempts are claimed ahead: for any other, a lease that ran out must mean that it
    // had begun, or three crashes would end a delivery that was never tried.
    const dealt = kind === "first" ? ahead.deal(hostKeys) : new Map<bigint, number>();
    const wish = hostKeys
      .map((hostKey) => ({ hostKey, most: (free.get(hostKey) ?? 0) + (dealt.get(hostKey) ?? 0) }))
      .filter(({ most }) => most > 0);
    try {
      if (wish.length === 0) return 0;
      // Removed before the claim, which may miss what is named meanwhile.
      for (const { hostKey } of wish) named[kind].delete(hostKey);
      const moment = localMoment(clock);
      const claims = await claimDeliveries(db, { lanes: wish, kind, moment, secrets });
      const taken = Map.groupBy(claims.deliveries, ({ hostKey }) => hostKey);
      // A lane that got all it asked for may have more. Retries and replays count double: a claim
      // of them may look at both webhooks of a message and can take only one.
      const looked = kind === "first" ? 1 : 2;
      const served = wish.filter(
        ({ hostKey, most }) => looked * (taken.get(hostKey)?.length ?? 0) >= most,
      );
      named[kind].addServed(served.map(({ hostKey }) => hostKey));
      hand(claims, kind, free);
      return claims.deliveries.length;
    } finally {
      for (const [hostKey, slots] of free) if (slots > 0) lanes.giveBack({ hostKey, slots }, kind);
    }
  }

  function hand(claims: Claims, kind: Kind, free: Map<bigint, number>): void {
    metrics.interrupted(claims.interrupted);
    for (const delivery of claims.deliveries) {
      const slots = free.get(delivery.hostKey) ?? 0;
      if (slots > 0) free.set(delivery.hostKey, slots - 1);
      if (slots > 0) runner.begin(delivery, kind);
      else runner.keep(delivery, kind);
    }
    for (const each of claims.poison) {
      metrics.gaveUp(1);
      log.error(idsOf(each), "a webhook was given up: three attempts in a row were interrupted");
    }
    putBackUnsigned({ log, runner }, claims.unsigned, claims.away);
    for (const each of claims.eventless) endEventless(each);
  }

  function endEventless(each: Claims["eventless"][number]): void {
    log.error(idsOf(each), "a webhook was given up: its event is gone");
    const error = "The event is no longer kept, so there was nothing to send.";
    const how = { next: "ended", ended: "exhausted", class: "event_missing", error } as const;
    recorder
      .record({ claim: each, attempt: null, at: clock.now(), ...how })
      .catch((fault: unknown) =>
        log.error({ error: fault, ...idsOf(each) }, "it could not be ended"),
      );
  }

  const loop: Loop = {
    name: "deliver webhooks",
    /** Until the next walk, which no pass in between delays; the full interval if a walk failed. */
    get idleMs() {
      const leftMs = Math.ceil(walkAtMs - clock.monotonicMs());
      return leftMs > 0 ? leftMs : WALK_EVERY_MS;
    },
    pass,
  };
  return {
    start() {
      running = runLoop(loop, { clock, log });
      keepingHosts = runLoop(hosts.loop, { clock, log });
    },
    wake,
    reserve: intake.reserve,
    take: intake.take,
    release: intake.release,
    async stop() {
      await running?.stop();
      await intake.stop();
      await runner.stop();
      await keepingHosts?.stop();
      await hosts
        .flush()
        .catch((error: unknown) => log.warn({ error }, "hosts could not be noted"));
    },
  };
}
