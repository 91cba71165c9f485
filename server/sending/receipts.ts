import { lockAccounts } from "#accounts";
import {
  type LockedMessage,
  lockMessagesOf,
  type Move,
  moveMessages,
  type MoveListener,
} from "#messages";
import type { Transaction } from "#platform";
import { isBad, isOpen, judgeReceipt } from "./judge-receipt.ts";
import {
  afterAll,
  type ArrivedReceipt,
  endOfNumber,
  type Match,
  matchReceipts,
  type MatchRules,
  meantSince,
} from "./match-receipts.ts";
import { parkReceipts } from "./parked-receipts.ts";
import { type Note, noteReceipts, readProgress } from "./submission-receipts.ts";

type Surroundings = {
  rules: MatchRules;
  listener: MoveListener;
  /** Called once the receipts that matched are stored. */
  onNoted: (notes: readonly Note[]) => void;
};

/**
 * Stores receipts with their submissions and moves the messages they finish. States only move
 * forward: a receipt for a message that has ended is kept and changes nothing. Receipts that match
 * no submission yet are parked until it is recorded. Returns how many were parked.
 */
export async function applyReceipts(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  { rules, listener, onNoted }: Surroundings,
): Promise<number> {
  if (arrived.length === 0) return 0;
  const { matches: found, meantFrom } = await matchReceipts(tx, arrived, rules);
  const rejected = found.filter(({ n }) => arrived[n]?.receipt.effect === "rejected");
  if (rejected.length > 0)
    await lockAccounts(tx, [...new Set(rejected.map(({ account_id }) => account_id))]);
  const messages =
    found.length > 0 ? await lockMessagesOf(tx, found) : new Map<string, LockedMessage>();
  const isEarly = earlyAmong(arrived, messages, rules);
  const matches = found.filter((match) => !isEarly(match));
  for (const match of found) if (isEarly(match)) meantFrom.set(match.n, afterAll([match]));
  const matched = new Set(matches.map(({ n }) => n));
  const unmatched = arrived.flatMap((each, n) => {
    const since = meantFrom.get(n);
    if (matched.has(n)) return [];
    return since
      ? [{ ...each, since, recipientEnd: endOfNumber(each.receipt.recipient) }]
      : [{ ...each, since: meantSince(each, rules) }];
  });
  await parkReceipts(tx, unmatched);
  if (matches.length === 0) return unmatched.length;

  const bad = new Set(
    matches
      .filter(({ n }) => isBad(arrived[n]?.receipt.effect))
      .map(({ message_id }) => message_id),
  );
  const progress = await readProgress(
    tx,
    [...messages.values()].filter(
      ({ segments, message_id }) => segments > 1 || bad.has(message_id),
    ),
  );

  // The progress of one-segment messages with only good receipts was not read: whatever other
  // receipts decided since the match, delivered is delivered.
  for (const [messageId, ofOne] of Map.groupBy(matches, ({ message_id }) => message_id)) {
    const open = new Set(ofOne.filter((match) => !match.is_decided).map(({ turn }) => turn));
    if (!progress.has(messageId)) progress.set(messageId, new Map([[1, { effect: null, open }]]));
  }

  const notes: Note[] = [];
  const moves: Move[] = [];
  for (const match of matches) {
    const message = messages.get(match.message_id);
    const { receipt, at } = arrived[match.n] as ArrivedReceipt;
    if (!message) continue;
    const isLate = !isOpen(message);
    const { move, ...verdict } = judgeReceipt(message, {
      match,
      receipt,
      at,
      progress: progress.get(match.message_id) ?? new Map(),
      per: rules(receipt.carrierId).per,
    });
    notes.push({ ...verdict, match, receipt, at, isLate });
    if (move) {
      moves.push(move);
      message.status = move.to;
    }
  }
  await noteReceipts(tx, notes);
  await moveMessages(tx, moves, listener);
  tx.afterCommit(() => onNoted(notes));
  return unmatched.length;
}

/**
 * Whether a receipt has overtaken the answer that uses its id again: it names another number than
 * its match, and this node is handing a message to that number. Without the latter it is of its
 * match after all, as some carriers name a number of their own.
 */
function earlyAmong(
  arrived: ArrivedReceipt[],
  messages: ReadonlyMap<string, LockedMessage>,
  rules: MatchRules,
): (match: Match) => boolean {
  const handedTo = new Map<string, Set<string | undefined>>();
  return ({ n, message_id, is_decided }) => {
    const { carrierId, recipient } = (arrived[n] as ArrivedReceipt).receipt;
    const end = endOfNumber(recipient);
    if (is_decided || end === undefined) return false;
    if (messages.get(message_id)?.recipient.endsWith(end) !== false) return false;
    const ends = handedTo.getOrInsertComputed(carrierId, () => {
      const inHand = [...(rules(carrierId).inHand ?? [])];
      return new Set(inHand.map(({ message }) => endOfNumber(message.recipient)));
    });
    return ends.has(end);
  };
}

/** The accounts of messages that these receipts reject, to be locked before anything else. */
export async function findRejected(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<string[]> {
  const rejecting = arrived.filter(({ receipt }) => receipt.effect === "rejected");
  if (rejecting.length === 0) return [];
  const { matches } = await matchReceipts(tx, rejecting, rules);
  return matches.map(({ account_id }) => account_id);
}
