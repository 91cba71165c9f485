import type { DeliveryErrorCode, Status } from "#contract";
import { idFloor, NIL_ID, type Position, type Queryable, sideOf, type Sql, sql } from "#platform";
import { type MessageRow, messageColumns } from "./message-row.ts";

export type Filter = {
  statuses: readonly Status[] | null;
  recipient: string | null;
  reference: string | null;
  createdAfter: Date | null;
  createdBefore: Date | null;
};

/** What people look for, beyond what a client lists. */
export type BrowseFilter = Filter & {
  errorCodes: readonly DeliveryErrorCode[] | null;
  /** `console`: sent by a person, without a key. */
  keyId: string | null;
  sender: string | null;
};

export type Browsed = {
  /** Nearest to the position first; one more than `limit` if there are more. */
  rows: MessageRow[];
  /** Where to go on when the look ended without a full page; null where the end was reached. */
  lookedUntil: string | null;
};

/** Messages looked at for one page: a rare status, key or sender costs no more than this. */
const MAX_LOOKED_AT = 10_000;

/**
 * Messages on one side of a position. Walks an index that begins with the account, so the cost of a
 * page does not grow with the table; what no index holds is looked for among a bounded number of
 * messages, and the page says where to go on.
 */
export async function browseMessages(
  db: Queryable,
  {
    accountId,
    filter,
    position,
    limit,
  }: { accountId: string; filter: BrowseFilter; position: Position; limit: number },
): Promise<Browsed> {
  const side = sideOf(position);
  const order = sql`order by m.message_id ${side.order}`;
  const select = (window: Sql) =>
    db.query<MessageRow>(sql`
      select ${messageColumns}
        from (select * from messages m where ${window} ${order} limit ${MAX_LOOKED_AT}) m
       where ${unindexed(filter)}
       ${order}
       limit ${limit + 1}`);
  const window = indexed(accountId, filter, position);
  const rows = await select(window);
  if (rows.length > limit || !isSifted(filter)) return { rows, lookedUntil: null };
  const [edge] = await db.query<{ message_id: string }>(sql`
    select m.message_id from messages m where ${window} ${order} offset ${MAX_LOOKED_AT - 1} limit 1`);
  if (!edge) return { rows, lookedUntil: null };
  // Once more, up to the edge: a message that came in between has moved it, and what lies between
  // the two edges would stand on both pages or on none.
  const bounded = sql`${window} and m.message_id ${side.upTo} ${edge.message_id}`;
  return { rows: await select(bounded), lookedUntil: edge.message_id };
}

export type Page = { rows: MessageRow[]; nextId: string | null };

/** One page as a client lists it, newest first; it may be short of `limit` and still have a next one. */
export async function listMessages(
  db: Queryable,
  {
    accountId,
    filter,
    beforeId,
    limit,
  }: { accountId: string; filter: Filter; beforeId: string | null; limit: number },
): Promise<Page> {
  const { rows, lookedUntil } = await browseMessages(db, {
    accountId,
    filter: { ...filter, errorCodes: null, keyId: null, sender: null },
    position: beforeId === null ? null : { direction: "older", id: beforeId },
    limit,
  });
  if (rows.length <= limit) return { rows, nextId: lookedUntil };
  return { rows: rows.slice(0, limit), nextId: rows[limit - 1]?.message_id ?? null };
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** What one index finds, in its order. */
function indexed(accountId: string, filter: BrowseFilter, position: Position): Sql {
  const { createdAfter, createdBefore, recipient, reference } = filter;
  const ceiling = createdBefore ? idFloor(createdBefore) : LAST_ID;
  const floor = createdAfter ? idFloor(createdAfter) : NIL_ID;
  const side =
    position === null ? sql`` : sql`and m.message_id ${sideOf(position).beyond} ${position.id}`;
  const bounds = sql`m.account_id = ${accountId} and m.message_id < ${ceiling} and m.message_id >= ${floor} ${side}`;
  if (reference !== null) return sql`${bounds} and m.reference = ${reference}`;
  return recipient === null ? bounds : sql`${bounds} and m.recipient = ${recipient}`;
}

/** Only recipient and reference are in an index, and no index has both. */
function isSifted(filter: BrowseFilter): boolean {
  const { statuses, errorCodes, keyId, sender, recipient, reference } = filter;
  const isByOther = [statuses, errorCodes, keyId, sender].some((each) => each !== null);
  return isByOther || (recipient !== null && reference !== null);
}

function unindexed(filter: BrowseFilter): Sql {
  const { statuses, errorCodes, sender, reference } = filter;
  const isByPeople = filter.keyId === "console";
  const keyId = isByPeople ? null : filter.keyId;
  const recipient = reference === null ? null : filter.recipient;
  return sql`
    (${statuses}::text[] is null or m.status = any (${statuses}::text[]))
    and (${errorCodes}::text[] is null or m.error_code = any (${errorCodes}::text[]))
    and (${sender}::text is null or m.sender = ${sender})
    and (${recipient}::text is null or m.recipient = ${recipient})
    and (${keyId}::uuid is null or m.key_id = ${keyId})
    and (not ${isByPeople}::boolean or m.key_id is null)`;
}
