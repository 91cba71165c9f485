import type { MemberRole, OperatorStreamEvent } from "#contract";
import { Problem } from "#http";
import type { Clock, Database, Loop } from "#platform";
import type { StreamAnswer } from "./console-call.ts";
import type { StreamSink } from "./stream/event-stream.ts";
import { stillAllowed } from "./sign-in/sessions.ts";
import { eventsOf, writeEvents } from "./stream/events.ts";
import {
  findChanges,
  forgetChanges,
  KEPT_MS,
  type Look,
  lookAtChanges,
  OPERATOR,
  RESUMABLE_MS,
  watchAccounts,
} from "./stream/watch.ts";

/** Who watches what. The operator's stream has no account and no role. */
export type Watcher = {
  userId: string;
  sessionId: string;
  accountId: string | null;
  role: MemberRole | null;
};

type Stream = {
  watcher: Watcher;
  accountId: string;
  sink: StreamSink;
  /** Since when its account has been watched without a gap. */
  since: number;
  /** Set until a look misses nothing: the stream is then told to read everything. */
  readyAfter: bigint | null;
  /** While waiting: when it opened, or was last told to read everything. */
  waitsSinceMs: number;
  /** While waiting: how long until it is told so again. */
  waitMs: number;
  /** Set until it has been told what it missed since this transaction. */
  resumeFrom: string | null;
};

/** Four batches a second at most. */
const LOOK_MS = 250;
const WATCH_AGAIN_MS = 10_000;
/** A foreign transaction may block for hours: streams then reread all, ever less often. */
const WAIT_MS = { first: 5_000, longest: 60_000 };
const CHECK_SESSIONS_MS = 1_000;
/** The event lets pages notice a service that hangs. The comment is for human readers. */
const BEAT_MS = 15_000;
const BEAT = ": beat\nevent: beat\ndata:\n\n";
/** Streams per node, and per person across all sign-ins: a browser opens one per visible tab. */
const MAX_STREAMS = 2_000;
const MAX_STREAMS_A_PERSON = 20;

type Deps = {
  db: Database;
  clock: Clock;
  /** Changes to the operator's pages since the last call, beyond what the watched tables tell. */
  operatorNews: () => Promise<OperatorStreamEvent[]>;
};

/**
 * All open streams of this node. One look at the tables serves all of them, four times a second,
 * and only while somebody watches. A stream carries ids and no content.
 */
export function streamHub({ db, clock, operatorNews }: Deps) {
  const streams = new Set<Stream>();
  /** The snapshot of the last look; null before the first, which only finds where to begin. */
  let seen: string | null = null;
  /** An older look: the changes it saw are deleted once they are old enough. */
  let kept: { snapshot: string; sinceMs: number } | undefined;
  let last = {
    watchMs: -Infinity,
    checkMs: -Infinity,
    lookMs: -Infinity,
    beatMs: clock.monotonicMs(),
  };
  let isClosed = false;
  async function pass(): Promise<void> {
    if (streams.size === 0) {
      seen = null;
      last = { ...last, watchMs: -Infinity, lookMs: -Infinity };
      return;
    }
    const now = clock.monotonicMs();
    if (now - last.watchMs >= WATCH_AGAIN_MS) {
      await watchAgain();
      await forget();
      last.watchMs = now;
    }
    if (now - last.checkMs >= CHECK_SESSIONS_MS) {
      await endForbidden();
      await tellOperators();
      last.checkMs = now;
    }
    const look = await lookAtChanges(db, seen);
    const lookMs = clock.monotonicMs();
    // After so long a gap, another node may have deleted changes that this one never saw.
    if (lookMs - last.lookMs > RESUMABLE_MS) for (const stream of streams) stream.readyAfter ??= 0n;
    const resumed = await resume(look);
    tell(look, { except: resumed, nowMs: lookMs });
    // Only after everybody was told: if telling fails, the next look finds these changes again.
    seen = look.snapshot;
    last.lookMs = lookMs;
    kept ??= { snapshot: look.snapshot, sinceMs: lookMs };
    if (now - last.beatMs >= BEAT_MS) {
      for (const stream of streams) write(stream, BEAT);
      last.beatMs = now;
    }
  }

  /** Watches are not logged: after a database crash they start anew, and so do the streams. */
  async function watchAgain(): Promise<void> {
    const watched = await watchAccounts(
      db,
      [...streams].map(({ accountId }) => accountId),
    );
    for (const stream of streams) {
      const since = watched.since.get(stream.accountId) ?? stream.since;
      if (since <= stream.since) continue;
      stream.since = since;
      stream.readyAfter = BigInt(watched.from);
      stream.resumeFrom = null;
    }
  }

  async function forget(): Promise<void> {
    if (!kept || clock.monotonicMs() - kept.sinceMs < KEPT_MS) return;
    await forgetChanges(db, kept.snapshot);
    kept = undefined;
  }

  /** Tells resumed streams what they missed; the next look may repeat some of it. */
  async function resume(look: Look): Promise<Set<Stream>> {
    const resumed = new Set<Stream>();
    for (const stream of streams) {
      const { resumeFrom, accountId } = stream;
      if (resumeFrom === null) continue;
      stream.resumeFrom = null;
      // The id is from another database, or made up.
      if (BigInt(resumeFrom) > BigInt(look.until)) continue;
      const changes = await findChanges(db, { accountId, from: resumeFrom });
      stream.readyAfter = null;
      resumed.add(stream);
      if (changes.length > 0) write(stream, writeEvents(eventsOf(changes), idOf(look)));
    }
    return resumed;
  }

  function tell(look: Look, { except, nowMs }: { except: Set<Stream>; nowMs: number }): void {
    const byAccount = Map.groupBy(look.changes, ({ account_id }) => account_id);
    for (const stream of streams) {
      if (except.has(stream)) continue;
      const isReady = stream.readyAfter === null || BigInt(look.until) > stream.readyAfter;
      // No id before it is ready: an id promises that nothing before it was missed.
      const id = isReady ? idOf(look) : null;
      if (stream.readyAfter !== null && (isReady || nowMs - stream.waitsSinceMs >= stream.waitMs)) {
        if (isReady) stream.readyAfter = null;
        stream.waitMs = isReady ? WAIT_MS.first : Math.min(2 * stream.waitMs, WAIT_MS.longest);
        stream.waitsSinceMs = nowMs;
        write(stream, writeEvents([{ type: "all" }], id));
        continue;
      }
      const changes = byAccount.get(stream.accountId) ?? [];
      if (changes.length > 0) write(stream, writeEvents(eventsOf(changes), id));
    }
  }

  /** A browser that does not keep up is cut off; it reconnects and reads everything. */
  function write(stream: Stream, text: string): void {
    if (stream.sink.write(text)) return;
    streams.delete(stream);
    stream.sink.end();
  }

  async function endForbidden(): Promise<void> {
    // Streams that open during this query were checked a moment ago; the next round includes them.
    const asked = [...streams];
    const watchers = asked.map(({ watcher }) => watcher);
    const allowed = await stillAllowed(db, watchers, clock.now());
    for (const [position, stream] of asked.entries()) {
      if (allowed[position]) continue;
      streams.delete(stream);
      stream.sink.write('data: {"type":"ended"}\n\n');
      stream.sink.end();
    }
  }

  async function tellOperators(): Promise<void> {
    const watching = [...streams].filter(({ accountId }) => accountId === OPERATOR);
    if (watching.length === 0) return;
    const news = await operatorNews();
    const text = news.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    if (text !== "") for (const stream of watching) write(stream, text);
  }

  async function open(watcher: Watcher): Promise<StreamAnswer> {
    const own = [...streams].filter(({ watcher: { userId } }) => userId === watcher.userId);
    if (streams.size >= MAX_STREAMS || own.length >= MAX_STREAMS_A_PERSON)
      throw new Problem("RATE_LIMITED", [], { "retry-after": "10" });
    const accountId = watcher.accountId ?? OPERATOR;
    const watched = await watchAccounts(db, [accountId]);
    const since = watched.since.get(accountId) ?? Number.POSITIVE_INFINITY;
    return (sink) => {
      if (isClosed) return sink.end();
      const resumeFrom = resumableFrom(sink.lastEventId, { since, nowMs: clock.now().getTime() });
      const stream: Stream = {
        watcher,
        accountId,
        sink,
        since,
        readyAfter: BigInt(watched.from),
        waitsSinceMs: clock.monotonicMs(),
        waitMs: WAIT_MS.first,
        resumeFrom,
      };
      sink.onClose(() => void streams.delete(stream));
      // How soon the browser reconnects after losing the connection.
      sink.write("retry: 2000\n\n");
      streams.add(stream);
    };
  }

  const loop: Loop = {
    name: "tell those who watch",
    idleMs: LOOK_MS,
    pass: () =>
      pass().catch((error: unknown) => {
        // A database failure may have lost the watches: the next pass renews them.
        last.watchMs = -Infinity;
        throw error;
      }),
  };
  return {
    open,
    loop,
    /** Ends every stream, including one about to open, so that the server can close. */
    close(): void {
      isClosed = true;
      for (const { sink } of streams) sink.end();
      streams.clear();
    },
  };
}

/** A stream's position: the transaction it has been told up to, and when that was. */
function idOf({ until, atMs }: Look): string {
  return `${until}.${atMs}`;
}

/** The transaction to resume from; null if not all changes since are still kept. */
function resumableFrom(
  lastEventId: string | undefined,
  { since, nowMs }: { since: number; nowMs: number },
): string | null {
  const [, xid, atMs] = /^(\d{1,18})\.(\d{1,15})$/.exec(lastEventId ?? "") ?? [];
  const isKept = Number(atMs) >= since && nowMs - Number(atMs) < RESUMABLE_MS;
  return xid !== undefined && isKept ? xid : null;
}
