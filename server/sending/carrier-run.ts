import type { Carrier } from "#carriers";
import type { MessageRow, Routing } from "#messages";
import {
  type Clock,
  type Database,
  type Log,
  NIL_ID,
  type RunningLoop,
  runLoop,
  type Tracer,
} from "#platform";
import { claimDueSends, type DueSend, readSegments } from "./due-send.ts";
import { handOver } from "./hand-over.ts";
import type { Recorder } from "./recorder.ts";
import { throttleWatch } from "./throttled.ts";

/** A lease not renewed for this long allows no more sends: others may think this node is dead. */
export const FRESH_MS = 16_000;
/** How long `stop` waits for answers, once before the carrier is stopped and once after. */
const DRAIN_MS = 5_000;
const MAX_CLAIM = 500;
/** How often an idle node looks at the queue, for messages that other nodes accepted. */
const IDLE_MS = 500;

const FIRST_ACCOUNT = NIL_ID;

export type CarrierRun = {
  carrier: Carrier;
  /** Reserves room for a message about to be accepted; false if the message must wait its turn. */
  reserve(message: MessageRow): boolean;
  take(message: MessageRow): void;
  /** It was refused; or it had no place, and is in the queue from now on. */
  release(message: MessageRow): void;
  /** The messages being handed over now. */
  inFlight: ReadonlySet<DueSend>;
  /** Whether nothing of it is in hand or being claimed here: if it is paused, nothing leaves. */
  isIdle(): boolean;
  /** Called when its pause ends: takes up at once what waits. */
  resume(): void;
  /** Claims no more, gives back what has not left, and waits for the answers to what has. */
  stop(): Promise<void>;
};

type Deps = {
  db: Database;
  carrier: Carrier;
  recorder: Recorder;
  routing: (isAnew?: boolean) => Promise<Routing>;
  isPaused: (carrierId: string) => boolean;
  nodeId: string;
  clock: Clock;
  log: Log;
  tracer?: Tracer | undefined;
};

/** Runs one carrier on this node: claims the messages due for it, as many as it has room for. */
export function runCarrier(deps: Deps): CarrierRun {
  const { db, carrier, recorder, nodeId, clock, log } = deps;
  const inFlight = new Set<DueSend>();
  const reserved = new Map<MessageRow, number>();
  const stopping = new AbortController();
  // Until the queue has been seen empty, older messages may wait there: new ones go behind them.
  let hasBacklog = true;
  /** What goes back, and is not yet stored so: a claim that does not find it proves nothing. */
  const goingBack = new Set<MessageRow>();
  let afterAccount = FIRST_ACCOUNT;
  // A turn looks at every account once, in as many passes as that takes.
  let isTurnEmpty = true;
  let isClaiming = false;

  const room = () => {
    const isPaused = deps.isPaused(carrier.carrierId);
    const takesNothing = isPaused || stopping.signal.aborted || recorder.isBehind();
    return takesNothing ? 0 : carrier.room() - reserved.size;
  };
  /** A message now waits in the queue. A claim under way may have come too early for it. */
  function joined(): void {
    [hasBacklog, isTurnEmpty] = [true, false];
    loop.wake();
  }
  const handOverDeps = {
    ...deps,
    throttling: throttleWatch(clock),
    isLeaseFresh: ({ leasedAtMs }: DueSend) => clock.leaseMs() - leasedAtMs < FRESH_MS,
    onBack(message: MessageRow) {
      hasBacklog = true;
      goingBack.add(message);
    },
    answeredLate: new Set<string>(),
    readSegments: (messageId: string) =>
      readSegments(db, { clock }, { messageId, carrierId: carrier.carrierId }),
  };

  function begin(due: DueSend): void {
    inFlight.add(due);
    handOver(handOverDeps, due, stopping.signal)
      // Nobody knows how far it came. When its lease runs out, it comes back in doubt.
      .catch((error: unknown) =>
        log.error(
          { error, messageId: due.message.message_id },
          `handing over ${due.message.message_id} failed`,
        ),
      )
      .finally(() => {
        inFlight.delete(due);
        if (goingBack.delete(due.message)) joined();
      });
  }

  async function takeUp(room: number, { nowMs, signal }: { nowMs: number; signal: AbortSignal }) {
    isClaiming = true;
    try {
      const request = { carrierId: carrier.carrierId, nodeId, room, afterAccount, nowMs };
      const claimed = await claimDueSends(db, request, { clock, signal });
      for (const each of claimed.due) begin(each);
      return claimed;
    } finally {
      // Not before all of it is in hand.
      isClaiming = false;
    }
  }

  async function pass(signal: AbortSignal): Promise<number> {
    const limit = Math.min(MAX_CLAIM, room());
    if (limit <= 0) return 0;
    const nowMs = clock.leaseMs();
    if (afterAccount === FIRST_ACCOUNT) isTurnEmpty = true;
    const { due, lastAccount } = await takeUp(limit, { nowMs, signal });
    if (due.length > 0) [hasBacklog, isTurnEmpty] = [true, false];
    afterAccount = due.length < limit ? (lastAccount ?? FIRST_ACCOUNT) : lastServed(due);
    // There is no rest within a turn, nor after a turn that found any messages.
    if (afterAccount !== FIRST_ACCOUNT || !isTurnEmpty) return 1;
    hasBacklog = goingBack.size > 0;
    return 0;
  }

  const loop: RunningLoop = runLoop(
    { name: `send to ${carrier.name}`, idleMs: IDLE_MS, pass },
    { clock, log },
  );
  carrier.onRoom(() => {
    if (hasBacklog) loop.wake();
  });

  async function quiet(untilMs: number): Promise<void> {
    while (inFlight.size + reserved.size > 0 && clock.monotonicMs() < untilMs)
      await clock.sleep(10);
  }

  return {
    carrier,
    inFlight,
    isIdle: () => !isClaiming && inFlight.size + reserved.size === 0,
    reserve(message) {
      const isFree = !hasBacklog && room() >= message.segments;
      if (isFree) reserved.set(message, clock.leaseMs());
      else hasBacklog = true;
      return isFree;
    },
    take(message) {
      const leasedAtMs = reserved.get(message) ?? clock.leaseMs();
      reserved.delete(message);
      begin({ message, epoch: 1, attempt: 1, wasLeased: false, earlier: new Map(), leasedAtMs });
    },
    release(message) {
      if (!reserved.delete(message)) joined();
    },
    resume: () => loop.wake(),
    async stop() {
      stopping.abort();
      await loop.stop();
      await quiet(clock.monotonicMs() + DRAIN_MS);
      // Stopping the carrier puts what is still unanswered in doubt, and that is recorded.
      await carrier.stop();
      await quiet(clock.monotonicMs() + DRAIN_MS);
    },
  };
}

/** The next claim starts after this account, so every account is served before any is again. */
function lastServed(due: DueSend[]): string {
  const accounts = due.map(({ message }) => message.account_id).toSorted();
  return accounts.at(-1) ?? FIRST_ACCOUNT;
}
