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

/** Without a renewal for this long, nothing more may leave: others may think this node is dead. */
export const FRESH_MS = 16_000;
/** How long a stop waits for answers of carriers. */
const DRAIN_MS = 5_000;
const MAX_CLAIM = 500;
/** How often the queue is looked at when nothing is known to wait, for what other nodes accepted. */
const IDLE_MS = 500;

const FIRST_ACCOUNT = NIL_ID;

export type CarrierRun = {
  carrier: Carrier;
  /** Keeps a place for a message about to be accepted; false where it must wait its turn. */
  reserve(message: MessageRow): boolean;
  take(message: MessageRow): void;
  release(message: MessageRow): void;
  /** What is being handed over now. */
  inFlight: ReadonlySet<DueSend>;
  /** Nothing of it is in hand here, nor about to be: while it is paused, nothing leaves. */
  isIdle(): boolean;
  /** It is paused no more: what waits is taken up at once. */
  resume(): void;
  /** Claims no more, gives back what has not left, waits for what has. */
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

/** One carrier at work on this node: takes what is due for it, as much as it has room for. */
export function runCarrier(deps: Deps): CarrierRun {
  const { db, carrier, recorder, nodeId, clock, log } = deps;
  const inFlight = new Set<DueSend>();
  const reserved = new Map<MessageRow, number>();
  const stopping = new AbortController();
  // Until the queue has been seen empty, somebody may be waiting longer than who comes now.
  let hasBacklog = true;
  let afterAccount = FIRST_ACCOUNT;
  // A turn looks at every account once, in as many passes as it takes.
  let isTurnEmpty = true;
  let isClaiming = false;

  const room = () => {
    const isPaused = deps.isPaused(carrier.carrierId);
    const takesNothing = isPaused || stopping.signal.aborted || recorder.isBehind();
    return takesNothing ? 0 : carrier.room() - reserved.size;
  };
  const handOverDeps = {
    ...deps,
    throttling: throttleWatch(clock),
    isLeaseFresh: ({ leasedAtMs }: DueSend) => clock.leaseMs() - leasedAtMs < FRESH_MS,
    onBack() {
      hasBacklog = true;
    },
    answeredLate: new Set<string>(),
    readSegments: (messageId: string) =>
      readSegments(db, { clock }, { messageId, carrierId: carrier.carrierId }),
  };

  function begin(due: DueSend): void {
    inFlight.add(due);
    handOver(handOverDeps, due, stopping.signal)
      // The lease brings it back, in doubt: nobody knows how far it came.
      .catch((error: unknown) =>
        log.error(
          { error, messageId: due.message.message_id },
          `handing over ${due.message.message_id} failed`,
        ),
      )
      .finally(() => inFlight.delete(due));
  }

  async function pass(signal: AbortSignal): Promise<number> {
    const limit = Math.min(MAX_CLAIM, room());
    if (limit <= 0) return 0;
    const nowMs = clock.leaseMs();
    if (afterAccount === FIRST_ACCOUNT) isTurnEmpty = true;
    isClaiming = true;
    const { due, lastAccount } = await claimDueSends(
      db,
      { carrierId: carrier.carrierId, nodeId, room: limit, afterAccount, nowMs },
      { clock, signal },
    ).finally(() => (isClaiming = false));
    for (const each of due) begin(each);
    if (due.length > 0) [hasBacklog, isTurnEmpty] = [true, false];
    afterAccount = due.length < limit ? (lastAccount ?? FIRST_ACCOUNT) : lastServed(due);
    // A turn goes on without a rest, and so does the next one if anything was found.
    if (afterAccount !== FIRST_ACCOUNT || !isTurnEmpty) return 1;
    hasBacklog = false;
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
      reserved.delete(message);
    },
    resume: () => loop.wake(),
    async stop() {
      stopping.abort();
      await loop.stop();
      await quiet(clock.monotonicMs() + DRAIN_MS);
      // What is still unanswered is in doubt from here on, and recorded as that.
      await carrier.stop();
      await quiet(clock.monotonicMs() + DRAIN_MS);
    },
  };
}

/** Those after it go first in the next claim, so that none is served twice before all were once. */
function lastServed(due: DueSend[]): string {
  const accounts = due.map(({ message }) => message.account_id).toSorted();
  return accounts.at(-1) ?? FIRST_ACCOUNT;
}
