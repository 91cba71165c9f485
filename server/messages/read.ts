import type { Status } from "#contract";
import { idFloor, isId, type Queryable, type Sql, sql, type Transaction } from "#platform";
import { type MessageRow, messageColumns } from "./message-row.ts";

export async function findMessage(
  db: Queryable,
  accountId: string,
  messageId: string,
): Promise<MessageRow | undefined> {
  if (!isId(messageId)) return undefined;
  const [message] = await findMessages(db, accountId, [messageId]);
  return message;
}

/** In the order of the ids asked for. */
export async function findMessages(
  db: Queryable,
  accountId: string,
  messageIds: readonly string[],
): Promise<MessageRow[]> {
  return db.query<MessageRow>(sql`
    select ${messageColumns}
      from unnest(${messageIds}::uuid[]) with ordinality as u (message_id, n)
      join messages m on m.account_id = ${accountId} and m.message_id = u.message_id
     order by u.n`);
}

/** Messages of any accounts, by account and id. */
export async function findMessagesOf(
  db: Queryable,
  pairs: readonly { account_id: string; message_id: string }[],
): Promise<Map<string, MessageRow>> {
  const rows = await db.query<MessageRow>(sql`
    select ${messageColumns}
      from unnest(${pairs.map(({ account_id }) => account_id)}::uuid[],
                  ${pairs.map(({ message_id }) => message_id)}::uuid[]) as u (account_id, message_id)
      join messages m on m.account_id = u.account_id and m.message_id = u.message_id`);
  return new Map(rows.map((row) => [row.message_id, row]));
}

/** What a receipt may need of its message. */
export type LockedMessage = Pick<
  MessageRow,
  | "account_id"
  | "message_id"
  | "recipient"
  | "segments"
  | "status"
  | "callback_url"
  | "carrier_id"
  | "sent_at"
>;

/** Locked in the order of ids until the transaction ends. */
export async function lockMessagesOf(
  tx: Transaction,
  pairs: readonly { account_id: string; message_id: string }[],
): Promise<Map<string, LockedMessage>> {
  const rows = await tx.query<LockedMessage>(sql`
    select m.account_id, m.message_id, m.recipient, m.segments, m.status, m.callback_url, m.carrier_id, m.sent_at
      from unnest(${pairs.map(({ account_id }) => account_id)}::uuid[],
                  ${pairs.map(({ message_id }) => message_id)}::uuid[]) as u (account_id, message_id)
      join messages m on m.account_id = u.account_id and m.message_id = u.message_id
     order by m.message_id
       for no key update of m`);
  return new Map(rows.map((row) => [row.message_id, row]));
}

export type Filter = {
  statuses: readonly Status[] | null;
  recipient: string | null;
  reference: string | null;
  createdAfter: Date | null;
  createdBefore: Date | null;
};

export type Page = { rows: MessageRow[]; nextId: string | null };

/** Messages looked at for one page, so that a rare status costs no more than this. */
const MAX_SCANNED = 10_000;
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * One page, newest first, of what is older than `beforeId`. It walks an index that begins with the
 * account, so its cost does not grow with the table. What no index finds is sifted: such a page
 * looks at a bounded number of messages, and may be short of `limit` and still have a next one.
 */
export async function listMessages(
  db: Queryable,
  {
    accountId,
    filter,
    beforeId,
    limit,
  }: { accountId: string; filter: Filter; beforeId: string | null; limit: number },
): Promise<Page> {
  const window = pageWindow(accountId, filter, beforeId);
  const rows = await selectPage(db, window, { filter, limit });
  if (rows.length > limit || !isSifted(filter)) return pageOf(rows, limit, null);
  const edge = await findEdge(db, window);
  if (edge === null) return pageOf(rows, limit, null);
  // Once more, down to the edge: a message that came in between has moved it, and what lies
  // between the two edges would stand on both pages.
  const bounded = sql`${window} and m.message_id >= ${edge}`;
  return pageOf(await selectPage(db, bounded, { filter, limit }), limit, edge);
}

function pageOf(rows: MessageRow[], limit: number, edge: string | null): Page {
  if (rows.length <= limit) return { rows, nextId: edge };
  return { rows: rows.slice(0, limit), nextId: rows[limit - 1]?.message_id ?? null };
}

/** One row more than the page has, to know whether another follows. */
function selectPage(
  db: Queryable,
  window: Sql,
  { filter, limit }: { filter: Filter; limit: number },
): Promise<MessageRow[]> {
  const { statuses } = filter;
  const recipient = filter.reference === null ? null : filter.recipient;
  return db.query<MessageRow>(sql`
    select ${messageColumns}
      from (select * from messages m where ${window} order by m.message_id desc limit ${MAX_SCANNED}) m
     where (${statuses}::text[] is null or m.status = any (${statuses}::text[]))
       and (${recipient}::text is null or m.recipient = ${recipient})
     order by m.message_id desc
     limit ${limit + 1}`);
}

/** The oldest message that a page may look at, where there are more. */
async function findEdge(db: Queryable, window: Sql): Promise<string | null> {
  const [edge] = await db.query<{ message_id: string }>(sql`
    select m.message_id from messages m where ${window} order by m.message_id desc offset ${MAX_SCANNED - 1} limit 1`);
  return edge?.message_id ?? null;
}

/** Status is in no index, and no index has both recipient and reference. */
function isSifted({ statuses, recipient, reference }: Filter): boolean {
  return statuses !== null || (recipient !== null && reference !== null);
}

/** What one index finds, in its order. */
function pageWindow(accountId: string, filter: Filter, beforeId: string | null): Sql {
  const { createdAfter, createdBefore, recipient, reference } = filter;
  const ceiling = createdBefore ? idFloor(createdBefore) : LAST_ID;
  const upper = beforeId !== null && beforeId < ceiling ? beforeId : ceiling;
  const lower = createdAfter ? idFloor(createdAfter) : FIRST_ID;
  const bounds = sql`m.account_id = ${accountId} and m.message_id < ${upper} and m.message_id >= ${lower}`;
  if (reference !== null) return sql`${bounds} and m.reference = ${reference}`;
  return recipient === null ? bounds : sql`${bounds} and m.recipient = ${recipient}`;
}
