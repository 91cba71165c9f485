import type { Receipt } from "#carriers";
import { findMessagesOf } from "#messages";
import { idFloor, sql, type Transaction } from "#platform";

/** A receipt on its way into the tables. */
export type ArrivedReceipt = { receipt: Receipt; at: Date };

/** How the carriers that receipts come from want them matched. */
export type MatchRules = (carrierId: string) => { windowMs: number; per: "segment" | "message" };

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

type Candidate = Match & { rank: number };

/** Longest time between a message's acceptance and its submission: 35 days ahead, 3 days valid. */
const LONGEST_WAIT_MS = 38 * 86_400_000;

/** As many submissions with one id as are looked at. */
const MAX_RIVALS = 10;

/** Submissions before this are not meant by a receipt, also where they have its id. */
export function meantSince({ receipt, at }: ArrivedReceipt, rules: MatchRules): Date {
  return new Date(at.getTime() - rules(receipt.carrierId).windowMs);
}

/**
 * Carriers use ids again: the newest submission that still awaits a receipt is meant, inside the
 * carrier's window; failing that the newest, for the history. The recipient breaks ties.
 */
export async function matchReceipts(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<Match[]> {
  const candidates = Map.groupBy(await findCandidates(tx, arrived, rules), ({ n }) => n);
  const rivals = [...candidates.values()].map(bestOf);
  const tied = rivals.filter(({ length }) => length > 1).flat();
  const messages = tied.length > 0 ? await findMessagesOf(tx, tied) : new Map();
  return rivals.flatMap((equals) => {
    const recipient = arrived[equals[0]?.n ?? -1]?.receipt.recipient;
    const meant = equals.find(
      ({ message_id }) => messages.get(message_id)?.recipient === recipient,
    );
    return meant ?? equals[0] ?? [];
  });
}

/** Of one receipt: those with the id it names first, that wait for a receipt as the newest does. */
function bestOf(candidates: Candidate[]): Candidate[] {
  const [first] = candidates;
  return candidates.filter(
    ({ rank, is_decided }) => rank === first?.rank && is_decided === first.is_decided,
  );
}

/** Those that wait for a receipt first, then the newest. */
function findCandidates(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<Candidate[]> {
  const lookups = arrived.flatMap((each, n) =>
    each.receipt.carrierMessageIds.map((id, rank) => {
      return { n, rank, id, carrierId: each.receipt.carrierId, since: meantSince(each, rules) };
    }),
  );
  const oldest = lookups.reduce(
    (floor, { since }) => Math.min(floor, since.getTime()),
    Number.MAX_SAFE_INTEGER,
  );
  return tx.query<Candidate>(sql`
    select u.n, u.rank, s.message_id, s.account_id, s.segment, s.turn, s.receipt_effect is not null as is_decided
      from unnest(${lookups.map(({ n }) => n)}::int[], ${lookups.map(({ rank }) => rank)}::int[],
                  ${lookups.map(({ carrierId }) => carrierId)}::uuid[], ${lookups.map(({ id }) => id)}::text[],
                  ${lookups.map(({ since }) => since)}::timestamptz[])
           as u (n, rank, carrier_id, match_id, since)
     cross join lateral (
       select s.message_id, s.account_id, s.segment, s.turn, s.receipt_effect, s.at
         from submissions s
        where s.carrier_id = u.carrier_id and s.match_id = u.match_id and s.at >= u.since
          and s.message_id >= ${idFloor(new Date(oldest - LONGEST_WAIT_MS))}
        order by (s.receipt_effect is null) desc, s.at desc
        limit ${MAX_RIVALS}
     ) s
     order by u.n, u.rank, s.receipt_effect is not null, s.at desc`);
}
