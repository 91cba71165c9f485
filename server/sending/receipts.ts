import { lockAccounts } from "#accounts";
import type { Receipt } from "#carriers";
import type { DeliveryErrorCode } from "#contract";
import {
  type LockedMessage,
  lockMessagesOf,
  type MessageRow,
  type Move,
  moveMessages,
  type Outbox,
} from "#messages";
import { idFloor, newId, sql, type Transaction } from "#platform";

/** A receipt on its way into the tables. */
export type ArrivedReceipt = { receipt: Receipt; at: Date };

/** How the carriers that receipts come from want them matched. */
export type MatchRules = (carrierId: string) => { windowMs: number; per: "segment" | "message" };

type Surroundings = {
  rules: MatchRules;
  outbox: Outbox | undefined;
  /** Called once the receipts that matched are stored. */
  onNoted: (notes: readonly Note[]) => void;
};

/** Longest time between a message's acceptance and its submission: 35 days ahead, 3 days valid. */
const LONGEST_WAIT_MS = 38 * 86_400_000;

type Match = {
  n: number;
  message_id: string;
  account_id: string;
  segment: number;
  turn: number;
};

/**
 * Stores receipts with the submissions they belong to and moves the messages they finish. States
 * only move forward: a receipt for a message that has ended is kept and changes nothing. One that
 * matches no submission yet is parked, for whoever records that submission. Answers how many were.
 */
export async function applyReceipts(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  { rules, outbox, onNoted }: Surroundings,
): Promise<number> {
  if (arrived.length === 0) return 0;
  const matches = await matchReceipts(tx, arrived, rules);
  const matched = new Map(matches.map((match) => [match.n, match]));
  const unmatched = arrived.filter((_receipt, n) => !matched.has(n));
  await parkReceipts(tx, unmatched);
  if (matches.length === 0) return unmatched.length;

  const rejected = matches.filter(({ n }) => arrived[n]?.receipt.effect === "rejected");
  if (rejected.length > 0)
    await lockAccounts(tx, [...new Set(rejected.map(({ account_id }) => account_id))]);
  const messages = await lockMessagesOf(tx, matches);
  const bad = new Set(
    matches
      .filter(({ n }) => isBad(arrived[n]?.receipt.effect))
      .map(({ message_id }) => message_id),
  );
  const segments = await readSegments(
    tx,
    [...messages.values()].filter(
      ({ segments, message_id }) => segments > 1 || bad.has(message_id),
    ),
  );

  const notes: Note[] = [];
  const moves: Move[] = [];
  for (const match of matches) {
    const message = messages.get(match.message_id);
    const { receipt, at } = arrived[match.n] as ArrivedReceipt;
    if (!message) continue;
    const progress =
      segments.get(match.message_id) ?? new Map([[match.segment, { effect: null, open: 1 }]]);
    const isLate = !isOpen(message);
    const { move, isApplied } = judgeReceipt(message, {
      match,
      receipt,
      at,
      progress,
      per: rules(receipt.carrierId).per,
    });
    notes.push({ match, receipt, at, isApplied, isLate });
    if (move) {
      moves.push(move);
      message.status = move.to;
    }
  }
  await noteReceipts(tx, notes);
  await moveMessages(tx, moves, outbox);
  tx.afterCommit(() => onNoted(notes));
  return unmatched.length;
}

/** Accounts of messages that these receipts reject, so that they can be locked before anything else. */
export async function findRejected(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<string[]> {
  const rejecting = arrived.filter(({ receipt }) => receipt.effect === "rejected");
  if (rejecting.length === 0) return [];
  return (await matchReceipts(tx, rejecting, rules)).map(({ account_id }) => account_id);
}

/** Per segment: what its receipts have decided, and how many submissions of it still await one. */
type Progress = Map<number, { effect: Receipt["effect"] | null; open: number }>;

function isBad(effect: Receipt["effect"] | null | undefined): effect is "undelivered" | "rejected" {
  return effect === "undelivered" || effect === "rejected";
}

function isOpen({ status }: LockedMessage): boolean {
  return status === "SENT" || status === "QUEUED";
}

type Judgement = {
  match: Match;
  receipt: Receipt;
  at: Date;
  progress: Progress;
  per: "segment" | "message";
};

/** What one receipt does to its message, given what its other segments have reached. */
function judgeReceipt(
  message: LockedMessage,
  { match, receipt, at, progress, per }: Judgement,
): { move: Move | undefined; isApplied: boolean } {
  const { effect, errorCode, carrierCode } = receipt;
  const state = progress.get(match.segment) ?? { effect: null, open: 1 };
  if (effect === "none" || !isOpen(message) || state.effect !== null)
    return { move: undefined, isApplied: false };
  state.open -= 1;
  // In doubt, the segment was submitted twice: it is lost only when neither is open any more.
  const isUndecided = isBad(effect) && state.open > 0;
  if (!isUndecided) state.effect = effect;
  // While segments are still being handed over SENT comes first, and settles this.
  if (isUndecided || message.status === "QUEUED") return { move: undefined, isApplied: true };
  return {
    move: finalMove(message, { effect, progress, per, at, errorCode, carrierCode }),
    isApplied: true,
  };
}

type Finish = {
  effect: Receipt["effect"];
  progress: Progress;
  per: "segment" | "message";
  at: Date;
  errorCode: DeliveryErrorCode | null;
  carrierCode: string | null;
};

/** DELIVERED when every segment is; the first bad one decides at once. */
function finalMove(
  message: LockedMessage,
  { effect, progress, per, at, errorCode, carrierCode }: Finish,
): Move | undefined {
  const {
    account_id: accountId,
    message_id: messageId,
    recipient,
    callback_url: callbackUrl,
  } = message;
  // A receipt may be older than the answer it overtook; a message is never delivered before it is sent.
  const since = message.sent_at !== null && message.sent_at > at ? message.sent_at : at;
  const move = { accountId, messageId, recipient, callbackUrl, from: "SENT", at: since } as const;
  const error = { code: errorCode ?? "UNKNOWN", carrierCode };
  switch (effect) {
    case "undelivered":
      return { ...move, to: "UNDELIVERED", error };
    case "rejected":
      return { ...move, to: "FAILED", error };
    case "delivered": {
      const isComplete =
        per === "message" || [...progress.values()].every((each) => each.effect === "delivered");
      return isComplete ? { ...move, to: "DELIVERED" } : undefined;
    }
    case "none":
      return undefined;
  }
}

/**
 * Carriers use ids again: the newest submission that still awaits a receipt is meant, inside the
 * carrier's window; failing that the newest, for the history. The recipient breaks ties.
 */
function matchReceipts(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<Match[]> {
  const lookups = arrived.flatMap(({ receipt, at }, n) =>
    receipt.carrierMessageIds.map((id, rank) => {
      const since = new Date(at.getTime() - rules(receipt.carrierId).windowMs);
      return { n, rank, id, carrierId: receipt.carrierId, recipient: receipt.recipient, since };
    }),
  );
  const oldest = lookups.reduce(
    (floor, { since }) => Math.min(floor, since.getTime()),
    Number.MAX_SAFE_INTEGER,
  );
  return tx.query<Match>(sql`
    select distinct on (u.n) u.n, s.message_id, s.account_id, s.segment, s.turn
      from unnest(${lookups.map(({ n }) => n)}::int[], ${lookups.map(({ rank }) => rank)}::int[],
                  ${lookups.map(({ carrierId }) => carrierId)}::uuid[], ${lookups.map(({ id }) => id)}::text[],
                  ${lookups.map(({ recipient }) => recipient)}::text[],
                  ${lookups.map(({ since }) => since.toISOString())}::timestamptz[])
           as u (n, rank, carrier_id, match_id, recipient, since)
     cross join lateral (
       select s.message_id, s.account_id, s.segment, s.turn, s.receipt_effect, s.at
         from submissions s
        where s.carrier_id = u.carrier_id and s.match_id = u.match_id and s.at >= u.since
          and s.message_id >= ${idFloor(new Date(oldest - LONGEST_WAIT_MS))}
        order by (s.receipt_effect is null) desc, s.at desc
        limit 1
     ) s
     order by u.n, u.rank`);
}

type SegmentRow = {
  message_id: string;
  segment: number;
  effect: Receipt["effect"] | null;
  open: number;
};

/** What the segments of messages have reached; delivered by any submission is delivered. */
async function readSegments(
  tx: Transaction,
  messages: LockedMessage[],
): Promise<Map<string, Progress>> {
  if (messages.length === 0) return new Map();
  const rows = await tx.query<SegmentRow>(sql`
    select message_id, segment, count(*) filter (where receipt_effect is null) as open,
           case when bool_or(receipt_effect = 'delivered') then 'delivered'
                when bool_and(receipt_effect is not null) then max(receipt_effect)
           end as effect
      from submissions
     where message_id = any (${messages.map(({ message_id }) => message_id)}::uuid[]) and outcome = 'accepted'
     group by message_id, segment`);
  const progress = new Map<string, Progress>(
    messages.map((message) => [message.message_id, noneYet(message)]),
  );
  for (const { message_id, segment, effect, open } of rows)
    progress.get(message_id)?.set(segment, { effect, open });
  return progress;
}

function noneYet({ segments }: LockedMessage): Progress {
  return new Map(
    Array.from({ length: segments }, (_, position) => [position + 1, { effect: null, open: 1 }]),
  );
}

export type Note = {
  match: Match;
  receipt: Receipt;
  at: Date;
  isApplied: boolean;
  /** Its message had ended before it came. */
  isLate: boolean;
};

async function noteReceipts(tx: Transaction, notes: Note[]): Promise<void> {
  const entries = notes.map(({ receipt, at, isApplied }) => ({
    at: at.toISOString(),
    state: receipt.state,
    carrierCode: receipt.carrierCode,
    applied: isApplied,
    error: receipt.errorCode,
  }));
  // Several receipts of one submission in a batch become one update, in the order they came.
  await tx.query(sql`
    update submissions s
       set receipts = coalesce(s.receipts, '[]') || u.receipts,
           receipt_effect = coalesce(s.receipt_effect, u.effect)
      from (
        select message_id, segment, turn, jsonb_agg(entry order by n) as receipts,
               (array_agg(effect order by n) filter (where effect is not null))[1] as effect
          from unnest(${notes.map(({ match }) => match.message_id)}::uuid[], ${notes.map(({ match }) => match.segment)}::smallint[],
                      ${notes.map(({ match }) => match.turn)}::smallint[], ${entries.map((entry) => JSON.stringify(entry))}::jsonb[],
                      ${notes.map(({ receipt, isApplied }) => (isApplied ? receipt.effect : null))}::text[])
               with ordinality as u (message_id, segment, turn, entry, effect, n)
         group by message_id, segment, turn
      ) u
     where s.message_id = u.message_id and s.segment = u.segment and s.turn = u.turn`);
}

async function parkReceipts(tx: Transaction, unmatched: ArrivedReceipt[]): Promise<void> {
  if (unmatched.length === 0) return;
  const stored = unmatched.map(({ receipt: { raw: _raw, ...rest } }) => JSON.stringify(rest));
  await tx.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, raw, at)
    select u.parked_id, u.carrier_id, array(select jsonb_array_elements_text(u.receipt -> 'carrierMessageIds')),
           u.receipt, u.raw, u.at
      from unnest(${unmatched.map(({ at }) => newId(at.getTime()))}::uuid[], ${unmatched.map(({ receipt }) => receipt.carrierId)}::uuid[],
                  ${stored}::jsonb[], ${unmatched.map(({ receipt }) => (receipt.raw ? Buffer.from(receipt.raw) : null))}::bytea[],
                  ${unmatched.map(({ at }) => at.toISOString())}::timestamptz[])
           as u (parked_id, carrier_id, receipt, raw, at)`);
}

/**
 * Takes up receipts that were parked because their submission was not recorded yet. Given the ids
 * of submissions just recorded, or none for all that match by now.
 */
export async function takeParked(
  tx: Transaction,
  accepted: { carrierId: string; matchId: string }[] | null,
  limit: number,
): Promise<ArrivedReceipt[]> {
  const condition = accepted
    ? sql`p.match_ids && ${accepted.map(({ matchId }) => matchId)}::text[] and p.carrier_id = any (${accepted.map(({ carrierId }) => carrierId)}::uuid[])`
    : sql`exists (select from submissions s where s.carrier_id = p.carrier_id and s.match_id = any (p.match_ids))`;
  const rows = await tx.query<{ receipt: Omit<Receipt, "raw">; raw: Buffer | null; at: Date }>(sql`
    delete from parked_receipts
     where parked_id in (
             select p.parked_id from parked_receipts p where ${condition} order by p.parked_id limit ${limit} for update skip locked
           )
    returning receipt, raw, at`);
  const byTime = rows.toSorted((a, b) => a.at.getTime() - b.at.getTime());
  return byTime.map(({ receipt, raw, at }) => ({ receipt: { ...receipt, raw }, at }));
}

/**
 * Long messages that became SENT after receipts for their segments had come: those counted for
 * their segments, and decide now. The caller holds the accounts of `findEarlyRejections`.
 */
export async function settleSent(
  tx: Transaction,
  sent: MessageRow[],
  at: Date,
  { rules, outbox }: Pick<Surroundings, "rules" | "outbox">,
): Promise<void> {
  if (sent.length === 0) return;
  const messages = await lockMessagesOf(tx, sent);
  const progress = await readSegments(tx, [...messages.values()]);
  const moves = [...messages.values()].flatMap((message) => {
    const reached = progress.get(message.message_id) ?? noneYet(message);
    const effects = [...reached.values()].map(({ effect }) => effect);
    const effect = effects.find(isBad) ?? effects.find((each) => each === "delivered");
    if (effect === undefined || effect === null || message.status !== "SENT") return [];
    const { per } = rules(message.carrier_id ?? "");
    const errorCode = effect === "rejected" ? "REJECTED_BY_CARRIER" : "RECIPIENT_UNREACHABLE";
    return (
      finalMove(message, { effect, progress: reached, per, at, errorCode, carrierCode: null }) ?? []
    );
  });
  await moveMessages(tx, moves, outbox);
}

/** Accounts of messages that a receipt has rejected before their last segment was handed over. */
export async function findEarlyRejections(tx: Transaction, sent: MessageRow[]): Promise<string[]> {
  if (sent.length === 0) return [];
  const rows = await tx.query<{ account_id: string }>(sql`
    select distinct account_id
      from submissions
     where message_id = any (${sent.map(({ message_id }) => message_id)}::uuid[]) and receipt_effect = 'rejected'`);
  return rows.map(({ account_id }) => account_id);
}
