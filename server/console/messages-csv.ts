import type { ConsoleMessage } from "#contract";
import { type BrowseFilter, browseMessages } from "#messages";
import type { Database } from "#platform";
import { allPages, type Columns, csvOf } from "./csv.ts";
import { type Account, showMessages } from "./show-messages.ts";

const columns: Columns<ConsoleMessage> = {
  messageId: ({ message }) => message.messageId,
  createdAt: ({ message }) => message.createdAt,
  status: ({ message }) => message.status,
  recipient: ({ message }) => message.recipient,
  sender: ({ message }) => message.sender,
  text: ({ message }) => message.text,
  encoding: ({ message }) => message.encoding,
  segments: ({ message }) => message.segments,
  credits: ({ message }) => message.credits,
  creditsRefunded: ({ message }) => message.creditsRefunded,
  reference: ({ message }) => message.reference,
  errorCode: ({ message }) => message.error?.code ?? null,
  carrierCode: ({ message }) => message.error?.carrierCode ?? null,
  carrier: ({ carrier, isSubmitted }) => (isSubmitted && carrier?.name) || null,
  key: ({ key }) => key?.name ?? null,
  sentAt: ({ message }) => message.sentAt,
  deliveredAt: ({ message }) => message.deliveredAt,
};

/** The messages of a filter, newest first, a page at a time. */
export function messagesCsv(
  db: Database,
  account: Account,
  filter: BrowseFilter,
): AsyncGenerator<string> {
  const { accountId } = account;
  return csvOf({
    columns,
    pages: allPages({
      browse: (page) => browseMessages(db, { accountId, filter, ...page }),
      idOf: ({ message_id }) => message_id,
    }),
    show: (rows) => showMessages(db, rows, account),
  });
}
