import type { Receipt, ReceiptRules } from "#carriers";
import { findMessagesOf, type MessageRow } from "#messages";
import { DAY_MS, idFloor, sql, type Transaction } from "#platform";

/** A receipt on its way into the tables. */
export type ArrivedReceipt = {
  receipt: Receipt;
  at: Date;
  /** Where it was parked: since when, and whether that is longer than an answer can take. */
  parked?: { at: Date; isLong: boolean };
};

/** How the carriers that receipts come from want them matched. */
export type MatchRules = (carrierId: string) => Omit<ReceiptRules, "parkedMs">;

/** The submission that a receipt belongs to; n is its place among those that arrived. */
export type Match = {
  n: number;
  message_id: string;
  account_id: string;
  segment: number;
  turn: number;
  /** Whether a receipt had decided it when it was looked for. */
  is_decided: boolean;
};

/** Longest time between a message's acceptance and its submission: 35 days ahead, 3 days valid. */
export const LONGEST_WAIT_MS = 38 * DAY_MS;

/**
 * As many submissions are read for a batch, the newest of each id: a carrier may give one id to all that
 * it takes, and its receipts must not keep those of others waiting.
 */
const MAX_READ = 10_000;
const [FEWEST_OF_ONE_ID, MOST_OF_ONE_ID] = [10, 1_000];

/** So many digits at the end of a number are the same in every form that carriers write it in. */
const NUMBER = /^\+?\d*(\d{7})$/;

export function endOfNumber(address: string | null): string | undefined {
  return NUMBER.exec(address ?? "")?.[1];
}

/** Submissions before this are not meant by a receipt, also where they have its id. */
export function meantSince({ receipt, at }: ArrivedReceipt, rules: MatchRules): Date {
  return new Date(at.getTime() - rules(receipt.carrierId).windowMs);
}

type Matched = {
  matches: Match[];
  /** Of receipts that mean none of several submissions: one to their recipient from this time on is meant. */
  meantFrom: Map<number, Date>;
};

/**
 * Carriers use ids again, and read by a carrier's rule an id may be that of two submissions. Inside the
 * carrier's window the one to the receipt's recipient is meant; of several, or where it names nobody, the
 * newest that still awaits a receipt, and failing that the newest, for the history. Where it names
 * somebody else, what it means may not be on record yet. One that has waited for long overtook no answer:
 * it is of a submission of that id only where it does not name somebody else.
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
    else if (!isCut(each)) matched.meantFrom.set(n, afterNewest(inWindow));
  }
  return matched;
}

type Candidate = Omit<Match, "n"> & { at: Date };

function isNamed(arrived: ArrivedReceipt | undefined): boolean {
  return arrived?.receipt.recipient !== null;
}

/** Whether the recipient must tell what is meant. */
function isContested(rivals: Candidate[], arrived: ArrivedReceipt | undefined): boolean {
  return rivals.length > 1 || arrived?.parked?.isLong === true;
}

function within(rivals: Candidate[], since: Date): Candidate[] {
  // As numbers, which is twelve times faster: many may share an id, and have many receipts.
  const sinceMs = since.getTime();
  const isBefore = ({ at }: Candidate) => at.getTime() < sinceMs;
  // Hardly ever: a carrier's window is days.
  return rivals.some(isBefore) ? rivals.filter((each) => !isBefore(each)) : rivals;
}

function afterNewest(rivals: Candidate[]): Date {
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
  // A carrier may write both addresses as they were in the submission.
  const isOurs = rivals.some((each) => (messageOf(each)?.sender ?? defaultSender)?.endsWith(end));
  return isOurs ? rivals[0] : rivals.find((each) => messageOf(each)?.recipient.endsWith(end));
}

/**
 * What may be meant by a receipt: those that wait for one first, then by the order of its ids, then the
 * newest. One list for all receipts that tell the same ids: it may be long, and so many.
 */
function rivalsIn(submissions: Map<string, Candidate[]>): (arrived: ArrivedReceipt) => Candidate[] {
  const known = new Map<string, Candidate[]>();
  return ({ receipt: { carrierId, carrierMessageIds } }) => {
    const key = keyOf(carrierId, carrierMessageIds.join("\0"));
    const rivals =
      known.get(key) ??
      carrierMessageIds
        .flatMap((id) => submissions.get(keyOf(carrierId, id)) ?? [])
        .toSorted((a, b) => Number(a.is_decided) - Number(b.is_decided));
    known.set(key, rivals);
    return rivals;
  };
}

function keyOf(carrierId: string, matchId: string): string {
  return `${carrierId} ${matchId}`;
}

/** The newest of each id that is asked for, by carrier and id, and of which receipts more were there. */
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
  // Each is followed through the index, which is in this order: no more is read than is answered.
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
    // More than the most are never read: nothing is gained by asking again.
    isCut: ({ receipt: { carrierId, carrierMessageIds } }) =>
      most < MOST_OF_ONE_ID &&
      carrierMessageIds.some((id) => submissions.get(keyOf(carrierId, id))?.length === most),
  };
}
