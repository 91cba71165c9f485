import type { Receipt } from "#carriers";
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
};

/** Longest time between a message's acceptance and its submission: 35 days ahead, 3 days valid. */
const LONGEST_WAIT_MS = 38 * 86_400_000;

/**
 * Carriers use ids again: the newest submission that still awaits a receipt is meant, inside the
 * carrier's window; failing that the newest, for the history. The recipient breaks ties.
 */
export function matchReceipts(
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
                  ${lookups.map(({ since }) => since)}::timestamptz[])
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
