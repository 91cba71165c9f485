import type { Actor } from "#accounts";
import type { Detail, ErrorCode, NewMessage } from "#contract";
import type { Allowance } from "#http";
import { Problem, queueFull, sendsLimited, unavailable } from "#http/problem";
import type { Clock, Database } from "#platform";
import { type AcceptRequest, creditsOf } from "./accept.ts";
import type { Accepted } from "./acceptor.ts";
import {
  type ConcatReference,
  type DraftContext,
  draftMessage,
  isByRouting,
  type JudgeUrl,
} from "./draft.ts";
import { fingerprint, isIdempotencyKey, meaningOf } from "./idempotency.ts";
import { asAccepted, type MessageRow } from "./message-row.ts";
import { findMessages } from "./read.ts";
import type { Routing, RoutingTable } from "./routing.ts";

/** What sending needs, whether for the API, the dashboard or the terminal. */
export type SendDeps = {
  db: Database;
  clock: Clock;
  accept: (request: AcceptRequest) => Promise<Accepted>;
  routing: RoutingTable;
  judgeUrl: JudgeUrl;
  concatReference: ConcatReference;
  limits: { sends: number; sendsBurst: number };
};

/**
 * The sender. `keyId` is null for a user, whom `actor` may name for the audit log, and who sends
 * only as long as the session lasts, if there is one.
 */
export type Sender = {
  accountId: string;
  keyId: string | null;
  sessionId?: string;
  actor?: Actor;
};
export type Sent = { rows: MessageRow[]; isReplayed: boolean };
/** One message, or a batch that is accepted whole or not at all. */
type SendBody = NewMessage | { messages: NewMessage[] };
export type SendRequest = {
  body: SendBody;
  idempotencyKey: string | undefined;
  /** Is told what is left of the allowance, also if the request is refused. */
  allowance?: (left: Allowance) => void;
};

/** A version that the routing tables never have. */
const NO_ROUTING = -1;
/** The routes may change while a message is priced. More changes in a row are no coincidence. */
const MAX_ROUTING_CHANGES = 5;

/**
 * Drafts and accepts, and drafts again if the routes changed in between. Throws a problem for
 * everything that the API refuses; then nothing is stored or charged.
 */
export async function sendMessages(
  deps: SendDeps,
  sender: Sender,
  wish: SendRequest,
): Promise<Sent> {
  const { body, idempotencyKey } = wish;
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey))
    throw new Problem("IDEMPOTENCY_KEY_INVALID");
  const blank: AcceptRequest = {
    accountId: sender.accountId,
    keyId: sender.keyId,
    sessionId: sender.sessionId ?? null,
    actor: sender.actor,
    routingVersion: NO_ROUTING,
    idempotencyKey: idempotencyKey ?? null,
    fingerprint: idempotencyKey === undefined ? null : printOf(body),
    messages: [],
  };
  let routing = await deps.routing.current();
  for (let turn = 0; turn < MAX_ROUTING_CHANGES; turn += 1) {
    const sent = await sendBy(routing, deps, wish, blank);
    if (sent !== "routing_changed") return sent;
    routing = await deps.routing.reload();
  }
  throw unavailable("Routes and prices change too fast to price a message by them.");
}

/** One try, with one version of the routing tables. */
async function sendBy(
  routing: Routing,
  deps: SendDeps,
  wish: SendRequest,
  blank: AcceptRequest,
): Promise<Sent | "routing_changed"> {
  let drafts;
  try {
    drafts = draftAll(wish.body, draftContext(deps, routing));
  } catch (problem) {
    if (await isOutdated(routing, deps, problem)) return "routing_changed";
    return await replayOr(problem, deps, wish, blank);
  }
  const messages = drafts.map(({ message }) => message);
  const request = { ...blank, routingVersion: routing.version, messages };
  const accepted = await deps.accept(request);
  return accepted.outcome === "routing_changed"
    ? "routing_changed"
    : conclude(deps, wish, request, accepted);
}

/** Whether the tables changed since they caused a refusal. A remembered copy never decides that. */
async function isOutdated(routing: Routing, deps: SendDeps, problem: unknown): Promise<boolean> {
  const isRefusedByIt = problem instanceof Problem && problem.details.some(isByRouting);
  return isRefusedByIt && (await deps.routing.reload()).version !== routing.version;
}

/**
 * A request that was accepted before gets the same answer, even if it would be refused now: its
 * `sendAt` has passed, a route is gone, a price has risen. `blank` has no routing version, so
 * nothing is accepted anew. If the lookup failed, the answer is to ask again, not the refusal.
 */
async function replayOr(
  problem: unknown,
  deps: SendDeps,
  wish: SendRequest,
  blank: AcceptRequest,
): Promise<Sent> {
  if (blank.idempotencyKey === null) throw problem;
  const accepted = await deps.accept(blank);
  const isLookedUp = accepted.outcome !== "queue_full" && accepted.outcome !== "unknown";
  if (isLookedUp && accepted.outcome !== "replayed") throw problem;
  return conclude(deps, wish, blank, accepted);
}

async function conclude(
  deps: SendDeps,
  wish: SendRequest,
  request: AcceptRequest,
  accepted: Exclude<Accepted, { outcome: "routing_changed" }>,
): Promise<Sent> {
  const { sends: rate, sendsBurst: burst } = deps.limits;
  const allowance = { rate, burst, tokens: "tokens" in accepted ? accepted.tokens : 0 };
  const isKeyGood = accepted.outcome !== "key_revoked" && accepted.outcome !== "key_expired";
  if ("tokens" in accepted && isKeyGood) wish.allowance?.(allowance);
  switch (accepted.outcome) {
    case "accepted":
      return { rows: request.messages, isReplayed: false };
    case "replayed": {
      const rows = await findMessages(deps.db, request.accountId, accepted.messageIds);
      return { rows: rows.map(asAccepted), isReplayed: true };
    }
    case "credits_insufficient": {
      const [required, { available }] = [creditsOf(request), accepted];
      const message = `It costs ${required} credit${required === 1 ? "" : "s"}; available: ${available}.`;
      throw new Problem("CREDITS_INSUFFICIENT", [
        { field: null, code: "CREDITS_INSUFFICIENT", message, required, available },
      ]);
    }
    case "rate_limited":
      throw sendsLimited(allowance, request.messages.length);
    case "queue_full":
      throw queueFull();
    case "key_revoked":
      throw new Problem("API_KEY_REVOKED");
    case "key_expired":
      throw new Problem("API_KEY_EXPIRED");
    case "session_ended":
      throw new Problem("SESSION_REQUIRED");
    case "key_reused":
      throw new Problem("IDEMPOTENCY_KEY_REUSED");
    case "unknown":
      throw new Problem("INTERNAL");
  }
}

function printOf(body: SendBody): Buffer {
  return "messages" in body
    ? fingerprint("sendBatch", { messages: body.messages.map(meaningOf) })
    : fingerprint("sendMessage", meaningOf(body));
}

export function draftContext(deps: SendDeps, routing: Routing): DraftContext {
  return {
    now: deps.clock.now(),
    routing,
    judgeUrl: deps.judgeUrl,
    concatReference: deps.concatReference,
  };
}

/** All drafts, or one problem that names what is wrong with any of them. */
export function draftAll(body: SendBody, context: DraftContext) {
  const isBatch = "messages" in body;
  const drafts = (isBatch ? body.messages : [body]).map((each) => draftMessage(each, context));
  const details = drafts.flatMap((draft, n) => {
    if (draft.outcome === "drafted") return [];
    return isBatch ? draft.details.map((detail) => inBatch(n, detail)) : draft.details;
  });
  if (details.length > 0) throw new Problem(codeOf(details), details);
  return drafts.filter((draft) => draft.outcome === "drafted");
}

/** A detail of the nth message, with its field named as in the batch. */
function inBatch(n: number, detail: Detail): Detail {
  return { ...detail, field: `${batchPrefix(n)}${detail.field ?? ""}` };
}

/** Precedes the names of the nth message's fields. */
export function batchPrefix(n: number): string {
  return `messages[${n}].`;
}

/** A wrong field outranks a missing route, which outranks a price. */
function codeOf(details: Detail[]): ErrorCode {
  if (!details.every(isByRouting)) return "VALIDATION_FAILED";
  const isUnserved = details.some(({ code }) => code === "RECIPIENT_NOT_SERVED");
  return isUnserved ? "RECIPIENT_NOT_SERVED" : "PRICE_ABOVE_LIMIT";
}
