import { type Detail, type ErrorCode, type NewMessage, operations } from "#contract";
import { nonGsmCharacters } from "#contract/segments";
import { type Allowance, type Handlers, Problem, rateLimited, type Refinement } from "#http";
import type { Clock, Database } from "#platform";
import { findAccount } from "#accounts";
import { type AcceptRequest, creditsOf } from "./accept.ts";
import type { Accepted } from "./acceptor.ts";
import type { Cursors } from "./cursor.ts";
import {
  type ConcatReference,
  type DraftContext,
  draftMessage,
  judgeFields,
  type JudgeUrl,
} from "./draft.ts";
import { fingerprint, isIdempotencyKey } from "./idempotency.ts";
import { asAccepted, type MessageRow, present } from "./message-row.ts";
import { type HistorySources, readHistory } from "./history.ts";
import { type Filter, findMessage, findMessages, listMessages } from "./read.ts";
import { digitsOf } from "./recipient.ts";
import type { Routing } from "./routing.ts";
import { cancelMessage } from "./send-queue.ts";
import { readTime } from "./time.ts";

type Deps = {
  db: Database;
  clock: Clock;
  accept: (request: AcceptRequest) => Promise<Accepted>;
  routing: { current(): Promise<Routing>; reload(): Promise<Routing> };
  judgeUrl: JudgeUrl;
  concatReference: ConcatReference;
  cursors: Cursors;
  sources: HistorySources;
  limits: { sends: number; sendsBurst: number };
};

type Sender = { accountId: string; keyId: string | null };
type Sent = { rows: MessageRow[]; isReplayed: boolean; allowance: Allowance };
type Wish = {
  operation: string;
  body: unknown;
  messages: NewMessage[];
  idempotencyKey: string | undefined;
  prefix: (n: number) => string;
};

/** The routes may change while a message is priced; more than this in a row is not chance. */
const MAX_ROUTING_CHANGES = 5;

export function messageHandlers(deps: Deps): Handlers<typeof operations> {
  const { db, clock, cursors, sources } = deps;
  return {
    async sendMessage({ caller, body, idempotencyKey, header, allowance }) {
      const sent = await send(deps, caller, {
        operation: "sendMessage",
        body,
        messages: [body],
        idempotencyKey,
        prefix: () => "",
      });
      allowance(sent.allowance);
      if (sent.isReplayed) header("idempotency-replayed", "true");
      const message = present(sent.rows[0] as MessageRow);
      header("location", `/v1/messages/${message.messageId}`);
      return message;
    },

    async sendBatch({ caller, body, idempotencyKey, header, allowance }) {
      const prefix = (n: number) => `messages[${n}].`;
      const sent = await send(deps, caller, {
        operation: "sendBatch",
        body,
        messages: body.messages,
        idempotencyKey,
        prefix,
      });
      allowance(sent.allowance);
      if (sent.isReplayed) header("idempotency-replayed", "true");
      return { data: sent.rows.map(present) };
    },

    async previewMessage({ caller, body }) {
      const context = await draftContext(deps, await deps.routing.reload());
      const [draft] = draftAll([body], context, () => "");
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

    async listMessages({ caller, query, problem }) {
      const { limit = 25, cursor } = query;
      const filter = readFilter(query);
      const boundTo = JSON.stringify([caller.accountId, filter]);
      const beforeId = cursor === undefined ? null : cursors.read(cursor, boundTo);
      if (beforeId === undefined) throw problem("CURSOR_INVALID");
      const { rows, nextId } = await listMessages(db, {
        accountId: caller.accountId,
        filter,
        beforeId,
        limit,
      });
      return { data: rows.map(present), nextCursor: nextId && cursors.make(nextId, boundTo) };
    },

    async retrieveMessage({ caller, params, problem }) {
      const message = await findMessage(db, caller.accountId, params.messageId);
      if (!message) throw problem("MESSAGE_NOT_FOUND");
      return present(message);
    },

    async listMessageEvents({ caller, params, problem }) {
      const message = await findMessage(db, caller.accountId, params.messageId);
      if (!message) throw problem("MESSAGE_NOT_FOUND");
      return { data: await readHistory(db, message, sources) };
    },

    async cancelMessage({ caller, params, problem }) {
      const known = await findMessage(db, caller.accountId, params.messageId);
      if (!known) throw problem("MESSAGE_NOT_FOUND");
      const result = await cancelMessage(db, {
        accountId: caller.accountId,
        messageId: known.message_id,
        now: clock.now(),
      });
      switch (result.outcome) {
        case "canceled":
        case "already_canceled":
          return present(result.message);
        case "not_cancelable":
          throw problem("MESSAGE_NOT_CANCELABLE");
        case "not_found":
          throw problem("MESSAGE_NOT_FOUND");
      }
    },

    async retrieveCredits({ caller }) {
      const account = await findAccount(db, caller.accountId);
      return { balance: account?.balance ?? 0 };
    },
  };
}

/** Names everything else that is wrong with a send whose shape is wrong already. */
export function sendRefinements(deps: { clock: Clock; judgeUrl: JudgeUrl }) {
  const one = (message: unknown, wrong: ReadonlySet<string>, prefix: string): Detail[] => {
    if (typeof message !== "object" || message === null || Array.isArray(message)) return [];
    const own = new Set(
      [...wrong]
        .filter((field) => field.startsWith(prefix))
        .map((field) => field.slice(prefix.length).split(".")[0] ?? ""),
    );
    const { details } = judgeFields(
      message as NewMessage,
      { now: deps.clock.now(), judgeUrl: deps.judgeUrl },
      own,
    );
    return details.map((detail) => ({ ...detail, field: `${prefix}${detail.field}` }));
  };
  const single: Refinement = (body, wrong) => one(body, wrong, "");
  const batch: Refinement = (body, wrong) => {
    const messages = (body as { messages?: unknown } | null)?.messages;
    if (!Array.isArray(messages)) return [];
    return messages
      .slice(0, 1000)
      .flatMap((message: unknown, n) => one(message, wrong, `messages[${n}].`));
  };
  return { sendMessage: single, sendBatch: batch, previewMessage: single };
}

/** Drafts, accepts, and drafts again where the routes changed in between. */
async function send(deps: Deps, sender: Sender, wish: Wish): Promise<Sent> {
  const { idempotencyKey } = wish;
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey))
    throw new Problem("IDEMPOTENCY_KEY_INVALID");
  const print = idempotencyKey === undefined ? null : fingerprint(wish.operation, wish.body);
  let routing = await deps.routing.current();
  for (let turn = 0; turn < MAX_ROUTING_CHANGES; turn += 1) {
    const drafts = draftAll(wish.messages, draftContext(deps, routing), wish.prefix);
    const request: AcceptRequest = {
      accountId: sender.accountId,
      keyId: sender.keyId,
      routingVersion: routing.version,
      idempotencyKey: idempotencyKey ?? null,
      fingerprint: print,
      messages: drafts.map(({ message }) => message),
    };
    const accepted = await deps.accept(request);
    if (accepted.outcome !== "routing_changed") return conclude(deps, request, accepted);
    routing = await deps.routing.reload();
  }
  throw new Problem("UNAVAILABLE", [], { "retry-after": "1" });
}

async function conclude(
  deps: Deps,
  request: AcceptRequest,
  accepted: Exclude<Accepted, { outcome: "routing_changed" }>,
): Promise<Sent> {
  const { sends: rate, sendsBurst: burst } = deps.limits;
  const allowance = { rate, burst, tokens: "tokens" in accepted ? accepted.tokens : 0 };
  switch (accepted.outcome) {
    case "accepted":
      return { rows: request.messages, isReplayed: false, allowance };
    case "replayed": {
      const rows = await findMessages(deps.db, request.accountId, accepted.messageIds);
      return { rows: rows.map(asAccepted), isReplayed: true, allowance };
    }
    case "credits_insufficient": {
      const [required, { available }] = [creditsOf(request), accepted];
      const message = `${required} credits are required, ${available} are available.`;
      throw new Problem("CREDITS_INSUFFICIENT", [
        { field: null, code: "CREDITS_INSUFFICIENT", message, required, available },
      ]);
    }
    case "rate_limited":
      throw rateLimited(allowance, request.messages.length);
    case "queue_full":
      throw new Problem("QUEUE_FULL", [], { "retry-after": "1" });
    case "key_revoked":
      throw new Problem("API_KEY_REVOKED");
    case "key_expired":
      throw new Problem("API_KEY_EXPIRED");
    case "key_reused":
      throw new Problem("IDEMPOTENCY_KEY_REUSED");
    case "unknown":
    case "again":
      throw new Problem("INTERNAL");
  }
}

function draftContext(deps: Deps, routing: Routing): DraftContext {
  return {
    now: deps.clock.now(),
    routing,
    judgeUrl: deps.judgeUrl,
    concatReference: deps.concatReference,
  };
}

/** All drafts, or one problem that names what is wrong with any of them. */
function draftAll(bodies: NewMessage[], context: DraftContext, prefix: (n: number) => string) {
  const drafts = bodies.map((body) => draftMessage(body, context));
  const named = (n: number, detail: Detail): Detail => ({
    ...detail,
    field: `${prefix(n)}${detail.field ?? ""}`,
  });
  const details = drafts.flatMap((draft, n) =>
    draft.outcome === "invalid" ? draft.details.map((detail) => named(n, detail)) : [],
  );
  if (details.length > 0) throw new Problem("VALIDATION_FAILED", details);
  const drafted = drafts.filter((draft) => draft.outcome === "drafted");
  refuseAll("RECIPIENT_NOT_SERVED", drafted, (draft, n) =>
    draft.message.carrier_id === null
      ? {
          field: `${prefix(n)}recipient`,
          code: "RECIPIENT_NOT_SERVED",
          message: `No route serves ${draft.message.recipient}.`,
        }
      : undefined,
  );
  refuseAll("PRICE_ABOVE_LIMIT", drafted, ({ message, maxCredits }, n) =>
    maxCredits !== null && message.credits > maxCredits
      ? {
          field: `${prefix(n)}maxCredits`,
          code: "PRICE_ABOVE_LIMIT",
          message: `The message costs ${message.credits} credits, more than maxCredits ${maxCredits}.`,
          required: message.credits,
          available: maxCredits,
        }
      : undefined,
  );
  return drafted;
}

function refuseAll<Draft>(
  code: ErrorCode,
  drafts: Draft[],
  judge: (draft: Draft, n: number) => Detail | undefined,
): void {
  const details = drafts.map(judge).filter((detail) => detail !== undefined);
  if (details.length > 0) throw new Problem(code, details);
}

type Query = {
  status?: Filter["statuses"] & unknown;
  recipient?: string;
  reference?: string;
  createdAfter?: string;
  createdBefore?: string;
};

function readFilter(query: Query): Filter {
  const details: Detail[] = [];
  const refuse = (field: string, message: string) =>
    void details.push({ field, code: "PARAMETER_INVALID", message });
  const time = (field: "createdAfter" | "createdBefore") => {
    const text = query[field];
    const read = text === undefined ? null : readTime(text);
    if (read === undefined)
      refuse(
        field,
        `${field} must be an ISO 8601 time with a zone, such as 2026-11-15T09:30:00.000Z.`,
      );
    return read ?? null;
  };
  const recipient =
    query.recipient === undefined ? null : digitsOf(query.recipient.replace(/^ /, "+"));
  if (query.recipient !== undefined && recipient === null)
    refuse("recipient", "recipient must be 7 to 15 digits.");
  const reference = query.reference ?? null;
  if (reference?.includes("\0")) refuse("reference", "reference must not hold a NUL character.");
  const statuses = query.status ? [...new Set(query.status)].toSorted() : null;
  const filter = {
    statuses,
    recipient,
    reference,
    createdAfter: time("createdAfter"),
    createdBefore: time("createdBefore"),
  };
  if (details.length > 0) throw new Problem("VALIDATION_FAILED", details);
  return filter;
}
