import { findHeldAccounts, sendTokensOf } from "#accounts";
import {
  type Backend,
  batcher,
  type Clock,
  type Database,
  DatabaseUnavailable,
  isLockedOut,
  type Log,
  type Metrics,
  narrowGate,
  sql,
  takeTurns,
  type Turns,
} from "#platform";
import {
  acceptMessages,
  type Acceptance,
  type AcceptRequest,
  type AcceptSettings,
} from "./accept.ts";
import type { MessageRow } from "./message-row.ts";

export type Accepted =
  | Exclude<Acceptance, { outcome: "again" }>
  | { outcome: "queue_full" }
  | { outcome: "unknown" };

/**
 * This node's sender, as far as accepting needs to know it. A message whose hand-over can start at
 * once is inserted with a lease and passed to the sender after the commit, which saves a claim.
 */
export type Intake = {
  /** Reserves a place for the message; false if it must wait for its turn in the queue. */
  reserve(message: MessageRow): boolean;
  /** The message is stored: hand it over. */
  take(message: MessageRow): void;
  /** The message was refused; or it had no place, and waits in the queue from now on. */
  release(message: MessageRow): void;
};

type Deps = {
  /** Few connections with generic plans. Nothing else runs on them. */
  db: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  settings: Omit<AcceptSettings, "isLeased" | "onStored">;
  intake: Intake | undefined;
  /** Messages per batch, and concurrent batches per lane. */
  maxItems?: number;
  maxRunning?: number;
};

const MAX_ITEMS = 500;
/**
 * Each account belongs to one lane, and a lane has one batch in flight, so that no batch waits for
 * accounts that another has locked. Lanes take turns: while one stores, the other gathers requests,
 * and begins when the one has written everything and commits. Two batches at once would each be
 * half as large, and each costs a millisecond whatever it holds.
 */
const LANES = 2;
const MAX_RUNNING = 1;
/** A batch that takes longer is waiting: for a lock, a slow disk or a remote database. */
const LATE_MS = 25;
/** For this many messages that millisecond is a tenth, so two batches at once are faster. */
const LARGE_BATCH = 200;
const MAX_WAITING = 5_000 / LANES;
const MAX_BYTES = (64 * 1024 * 1024) / LANES;
/** Accounts known to be locked are served two at a time, so that the lanes keep a connection. */
const MAX_APART = 2;
const SETTLE_MS = 5_000;

/** Roughly a message's size in memory. Most of it may be client text, in any of these fields. */
function bytesOf({ text, metadata, callback_url, reference }: MessageRow): number {
  const written = [text, metadata, callback_url, reference];
  return written.reduce((sum, each) => sum + 2 * (each?.length ?? 0), 500);
}

/** Apart: not accepted with the others, because the account's row is locked or may be. */
type Tried = Acceptance | Accepted | { outcome: "apart" };
const APART = { outcome: "apart" } as const;

/** Gathers requests into batches of one statement each, and answers each after its commit. */
export function acceptor(deps: Deps): (request: AcceptRequest) => Promise<Accepted> {
  const { metrics, maxItems = MAX_ITEMS, maxRunning = MAX_RUNNING } = deps;
  const makeLane = (
    accept: (requests: AcceptRequest[], onStored: () => void) => Promise<(Tried | Error)[]>,
    turns?: Turns,
  ) =>
    batcher<AcceptRequest, Tried>({
      run: (requests, over) => {
        metrics.batchSize.labels("accept").observe(requests.length);
        return accept(requests, over);
      },
      whenFull: () => ({ outcome: "queue_full" }),
      maxItems,
      maxRunning,
      maxWaiting: MAX_WAITING,
      maxBytes: MAX_BYTES,
      turns,
      largeFrom: LARGE_BATCH,
      sizeOf: ({ messages }) => messages.length,
      bytesOf: ({ messages }) => messages.reduce((sum, message) => sum + bytesOf(message), 0),
    });

  /** Accounts that were found locked. Each has its own lane until one of its batches passes. */
  const apart = new Map<string, ReturnType<typeof makeLane>>();
  const gate = narrowGate(MAX_APART, Number.POSITIVE_INFINITY);
  const laneApart = (accountId: string) =>
    makeLane(async (requests) => {
      const leave = await gate.enter();
      try {
        const results = await acceptBatch(deps, requests);
        if (!results.some(isHeld)) apart.delete(accountId);
        return results;
      } finally {
        leave?.();
      }
    });
  const setApart = (accountId: string) => apart.getOrInsertComputed(accountId, laneApart);
  const acceptTogether = async (requests: AcceptRequest[], onStored: () => void) => {
    const results = await acceptWithout(apart, requests, (some) =>
      acceptBatch(deps, some, onStored),
    );
    requests.forEach(({ accountId }, n) => isHeld(results[n]) && setApart(accountId));
    return results;
  };
  const turns = maxRunning === 1 ? takeTurns(deps.clock, LATE_MS) : undefined;
  const lanes = Array.from({ length: LANES }, () => makeLane(acceptTogether, turns));

  const messages = metrics.counter("messages_accepted_total", "Messages accepted and charged.");
  metrics.batchWaiting(() =>
    [...lanes, ...apart.values()].map(({ waiting }) => ({
      labels: { kind: "accept" },
      value: waiting,
    })),
  );

  return async function acceptOne(request) {
    const { accountId } = request;
    const lane = apart.get(accountId) ?? (lanes[laneOf(accountId)] as (typeof lanes)[number]);
    const accepted = await lane(request);
    if (accepted.outcome === "apart") setApart(accountId);
    if (accepted.outcome === "apart" || accepted.outcome === "again") return acceptOne(request);
    if (accepted.outcome === "accepted") messages.inc(request.messages.length);
    return accepted;
  };
}

function isHeld(result: unknown): boolean {
  return result instanceof DatabaseUnavailable && isLockedOut(result);
}

/** The last digit of an id is as good as random. */
function laneOf(accountId: string): number {
  return accountId.charCodeAt(accountId.length - 1) % LANES;
}

/** Accepts the requests of all other accounts together; those of the given ones are set apart. */
async function acceptWithout(
  accounts: { has(accountId: string): boolean },
  requests: AcceptRequest[],
  accept: (requests: AcceptRequest[]) => Promise<(Tried | Error)[]>,
): Promise<(Tried | Error)[]> {
  const together = requests.filter(({ accountId }) => !accounts.has(accountId));
  const results = together.length > 0 ? await accept(together) : [];
  const byRequest = new Map(together.map((request, n) => [request, results[n]]));
  return requests.map((request) => byRequest.get(request) ?? APART);
}

async function acceptBatch(
  deps: Deps,
  requests: AcceptRequest[],
  onStored?: () => void,
): Promise<(Tried | Error)[]> {
  const { intake } = deps;
  const told = new Set<MessageRow>();
  const reserved = new Set<MessageRow>();
  for (const { messages } of requests) {
    for (const message of messages) {
      if (message.send_at !== null || !intake) continue;
      told.add(message);
      if (intake.reserve(message)) reserved.add(message);
    }
  }
  const isLeased = (message: MessageRow) => reserved.has(message);
  const settings = { ...deps.settings, isLeased, ...(onStored && { onStored }) };
  try {
    const results = await acceptOrSettle(deps, requests, settings);
    requests.forEach(({ messages, accountId, keyId }, position) => {
      const result = results[position];
      if (!result || result instanceof Error || result.outcome !== "accepted") return;
      for (const message of messages) {
        message.account_id = accountId;
        message.key_id = keyId;
        message.sender ??= result.defaultSender;
        if (reserved.has(message) && told.delete(message)) intake?.take(message);
      }
    });
    return results;
  } finally {
    // Whatever went wrong: a place that is not released stays taken until the next start.
    for (const message of told) intake?.release(message);
  }
}

async function acceptOrSettle(
  deps: Deps,
  requests: AcceptRequest[],
  settings: AcceptSettings,
): Promise<(Tried | Error)[]> {
  try {
    return await acceptMessages(deps.db, requests, settings);
  } catch (error) {
    if (error instanceof DatabaseUnavailable) {
      const accounts = new Set(requests.map(({ accountId }) => accountId));
      if (!isHeld(error) || accounts.size === 1) return settleUnknown(deps, requests, error);
      // Somebody holds locks on some of the accounts. The others must not wait for them.
      const held = await findHeldAccounts(deps.db, [...accounts]);
      // If none is locked any more, suspect all. An account that gets through alone soon rejoins.
      const suspected = held.size > 0 ? held : accounts;
      return acceptWithout(suspected, requests, (some) => acceptOrSettle(deps, some, settings));
    }
    if (requests.length === 1) return [error as Error];
    // A bad row must harm only itself, so each request is tried once more, alone.
    deps.log.error({ error }, `a batch of ${requests.length} requests failed; each is tried alone`);
    const alone = requests.map((request) => acceptOrSettle(deps, [request], settings));
    return (await Promise.all(alone)).flat();
  }
}

/**
 * The connection broke during a commit. A new connection ends the old backend, so that it cannot
 * commit later, and then looks for our ids: if they are there, the request was accepted; if not,
 * nothing was. What cannot be settled in time is answered as unknown, never guessed.
 */
async function settleUnknown(
  deps: Deps,
  requests: AcceptRequest[],
  lost: DatabaseUnavailable,
): Promise<(Accepted | Error)[]> {
  if (lost.unknownBackend === undefined) return requests.map(() => lost);
  const deadline = deps.clock.monotonicMs() + SETTLE_MS;
  let reason: unknown = lost;
  while (deps.clock.monotonicMs() < deadline) {
    try {
      if (await isBackendGone(deps.db, lost.unknownBackend))
        return await outcomesByIds(deps, requests, lost);
    } catch (error) {
      reason = error;
      if (!(error instanceof DatabaseUnavailable)) break;
    }
    await deps.clock.sleep(100);
  }
  deps.log.error(
    { error: reason },
    `the outcome of ${requests.length} requests could not be learned`,
  );
  return requests.map(() => ({ outcome: "unknown" }));
}

/** Compares the start time too: by now, or after a failover, the pid may be another backend's. */
async function isBackendGone(db: Database, { pid, startedAt }: Backend): Promise<boolean> {
  const [state] = await db.query<{ is_there: boolean }>(sql`
    select count(pg_terminate_backend(pid)) > 0 as is_there
      from pg_stat_activity
     where pid = ${pid} and backend_start = ${startedAt}::timestamptz`);
  return state?.is_there === false;
}

type Stored = { message_id: string; sender: string | null; tokens: number };

async function outcomesByIds(
  { db, settings }: Deps,
  requests: AcceptRequest[],
  lost: Error,
): Promise<(Accepted | Error)[]> {
  const accounts = requests.map(({ accountId }) => accountId);
  const ids = requests.map((request) => witness(request)?.message_id ?? null);
  // The commit found here may have been cut off while it waited for the standby. This statement
  // writes too, so it waits for everything before it, and its answer survives a failover.
  const stored = await db.query<Stored>(sql`
    with written as materialized (select pg_logical_emit_message(true, 'posthorn', 'settled'::text))
    select m.message_id, m.sender, ${sendTokensOf(sql`u.account_id`, settings)} as tokens
      from written
     cross join unnest(${accounts}::uuid[], ${ids}::uuid[]) as u (account_id, message_id)
      join messages m on m.account_id = u.account_id and m.message_id = u.message_id`);
  const byId = new Map(stored.map((row) => [row.message_id, row]));
  return requests.map((request) => {
    const found = byId.get(witness(request)?.message_id ?? "");
    return found
      ? { outcome: "accepted", tokens: found.tokens, defaultSender: found.sender }
      : lost;
  });
}

/** Requests are stored whole or not at all. Prefers a message that shows the account's sender. */
function witness({ messages }: AcceptRequest): MessageRow | undefined {
  return messages.find(({ sender }) => sender === null) ?? messages[0];
}
