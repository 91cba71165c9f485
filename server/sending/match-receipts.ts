import type { Receipt, ReceiptRules } from "#carriers";
import { findMessagesOf, type MessageRow } from "#messages";
import { DAY_MS, idFloor, sql, type Transaction } from "#platform";
import type { DueSend } from "./due-send.ts";

/** A receipt on its way into the tables. */
export type ArrivedReceipt = {
  receipt: Receipt;
  at: Date;
  /** If it was parked: since when, and whether that is longer than an answer can take. */
  parked?: { at: Date; isLong: boolean };
};

/** How a carrier wants its receipts matched, and what this node is handing to it. */
export type MatchRules = (
  carrierId: string,
) => Omit<ReceiptRules, "parkedMs"> & { inHand?: Iterable<Pick<DueSend, "message">> };

/** The submission that a receipt belongs to; n is the receipt's index in the batch. */
export type Match = {
  n: number;
  message_id: string;
  account_id: string;
  segment: number;
  turn: number;
  at: Date;
  /** Whether a receipt had already decided it when it was read. */
  is_decided: boolean;
};

/** The longest time from acceptance to submission: scheduled 35 days ahead, valid for 3 days. */
export const LONGEST_WAIT_MS = 38 * DAY_MS;

/**
 * About this many submissions are read per batch, the newest of each id. A carrier may give one id
 * to everything it takes, and its receipts must not delay those of other carriers.
 */
const MAX_READ = 10_000;
const [FEWEST_OF_ONE_ID, MOST_OF_ONE_ID] = [10, 1_000];

/** The last 7 digits of a number are the same in every format that carriers use. */
const NUMBER = /^\+?\d*(\d{7})$/;

export function endOfNumber(address: string | null): string | undefined {
  return NUMBER.exec(address ?? "")?.[1];
}

/** A receipt never means a submission older than this, even one with its id. */
export function meantSince({ receipt, at }: ArrivedReceipt, rules: MatchRules): Date {
  return new Date(at.getTime() - rules(receipt.carrierId).windowMs);
}

type Matched = {
  matches: Match[];
  /** For receipts that mean none of these: a submission to their recipient from then on fits. */
  meantFrom: Map<number, Date>;
};

/**
 * Carriers reuse ids, and under a carrier's id rule one id may fit two submissions. Within the
 * carrier's window the receipt means the one to its recipient. If several fit, or it names nobody,
 * it means the newest that still awaits a receipt, or else the newest, for the history. If it names
 * somebody else, its submission may not be recorded yet. A receipt parked for long overtook no
 * answer: it belongs to a submission with that id only if it does not name somebody else.
 */
export async function matchReceipts(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<Matched> {
  const { submissions, isCut } = await findSubmissions(tx, arrived, rules);
  const rivals = arrived.map(rivalsIn(submissions));
  const tied = new Set(
    rivals.filter((some, n) => isContested(some, arrived[n]) && isNamed(arrived[n])),
  );
  const pairs = [...tied].flat();
  const messages = pairs.length > 0 ? await findMessagesOf(tx, pairs) : new Map();

  const matched: Matched = { matches: [], meantFrom: new Map() };
  for (const [n, each] of arrived.entries()) {
    const inWindow = within(rivals[n] ?? [], meantSince(each, rules));
    const [first] = inWindow;
    if (!first) continue;
    const { defaultSender } = rules(each.receipt.carrierId);
    const meant = isContested(inWindow, each)
      ? meantOf(inWindow, each.receipt.recipient, { messages, defaultSender })
      : first;
    if (meant) matched.matches.push({ n, ...meant });
    else if (!isCut(each)) matched.meantFrom.set(n, afterAll(inWindow));
  }
  return matched;
}

type Candidate = Omit<Match, "n">;

function isNamed(arrived: ArrivedReceipt | undefined): boolean {
  return arrived?.receipt.recipient !== null;
}

/**
 * Whether the recipient must decide which submission is meant. If the only one is decided already,
 * the receipt may have overtaken the answer that uses its id again.
 */
function isContested(rivals: Candidate[], arrived: ArrivedReceipt | undefined): boolean {
  const isSpent = rivals[0]?.is_decided === true;
  return rivals.length > 1 || isSpent || arrived?.parked?.isLong === true;
}

function within(rivals: Candidate[], since: Date): Candidate[] {
  // Comparing numbers is twelve times faster: many may share an id, and have many receipts.
  const sinceMs = since.getTime();
  const isBefore = ({ at }: Candidate) => at.getTime() < sinceMs;
  // Rarely true: a carrier's window is days long.
  return rivals.some(isBefore) ? rivals.filter((each) => !isBefore(each)) : rivals;
}

export function afterAll(rivals: readonly Pick<Match, "at">[]): Date {
  return new Date(rivals.reduce((newest, { at }) => Math.max(newest, at.getTime()), 0) + 1);
}

function meantOf(
  rivals: Candidate[],
  named: string | null,
  {
    messages,
    defaultSender,
  }: { messages: Map<string, MessageRow>; defaultSender: string | null | undefined },
): Candidate | undefined {
  const messageOf = ({ message_id }: Candidate) => messages.get(message_id);
  const same = rivals.find((each) => messageOf(each)?.recipient === named);
  if (same) return same;
  const end = endOfNumber(named);
  if (end === undefined) return rivals[0];
  // A carrier may repeat both addresses as they were in the submission, not swapped.
  const isOurs = rivals.some((each) => (messageOf(each)?.sender ?? defaultSender)?.endsWith(end));
  return isOurs ? rivals[0] : rivals.find((each) => messageOf(each)?.recipient.endsWith(end));
}

/**
 * What a receipt may mean: those that await one first, then by the order of its ids, then the
 * newest. Receipts with the same ids share one list, since both may be many.
 */
function rivalsIn(submissions: Map<string, Candidate[]>): (arrived: ArrivedReceipt) => Candidate[] {
  const known = new Map<string, Candidate[]>();
  return ({ receipt: { carrierId, carrierMessageIds } }) => {
    const key = keyOf(carrierId, carrierMessageIds.join("\0"));
    return known.getOrInsertComputed(key, () =>
      carrierMessageIds
        .flatMap((id) => submissions.get(keyOf(carrierId, id)) ?? [])
        .toSorted((a, b) => Number(a.is_decided) - Number(b.is_decided)),
    );
  };
}

function keyOf(carrierId: string, matchId: string): string {
  return `${carrierId} ${matchId}`;
}

/** The newest submissions of each wanted id; `isCut` tells whether a receipt's ids have more. */
async function findSubmissions(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<{
  submissions: Map<string, Candidate[]>;
  isCut: (arrived: ArrivedReceipt) => boolean;
}> {
  const lookups = new Map<string, { carrierId: string; id: string; since: Date }>();
  let oldest = Number.MAX_SAFE_INTEGER;
  for (const each of arrived) {
    const { carrierId, carrierMessageIds } = each.receipt;
    const since = meantSince(each, rules);
    oldest = Math.min(oldest, since.getTime());
    for (const id of carrierMessageIds) {
      const key = keyOf(carrierId, id);
      const known = lookups.get(key);
      if (!known || since < known.since) lookups.set(key, { carrierId, id, since });
    }
  }
  const wanted = [...lookups.values()];
  const share = Math.floor(MAX_READ / wanted.length);
  const most = Math.min(MOST_OF_ONE_ID, Math.max(FEWEST_OF_ONE_ID, share));
  // Each id follows the index, which has this order, so no more rows are read than returned.
  const rows = await tx.query<Candidate & { carrier_id: string; match_id: string }>(sql`
    select u.carrier_id, u.match_id, s.message_id, s.account_id, s.segment, s.turn,
           s.receipt_effect is not null as is_decided, s.at
      from unnest(${wanted.map(({ carrierId }) => carrierId)}::uuid[], ${wanted.map(({ id }) => id)}::text[],
                  ${wanted.map(({ since }) => since)}::timestamptz[])
           as u (carrier_id, match_id, since)
     cross join lateral (
       select s.message_id, s.account_id, s.segment, s.turn, s.receipt_effect, s.at
         from submissions s
        where s.carrier_id = u.carrier_id and s.match_id = u.match_id and s.at >= u.since
          and s.message_id >= ${idFloor(new Date(oldest - LONGEST_WAIT_MS))}
        order by s.at desc
        limit ${most}
     ) s
     order by s.at desc`);
  const submissions = Map.groupBy(rows, ({ carrier_id, match_id }) => keyOf(carrier_id, match_id));
  return {
    submissions,
    // MOST_OF_ONE_ID is never exceeded, so asking again would gain nothing then.
    isCut: ({ receipt: { carrierId, carrierMessageIds } }) =>
      most < MOST_OF_ONE_ID &&
      carrierMessageIds.some((id) => submissions.get(keyOf(carrierId, id))?.length === most),
  };
}
