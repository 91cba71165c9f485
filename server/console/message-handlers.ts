import type { RemoteActor } from "#accounts";
import type { ConsoleMessage, ConsoleOperations, MemberRole, operations, QueryOf } from "#contract";
import type { Handlers, Pager } from "#http";
import {
  type BrowseFilter,
  browseMessages,
  findMessage,
  readFilter,
  type RoutingTable,
} from "#messages";
import { chosen, type Database } from "#platform";
import { findCarrierNames } from "#sending";
import type { ConsoleHandlers, CsvAnswer, Person } from "./console-call.ts";
import { messagesCsv } from "./messages-csv.ts";
import { roleDenied } from "./access.ts";
import { type Account, showMessages } from "./show-messages.ts";

type Deps = {
  db: Database;
  pager: Pager;
  /** The handlers of `/v1`: the pages have no way of their own to send. */
  api: Handlers<typeof operations>;
  routing: RoutingTable;
};

/** Messages: browsing what the role may see; sending and canceling by the handlers of `/v1`. */
export function consoleMessageHandlers(deps: Deps) {
  const { db, pager, api } = deps;
  return {
    async browseMessages({ account, query }) {
      const filter = filterOf(query, account.role);
      const { accountId } = account;
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["messages", accountId, filter],
        browse: (page) => browseMessages(db, { accountId, filter, ...page }),
        idOf: (row) => row.message_id,
      });
      return { data: await showMessages(db, rows, account), ...cursors };
    },

    exportMessages({ account, query }): Promise<CsvAnswer> {
      const filter = filterOf(query, account.role);
      return Promise.resolve({ fileName: "messages.csv", lines: messagesCsv(db, account, filter) });
    },

    composeMessage(call) {
      const { header } = call;
      return api.sendMessage({
        ...apiCall(call),
        body: call.body,
        header(name, value) {
          // The `location` is left out: it is the message's address in `/v1`, not in the dashboard.
          if (name !== "location") header(name, value);
        },
      });
    },

    async previewConsoleMessage(call) {
      const preview = await api.previewMessage({ ...apiCall(call), body: call.body });
      const routing = await deps.routing.current();
      const carriers = await findCarrierNames(
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

    readMessageEvents: (call) => api.listMessageEvents({ ...apiCall(call), params: call.params }),

    cancelConsoleMessage: (call) => api.cancelMessage({ ...apiCall(call), params: call.params }),
  } satisfies Partial<ConsoleHandlers>;
}

type Asked = QueryOf<ConsoleOperations["exportMessages"]>;

function filterOf(asked: Asked, role: MemberRole): BrowseFilter {
  // Viewers see the last four digits, so searching by number would soon reveal the rest.
  if (asked.recipient !== undefined && role === "viewer") throw roleDenied("developer");
  const { keyId = null, sender = null } = asked;
  return { ...readFilter(asked), keyId, sender, errorCodes: chosen(asked.errorCode) };
}

/**
 * A person's call as the handlers of `/v1` take it: no key, and the scopes the operation needs.
 * Its changes go into the audit log under the person's name, in the same transaction.
 */
function apiCall(call: {
  account: Account;
  person: Pick<Person, "sessionId">;
  actor: RemoteActor;
  idempotencyKey: string | undefined;
  problem: (...given: never[]) => Error;
  header: (name: string, value: string) => void;
}) {
  return {
    params: undefined,
    query: undefined,
    body: undefined,
    caller: {
      keyId: null,
      sessionId: call.person.sessionId,
      actor: call.actor,
      accountId: call.account.accountId,
      scopes: [],
    },
    idempotencyKey: call.idempotencyKey,
    problem: call.problem as never,
    header: call.header,
    allowance: () => undefined,
  };
}
