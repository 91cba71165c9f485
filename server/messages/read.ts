import { type Queryable, readId, sql, type Transaction } from "#platform";
import { type MessageRow, messageColumns } from "./message-row.ts";

export async function findMessage(
  db: Queryable,
  accountId: string,
  messageId: string,
): Promise<MessageRow | undefined> {
  const id = readId(messageId);
  if (id === undefined) return undefined;
  const [message] = await findMessages(db, accountId, [id]);
  return message;
}

/** In the order of the given ids. */
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

/** Messages of any accounts, by account and id. The comparison is as in `accept_messages`. */
export async function findMessagesOf(
  db: Queryable,
  pairs: readonly { account_id: string; message_id: string }[],
): Promise<Map<string, MessageRow>> {
  const rows = await db.query<MessageRow>(sql`
    select ${messageColumns}
      from unnest(${pairs.map(({ account_id }) => account_id)}::uuid[],
                  ${pairs.map(({ message_id }) => message_id)}::uuid[]) as u (account_id, message_id)
      join messages m on m.account_id = any (array[u.account_id]) and m.message_id = u.message_id`);
  return new Map(rows.map((row) => [row.message_id, row]));
}

/** What processing a receipt may need of its message. */
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

/** Locks by id until the transaction ends. The comparison is as in `accept_messages`. */
export async function lockMessagesOf(
  tx: Transaction,
  pairs: readonly { account_id: string; message_id: string }[],
): Promise<Map<string, LockedMessage>> {
  const rows = await tx.query<LockedMessage>(sql`
    select m.account_id, m.message_id, m.recipient, m.segments, m.status, m.callback_url, m.carrier_id, m.sent_at
      from unnest(${pairs.map(({ account_id }) => account_id)}::uuid[],
                  ${pairs.map(({ message_id }) => message_id)}::uuid[]) as u (account_id, message_id)
      join messages m on m.account_id = any (array[u.account_id]) and m.message_id = u.message_id
     order by m.message_id
       for no key update of m`);
  return new Map(rows.map((row) => [row.message_id, row]));
}
