import { recordAudit } from "#accounts";
import type { ConsoleMessage, MemberRole, operations } from "#contract";
import type { Handlers } from "#http";
import {
  type BrowseFilter,
  browseMessages,
  findMessage,
  readFilter,
  type Routing,
} from "#messages";
import { type Clock, type Database, isId, type Queryable } from "#platform";
import type { Actor, ConsoleHandlers, CsvAnswer, Person } from "./console-call.ts";
import { refuseFields } from "./field-problems.ts";
import { messagesCsv } from "./messages-csv.ts";
import type { Pager } from "./paging.ts";
import { roleDenied } from "./serve-console.ts";
import { type Account, carriersOf, showMessages } from "./show-messages.ts";

type Deps = {
  db: Database;
  clock: Clock;
  pager: Pager;
  /** The handlers of `/v1`: the page has no way of its own to send. */
  api: Handlers<typeof operations>;
  routing: { current(): Promise<Routing>; reload(): Promise<Routing> };
};

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
      return Promise.resolve({ fileName: "messages.csv", lines: messagesCsv(db, account, filter) });
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
