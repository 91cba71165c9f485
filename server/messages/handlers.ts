import type { Detail, HistoryEntry, operations, QueryOf } from "#contract";
import { nonGsmCharacters } from "#contract/segments";
import type { Handlers, Pager } from "#http";
import { Problem } from "#http/problem";
import { chosen, readBound } from "#platform";
import { findAccount } from "#accounts";
import { browseMessages, type Filter, NO_MESSAGE_FILTER } from "./browse.ts";
import { type HistorySources, readHistory } from "./history.ts";
import { type MessageRow, present } from "./message-row.ts";
import type { MoveListener } from "./move-listener.ts";
import { findMessage } from "./read.ts";
import { digitsOf } from "./recipient.ts";
import { draftAll, draftContext, type SendDeps, sendMessages } from "./send.ts";
import { cancelMessage } from "./cancel-message.ts";

type Deps = SendDeps & { pager: Pager; sources: HistorySources; listener: MoveListener };

export function messageHandlers(deps: Deps): Handlers<typeof operations> {
  const { db, clock, pager, sources } = deps;
  return {
    async sendMessage({ caller, body, idempotencyKey, header, allowance }) {
      const sent = await sendMessages(deps, caller, { body, idempotencyKey, allowance });
      if (sent.isReplayed) header("idempotency-replayed", "true");
      const message = present(sent.rows[0] as MessageRow);
      header("location", `/v1/messages/${message.messageId}`);
      return message;
    },

    async sendBatch({ caller, body, idempotencyKey, header, allowance }) {
      const sent = await sendMessages(deps, caller, { body, idempotencyKey, allowance });
      if (sent.isReplayed) header("idempotency-replayed", "true");
      return { data: sent.rows.map(present) };
    },

    async previewMessage({ caller, body }) {
      const context = draftContext(deps, await deps.routing.reload());
      const [draft] = draftAll(body, context);
      const account = await findAccount(db, caller.accountId);
      if (!draft || !account) throw new Problem("INTERNAL");
      const { recipient, encoding, segments, credits } = draft.message;
      const { country } = draft;
      return {
        recipient,
        country,
        encoding,
        segments,
        credits,
        balance: account.balance,
        nonGsmCharacters: nonGsmCharacters(body.text),
      };
    },

    async listMessages({ caller: { accountId }, query }) {
      const filter = { ...NO_MESSAGE_FILTER, ...readFilter(query) };
      const { rows, cursors } = await pager.list(query, {
        boundTo: [accountId, filter],
        browse: (page) => browseMessages(db, { accountId, filter, ...page }),
        idOf: (row) => row.message_id,
      });
      return { data: rows.map(present), nextCursor: cursors.nextCursor };
    },

    async retrieveMessage({ caller, params, problem }) {
      const message = await findMessage(db, caller.accountId, params.messageId);
      if (!message) throw problem("MESSAGE_NOT_FOUND");
      return present(message);
    },

    async listMessageEvents({ caller, params, problem }) {
      return db.snapshot(async (snapshot) => {
        const message = await findMessage(snapshot, caller.accountId, params.messageId);
        if (!message) throw problem("MESSAGE_NOT_FOUND");
        return { data: await readHistory(snapshot, message, sources) };
      });
    },

    async cancelMessage({ caller, params, problem }) {
      const known = await findMessage(db, caller.accountId, params.messageId);
      if (!known) throw problem("MESSAGE_NOT_FOUND");
      const { accountId, keyId, sessionId, actor } = caller;
      const isBegun = async () => (await sources.submissions(db, known)).some(mayBeHandedOver);
      const { message_id: messageId } = known;
      const request = { accountId, keyId, sessionId, actor, messageId, now: clock.now(), isBegun };
      const result = await cancelMessage(db, request, deps.listener);
      switch (result.outcome) {
        case "canceled":
        case "already_canceled":
          return present(result.message);
        case "not_cancelable":
          throw problem("MESSAGE_NOT_CANCELABLE", [notCancelable(result.message)]);
        case "not_found":
          throw problem("MESSAGE_NOT_FOUND");
        case "key_revoked":
          throw problem("API_KEY_REVOKED");
        case "key_expired":
          throw problem("API_KEY_EXPIRED");
        case "session_ended":
          throw new Problem("SESSION_REQUIRED");
      }
    },

    async retrieveCredits({ caller }) {
      const account = await findAccount(db, caller.accountId);
      return { balance: account?.balance ?? 0 };
    },
  };
}

function notCancelable({ status }: MessageRow): Detail {
  const message =
    status === "QUEUED"
      ? "The message is QUEUED, but a carrier has or may have part of it, or is just receiving it."
      : `The message is ${status}; only a waiting message can be canceled.`;
  return { field: null, code: "MESSAGE_NOT_CANCELABLE", message };
}

function mayBeHandedOver(entry: HistoryEntry): boolean {
  return entry.type === "doubt" || (entry.type === "submission" && entry.outcome === "accepted");
}

/** The filters of a list. The query's shape check has already reported what is wrong with them. */
export function readFilter(query: QueryOf<(typeof operations)["listMessages"]>): Filter {
  return {
    statuses: chosen(query.status),
    recipient: query.recipient === undefined ? null : digitsOf(query.recipient.replace(/^ /, "+")),
    reference: query.reference ?? null,
    createdAfter: readBound(query.createdAfter),
    createdBefore: readBound(query.createdBefore),
  };
}
