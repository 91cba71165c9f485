import type { Receipt } from "#carriers";
import { findMessagesOf } from "#messages";
import { DAY_MS, idFloor, sql, type Transaction } from "#platform";

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

/** Longest time between a message's acceptance and its submission: 35 days ahead, 3 days valid. */
export const LONGEST_WAIT_MS = 38 * DAY_MS;

/** As many submissions with one id as are looked at. */
const MAX_RIVALS = 10;

/** Submissions before this are not meant by a receipt, also where they have its id. */
export function meantSince({ receipt, at }: ArrivedReceipt, rules: MatchRules): Date {
  return new Date(at.getTime() - rules(receipt.carrierId).windowMs);
}

/**
 * Carriers use ids again, and read by a carrier's rule an id may be that of two submissions. Inside the
 * carrier's window the one to the receipt's recipient is meant; of several, or where none is, the newest
 * that still awaits a receipt, and failing that the newest, for the history.
 */
export async function matchReceipts(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<Match[]> {
  const candidates = Map.groupBy(await findCandidates(tx, arrived, rules), ({ n }) => n);
  const tied = [...candidates.values()].filter(({ length }) => length > 1).flat();
  const messages = tied.length > 0 ? await findMessagesOf(tx, tied) : new Map();
  return [...candidates].flatMap(([n, rivals]) => {
    const recipient = arrived[n]?.receipt.recipient;
    const meant = rivals.find(
      ({ message_id }) => messages.get(message_id)?.recipient === recipient,
    );
    return meant ?? rivals[0] ?? [];
  });
}

/** Of each receipt: those that wait for one first, then by the order of its ids, then the newest. */
function findCandidates(
  tx: Transaction,
  arrived: ArrivedReceipt[],
  rules: MatchRules,
): Promise<Match[]> {
  const lookups = arrived.flatMap((each, n) =>
    each.receipt.carrierMessageIds.map((id, rank) => {
      return { n, rank, id, carrierId: each.receipt.carrierId, since: meantSince(each, rules) };
    }),
  );
  const oldest = lookups.reduce(
    (floor, { since }) => Math.min(floor, since.getTime()),
    Number.MAX_SAFE_INTEGER,
  );
  return tx.query<Match>(sql`
    select u.n, s.message_id, s.account_id, s.segment, s.turn, s.receipt_effect is not null as is_decided
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
     order by u.n, s.receipt_effect is not null, u.rank, s.at desc`);
}
