import type { Carrier, Receipt } from "#carriers";
import { DAY_MS, idFloor, newIdOf, type Queryable, sql, type Transaction } from "#platform";
import { type ArrivedReceipt, endOfNumber, LONGEST_WAIT_MS } from "./match-receipts.ts";

/** Keeps unmatched receipts for submissions from `since` on, to their recipient if one is named. */
export async function parkReceipts(
  tx: Transaction,
  unmatched: (ArrivedReceipt & { since: Date; recipientEnd?: string | undefined })[],
): Promise<void> {
  if (unmatched.length === 0) return;
  const stored = unmatched.map(({ receipt: { raw: _raw, ...rest } }) => JSON.stringify(rest));
  await tx.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, raw, at, parked_at, since, recipient_end)
    select u.parked_id, u.carrier_id, array(select jsonb_array_elements_text(u.receipt -> 'carrierMessageIds')),
           u.receipt, u.raw, u.at, coalesce(u.parked_at, clock_timestamp()), u.since, u.recipient_end
      from unnest(${unmatched.map(({ at }, n) => newIdOf(at, n))}::uuid[], ${unmatched.map(({ receipt }) => receipt.carrierId)}::uuid[],
                  ${stored}::jsonb[], ${unmatched.map(({ receipt }) => (receipt.raw ? Buffer.from(receipt.raw) : null))}::bytea[],
                  ${unmatched.map(({ at }) => at)}::timestamptz[],
                  ${unmatched.map(({ parked }) => parked?.at ?? null)}::timestamptz[],
                  ${unmatched.map(({ since }) => since)}::timestamptz[],
                  ${unmatched.map(({ recipientEnd }) => recipientEnd ?? null)}::text[])
           as u (parked_id, carrier_id, receipt, raw, at, parked_at, since, recipient_end)`);
}

/** Longer than the answer that a receipt overtook can take, by the database clock. */
const LONG_MS = 60_000;

/**
 * Takes out receipts that were parked because their submission was not recorded yet: either those
 * of submissions just recorded, or those parked since a time that match by now. Only the newest are
 * looked at, so that a flood of receipts that never match stays bounded.
 */
export async function takeParked(
  tx: Transaction,
  wanted:
    | { carrierId: string; matchId: string; recipient: string }[]
    | { since: Date; newest: number },
  limit: number,
): Promise<ArrivedReceipt[]> {
  // Each step has exactly one index and does not rerun for each row of another. Otherwise a plan
  // made while this table was empty rates every path alike, and picks a slow one.
  const condition = Array.isArray(wanted)
    ? sql`p.parked_id = any (array(
             select m.parked_id
               from parked_receipts m
              where m.match_ids && ${wanted.map(({ matchId }) => matchId)}::text[] and exists (select from parked_receipts)
           )) and p.carrier_id = any (${wanted.map(({ carrierId }) => carrierId)}::uuid[])
             and (p.recipient_end is null or p.recipient_end = any (${wanted.map(({ recipient }) => endOfNumber(recipient) ?? null)}::text[]))`
    : sql`p.parked_id >= coalesce((
             select n.parked_id
               from parked_receipts n
              where n.parked_id >= ${idFloor(wanted.since)}
              order by n.parked_id desc
             offset ${wanted.newest - 1} limit 1
           ), ${idFloor(wanted.since)}) and exists (
             select from unnest(p.match_ids) as i (match_id)
              cross join lateral (
                select from submissions s
                 where s.carrier_id = p.carrier_id and s.match_id = i.match_id and s.at >= p.since
                   and s.message_id >= id_floor(p.since - make_interval(secs => ${LONGEST_WAIT_MS / 1000}))
                 order by s.at desc
                 limit 1
              ) s
           )`;
  const rows = await tx.query<ParkedReceipt>(sql`
    delete from parked_receipts
     where parked_id = any (array(
             select p.parked_id from parked_receipts p where ${condition} order by p.parked_id limit ${limit} for update skip locked
           ))
    returning parked_id, receipt, raw, at, parked_at,
              parked_at < clock_timestamp() - make_interval(secs => ${LONG_MS / 1000}) as is_long`);
  return rows.toSorted(asTheyCame).map(({ receipt, raw, at, parked_at, is_long }) => ({
    receipt: { ...receipt, raw },
    at,
    parked: { at: parked_at, isLong: is_long },
  }));
}

type ParkedReceipt = {
  parked_id: string;
  receipt: Omit<Receipt, "raw">;
  raw: Buffer | null;
  at: Date;
  parked_at: Date;
  is_long: boolean;
};

/** Within one millisecond the ids keep the order: the first final receipt decides. */
function asTheyCame(a: ParkedReceipt, b: ParkedReceipt): number {
  return a.at.getTime() - b.at.getTime() || (a.parked_id < b.parked_id ? -1 : 1);
}

/** For carriers that do not run on this node any more. */
const KEPT_MS = 7 * DAY_MS;

/**
 * Gives up receipts that waited as long as their carrier allows, the oldest first, at most `limit`
 * at a time; returns how many. No submission they could belong to was recorded in all that time.
 */
export async function giveUpParked(
  db: Queryable,
  carriers: readonly Pick<Carrier, "carrierId" | "receiptRules">[],
  limit: number,
): Promise<number> {
  const keptMs = carriers.map(({ receiptRules }) => receiptRules.parkedMs);
  const [given] = await db.query<{ up: number }>(sql`
    with kept as materialized (
      select * from unnest(${carriers.map(({ carrierId }) => carrierId)}::uuid[],
                           ${keptMs}::float8[]) as k (carrier_id, ms)
    ), gone as (
      delete from parked_receipts
       where parked_id = any (array(
               select p.parked_id
                 from parked_receipts p
                where p.parked_id < (select id_floor(clock_timestamp() - interval '1 ms' * ${Math.min(KEPT_MS, ...keptMs)}))
                  and p.at < clock_timestamp() - interval '1 ms' * coalesce(
                        (select k.ms from kept k where k.carrier_id = p.carrier_id), ${KEPT_MS}
                      )
                order by p.parked_id
                limit ${limit}
                  for update skip locked
             ))
      returning parked_id
    )
    select count(*) as up from gone`);
  return given?.up ?? 0;
}

/**
 * Under 1 GB. A carrier that also sends us the receipts of another system on the same account would
 * fill the disk within those days. Receipts that do match wait for seconds.
 */
const MOST_KEPT = 1_000_000;

/** Gives up the oldest of too many receipts, at most `limit` at a time; returns how many. */
export async function giveUpSurplus(
  db: Queryable,
  limit: number,
  mostKept: number = MOST_KEPT,
): Promise<number> {
  const [newest] = await db.query<{ parked_id: string }>(sql`
    select parked_id from parked_receipts order by parked_id desc offset ${mostKept} limit 1`);
  if (!newest) return 0;
  const gone = await db.query(sql`
    delete from parked_receipts
     where parked_id = any (array(
             select p.parked_id
               from parked_receipts p
              where p.parked_id <= ${newest.parked_id}
              order by p.parked_id
              limit ${limit}
                for update skip locked
           ))
    returning 1`);
  return gone.length;
}
