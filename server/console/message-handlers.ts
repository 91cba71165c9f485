import { findKeyNames, recordAudit } from "#accounts";
import type { ConsoleMessage, MemberRole, operations } from "#contract";
import type { Handlers } from "#http";
import {
  type BrowseFilter,
  browseMessages,
  findMessage,
  type MessageRow,
  readFilter,
  type Routing,
} from "#messages";
import { findCarrierNames } from "#sending";
import { type Clock, type Database, isId, type Queryable } from "#platform";
import type { Actor, ConsoleHandlers, CsvAnswer, Person } from "./console-call.ts";
import { csvLine } from "./csv.ts";
import { refuseFields } from "./field-problems.ts";
import { showMessage } from "./mask.ts";
import type { Pager } from "./paging.ts";
import { roleDenied } from "./serve-console.ts";

type Deps = {
  db: Database;
  clock: Clock;
  pager: Pager;
  /** The handlers of `/v1`: the page has no way of its own to send. */
  api: Handlers<typeof operations>;
  routing: { current(): Promise<Routing>; reload(): Promise<Routing> };
};

type Account = { accountId: string; role: MemberRole };

/** Rows of one CSV file at most, and read at once. */
const MAX_CSV_ROWS = 100_000;
const CSV_PAGE = 1_000;

/** Messages: browsing them as the role may, sending and canceling by the handlers of `/v1`. */
export function consoleMessageHandlers(deps: Deps) {
  const { db, clock, pager, api } = deps;
  return {
    async browseMessages({ account, query }) {
      const { limit: _limit, cursor: _cursor, ...asked } = query;
      const filter = filterOf(asked, account.role);
      const boundTo = ["messages", account.accountId, filter];
      const { limit, position } = pager.read(query, boundTo);
      const { accountId } = account;
      const { rows: found, lookedUntil } = await browseMessages(db, {
        accountId,
        filter,
        position,
        limit,
      });
      const { rows, ...cursors } = pager.page(
        found,
        { limit, position, boundTo },
        (row) => row.message_id,
      );
      return {
        data: await showMessages(db, rows, account),
        ...pager.further(cursors, { lookedUntil, position, boundTo }),
      };
    },

    exportMessages({ account, query }): Promise<CsvAnswer> {
      const filter = filterOf(query, account.role);
      return Promise.resolve({ fileName: "messages.csv", lines: csvOf(db, account, filter) });
    },

    async composeMessage(call) {
      const { header } = call;
      let isReplayed = false;
      const message = await api.sendMessage({
        ...apiCall(call),
        body: call.body,
        params: undefined,
        query: undefined,
        header(name, value) {
          if (name === "idempotency-replayed") isReplayed = true;
          // The message's address is one of the dashboard, not of `/v1`.
          if (name !== "location") header(name, value);
        },
      });
      // A crash before this line leaves a message, paid for and sent, that the audit log lacks; the
      // message itself shows that no key sent it.
      if (!isReplayed) await recordSend(db, call, message.messageId, clock.now());
      return message;
    },

    async previewConsoleMessage(call) {
      const preview = await api.previewMessage({
        ...apiCall(call),
        body: call.body,
        params: undefined,
        query: undefined,
      });
      const routing = await deps.routing.current();
      const carriers = await carriersOf(
        db,
        routing.carriersFor(preview.recipient)?.slice(0, 1) ?? [],
      );
      return { ...preview, carrier: [...carriers.values()][0] ?? null };
    },

    async readMessage({ account, params, problem }) {
      const row = await findMessage(db, account.accountId, params.messageId);
      if (!row) throw problem("MESSAGE_NOT_FOUND");
      return (await showMessages(db, [row], account))[0] as ConsoleMessage;
    },

    readMessageEvents(call) {
      const { messageId } = call.params;
      return api.listMessageEvents({
        ...apiCall(call),
        params: { messageId },
        query: undefined,
        body: undefined,
      });
    },

    async cancelConsoleMessage(call) {
      const { account, actor, params } = call;
      const { messageId } = params;
      const before = await findMessage(db, account.accountId, messageId);
      const message = await api.cancelMessage({
        ...apiCall(call),
        params: { messageId },
        query: undefined,
        body: undefined,
      });
      if (before?.error_code !== "CANCELED") {
        const entry = { at: clock.now(), accountId: account.accountId, actor, objectId: messageId };
        await recordAudit(db, { ...entry, action: "message.canceled" });
      }
      return message;
    },
  } satisfies Partial<ConsoleHandlers>;
}

type Asked = Parameters<typeof readFilter>[0] & {
  errorCode?: NonNullable<BrowseFilter["errorCodes"]>;
  keyId?: string;
  sender?: string;
};

function filterOf(asked: Asked, role: MemberRole): BrowseFilter {
  // With the last four digits shown, asking number by number would soon tell the rest.
  if (asked.recipient !== undefined && role === "viewer") throw roleDenied("developer");
  const { keyId = null, sender = null, errorCode } = asked;
  const isKey = keyId === null || keyId === "console" || isId(keyId);
  refuseFields({
    keyId: isKey ? [] : ["keyId must be a key's id, or console."],
    sender: sender?.includes("\0") ? ["sender must not hold a NUL character."] : [],
  });
  const errorCodes = errorCode ? [...new Set(errorCode)].toSorted() : null;
  return { ...readFilter(asked), keyId, sender, errorCodes };
}

/** A call of a person, as the handlers of `/v1` take it: no key, all scopes of the role's operation. */
function apiCall(call: {
  account: Account;
  actor: Actor;
  idempotencyKey: string | undefined;
  problem: (...given: never[]) => Error;
  header: (name: string, value: string) => void;
}) {
  return {
    caller: { keyId: null, accountId: call.account.accountId, scopes: [] },
    idempotencyKey: call.idempotencyKey,
    requestId: call.actor.requestId,
    problem: call.problem as never,
    header: call.header,
    allowance: () => undefined,
  };
}

async function recordSend(
  db: Queryable,
  { account, actor }: { account: Account; actor: Actor; person: Person },
  messageId: string,
  at: Date,
): Promise<void> {
  const entry = { at, accountId: account.accountId, actor, objectId: messageId };
  await recordAudit(db, { ...entry, action: "message.sent" });
}

async function showMessages(
  db: Queryable,
  rows: MessageRow[],
  { accountId, role }: Account,
): Promise<ConsoleMessage[]> {
  const [keys, carriers] = await Promise.all([
    findKeyNames(db, accountId, distinct(rows.map(({ key_id }) => key_id))),
    carriersOf(db, distinct(rows.map(({ carrier_id }) => carrier_id))),
  ]);
  return rows.map((row) => ({
    message: showMessage(row, role),
    version: row.sequence,
    isMasked: role === "viewer",
    key: row.key_id === null ? null : { keyId: row.key_id, name: keys.get(row.key_id) ?? "" },
    carrier: carriers.get(row.carrier_id ?? "") ?? null,
  }));
}

async function carriersOf(db: Queryable, carrierIds: readonly string[]) {
  const rows = await findCarrierNames(db, carrierIds);
  return new Map(
    rows.map(({ carrier_id: carrierId, name, kind }) => [carrierId, { carrierId, name, kind }]),
  );
}

function distinct(ids: (string | null)[]): string[] {
  return [...new Set(ids)].filter((id) => id !== null);
}

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

async function* csvOf(
  db: Database,
  account: Account,
  filter: BrowseFilter,
): AsyncGenerator<string> {
  yield csvLine(CSV_HEADER);
  const { accountId } = account;
  let position: { direction: "older"; id: string } | null = null;
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
