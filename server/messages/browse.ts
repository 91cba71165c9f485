import type { DeliveryErrorCode, Status } from "#contract";
import {
  idFloor,
  type Looked,
  lookThrough,
  NIL_ID,
  type Page,
  type Queryable,
  type Sql,
  sql,
} from "#platform";
import { type MessageRow, messageColumns } from "./message-row.ts";

export type Filter = {
  statuses: readonly Status[] | null;
  recipient: string | null;
  reference: string | null;
  createdAfter: Date | null;
  createdBefore: Date | null;
};

/** What users can search for, beyond the filters of the API's list. */
export type BrowseFilter = Filter & {
  errorCodes: readonly DeliveryErrorCode[] | null;
  /** `console`: sent by a user, without a key. */
  keyId: string | null;
  sender: string | null;
};

export const NO_MESSAGE_FILTER: BrowseFilter = {
  statuses: null,
  recipient: null,
  reference: null,
  createdAfter: null,
  createdBefore: null,
  errorCodes: null,
  keyId: null,
  sender: null,
};

/**
 * Messages before or after a position. Walks an index that begins with the account, so that a
 * page's cost does not grow with the table. Conditions without an index are checked on a bounded
 * number of messages, and the page says where to continue.
 */
export function browseMessages(
  db: Queryable,
  { accountId, filter, ...page }: Page & { accountId: string; filter: BrowseFilter },
): Promise<Looked<MessageRow>> {
  return lookThrough(db, {
    ...page,
    columns: messageColumns,
    from: sql`from messages m`,
    row: sql`m`,
    id: sql`m.message_id`,
    window: indexed(accountId, filter),
    sieve: isSifted(filter) ? unindexed(filter) : null,
  });
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The conditions that one index serves, in its order. */
function indexed(accountId: string, filter: BrowseFilter): Sql {
  const { createdAfter, createdBefore, recipient, reference } = filter;
  const ceiling = createdBefore ? idFloor(createdBefore) : LAST_ID;
  const floor = createdAfter ? idFloor(createdAfter) : NIL_ID;
  const bounds = sql`m.account_id = ${accountId} and m.message_id < ${ceiling} and m.message_id >= ${floor}`;
  if (reference !== null) return sql`${bounds} and m.reference = ${reference}`;
  return recipient === null ? bounds : sql`${bounds} and m.recipient = ${recipient}`;
}

/** Only recipient and reference are indexed, and no index has both. */
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
