import type { ConsoleMessage } from "#contract";
import { type BrowseFilter, browseMessages } from "#messages";
import type { Database, Position } from "#platform";
import { csvLine } from "./csv.ts";
import { type Account, showMessages } from "./show-messages.ts";

/** Rows of one CSV file at most, and read at once. */
const MAX_CSV_ROWS = 100_000;
const CSV_PAGE = 1_000;

const CSV_HEADER = [
  "messageId",
  "createdAt",
  "status",
  "recipient",
  "sender",
  "text",
  "encoding",
  "segments",
  "credits",
  "creditsRefunded",
  "reference",
  "errorCode",
  "carrierCode",
  "carrier",
  "key",
  "sentAt",
  "deliveredAt",
];

/** The messages of a filter, newest first, a page at a time. */
export async function* messagesCsv(
  db: Database,
  account: Account,
  filter: BrowseFilter,
): AsyncGenerator<string> {
  yield csvLine(CSV_HEADER);
  const { accountId } = account;
  let position: Position = null;
  let written = 0;
  while (written < MAX_CSV_ROWS) {
    const browsed: Awaited<ReturnType<typeof browseMessages>> = await browseMessages(db, {
      accountId,
      filter,
      position,
      limit: CSV_PAGE - 1,
    });
    const { rows, lookedUntil } = browsed;
    for (const shown of await showMessages(db, rows, account)) yield csvLine(csvCells(shown));
    // Where nothing fits for long: a reader who has gone is noticed only when something is handed on.
    yield "";
    written += rows.length;
    const isFull = rows.length === CSV_PAGE;
    const id: string | null | undefined = isFull ? rows.at(-1)?.message_id : lookedUntil;
    if (id === null || id === undefined) return;
    position = { direction: "older", id };
  }
}

function csvCells({ message, key, carrier }: ConsoleMessage) {
  return [
    message.messageId,
    message.createdAt,
    message.status,
    message.recipient,
    message.sender,
    message.text,
    message.encoding,
    message.segments,
    message.credits,
    message.creditsRefunded,
    message.reference,
    message.error?.code ?? null,
    message.error?.carrierCode ?? null,
    carrier?.name ?? null,
    key?.name ?? null,
    message.sentAt,
    message.deliveredAt,
  ];
}
