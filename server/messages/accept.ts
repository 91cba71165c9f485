import { type Actor, noteDone } from "#accounts";
import { LEASE_MS, type Queryable, type Sql, sql } from "#platform";
import type { MessageRow } from "./message-row.ts";

/** One message, or one batch of them that is accepted whole or not at all. */
export type AcceptRequest = {
  accountId: string;
  /** Null where a person sends, from the dashboard or the terminal. */
  keyId: string | null;
  /** The person, where the audit log is to tell of it; of a key's sends the messages tell. */
  actor?: Actor | undefined;
  /** The version of the routing tables that the messages were priced by. */
  routingVersion: number;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
  messages: MessageRow[];
};

export type Acceptance =
  | { outcome: "accepted"; tokens: number; defaultSender: string | null }
  /** Stored earlier under the same idempotency key; these are its messages. */
  | { outcome: "replayed"; tokens: number; messageIds: string[] }
  | { outcome: "credits_insufficient"; tokens: number; available: number }
  | { outcome: "rate_limited"; tokens: number }
  | { outcome: "key_revoked" | "key_expired" | "key_reused"; tokens: number }
  /** The routes or prices changed meanwhile: draft the messages again. */
  | { outcome: "routing_changed"; tokens: number }
  /** Another request with the same idempotency key is accepted in this very batch: ask again. */
  | { outcome: "again"; tokens: number };

export type AcceptSettings = {
  nodeId: string;
  sends: number;
  sendsBurst: number;
  /** Whether this node's sender takes the message right after the commit. */
  isLeased: (message: MessageRow) => boolean;
};

type Row = {
  n: number;
  outcome: Acceptance["outcome"];
  available: number;
  tokens: number;
  message_ids: string[] | null;
  default_sender: string | null;
};

/**
 * Accepts each request whose key is valid and whose account can pay; one outcome per request, in the
 * order asked. What is accepted is stored, charged and queued together, so a message answered with
 * 202 is paid for and will be sent, whatever crashes next. A refused one leaves no trace.
 */
export async function acceptMessages(
  db: Queryable,
  requests: AcceptRequest[],
  settings: AcceptSettings,
): Promise<Acceptance[]> {
  const statement = noteSends(requests, acceptStatement(requests, settings));
  const rows = await db.query<Row>(statement);
  const outcomes = new Map(rows.map((row) => [row.n, row]));
  return requests.map((_request, position) => {
    const row = outcomes.get(position + 1);
    // Accounts are never deleted, so a request without a verdict names one that never was.
    return row ? acceptanceOf(row) : { outcome: "key_revoked", tokens: 0 };
  });
}

function acceptanceOf(row: Row): Acceptance {
  const { outcome, tokens } = row;
  switch (outcome) {
    case "accepted":
      return { outcome, tokens, defaultSender: row.default_sender };
    case "replayed":
      return { outcome, tokens, messageIds: row.message_ids ?? [] };
    case "credits_insufficient":
      return { outcome, tokens, available: row.available };
    case "rate_limited":
    case "key_revoked":
    case "key_expired":
    case "key_reused":
    case "routing_changed":
    case "again":
      return { outcome, tokens };
  }
}

/** With the audit rows of what people send: they commit with the messages, or neither does. */
function noteSends(requests: AcceptRequest[], statement: Sql): Sql {
  const entries = requests.flatMap(({ actor, accountId, messages }, position) => {
    if (actor === undefined) return [];
    return messages.map(({ message_id: objectId, created_at: now }) => ({
      n: position + 1,
      actor,
      now,
      accountId,
      objectId,
    }));
  });
  // Most batches are of keys alone, and cost nothing more for it.
  if (entries.length === 0) return statement;
  return sql`
    with verdict as materialized (${statement}), done as (
      select n from verdict where outcome = 'accepted'
    ), ${noteDone("message.sent", entries)}
    select n, outcome, available, tokens, message_ids, default_sender from verdict`;
}

/** One array per column: the text is the same for 1 message and for 500, so one plan serves. */
function acceptStatement(requests: AcceptRequest[], settings: AcceptSettings) {
  const messages = requests.flatMap(placeMessages);
  const of = <Value>(pick: (request: AcceptRequest) => Value) => requests.map(pick);
  const each = <Value>(pick: (message: MessageRow) => Value) =>
    messages.map(({ message }) => pick(message));
  return sql`
    select n, outcome, available, tokens, message_ids, default_sender
      from accept_messages(
        ${settings.nodeId}, make_interval(secs => ${LEASE_MS / 1000}), ${settings.sends}, ${settings.sendsBurst},
        ${of(({ accountId }) => accountId)}::uuid[], ${of(({ keyId }) => keyId)}::uuid[],
        ${of(({ routingVersion }) => routingVersion)}::bigint[],
        ${of(({ idempotencyKey }) => idempotencyKey)}::text[], ${of((request) => request.fingerprint)}::bytea[],
        ${firstOfKeys(requests)}::integer[],
        ${of((request) => request.messages.length)}::integer[], ${of(creditsOf)}::bigint[],
        ${messages.map(({ group }) => group)}::integer[], ${messages.map(({ place }) => place)}::integer[],
        ${messages.map(({ total }) => total)}::bigint[],
        ${messages.map(({ request }) => request.accountId)}::uuid[], ${messages.map(({ request }) => request.keyId)}::uuid[],
        ${each((m) => m.message_id)}::uuid[], ${each((m) => m.recipient)}::text[], ${each((m) => m.sender)}::text[],
        ${each((m) => m.text)}::text[], ${each((m) => m.encoding)}::text[], ${each((m) => m.segments)}::smallint[],
        ${each((m) => m.credits)}::bigint[], ${each((m) => m.reference)}::text[], ${each((m) => m.metadata)}::text[],
        ${each((m) => m.callback_url)}::text[], ${each((m) => m.concat_reference)}::smallint[],
        ${each((m) => m.carrier_id)}::uuid[], ${each((m) => m.created_at)}::timestamptz[],
        ${each((m) => m.send_at)}::timestamptz[],
        ${each((m) => m.expires_at)}::timestamptz[], ${each(settings.isLeased)}::boolean[]
      )`;
}

/** Where each message stands in its request, and what the request costs up to it. */
function placeMessages(request: AcceptRequest, position: number) {
  let total = 0;
  return request.messages.map((message, n) => {
    total += message.credits;
    return { message, request, group: position + 1, place: n + 1, total };
  });
}

/** Of each request, which is the first with its idempotency key, counted from 1. */
function firstOfKeys(requests: AcceptRequest[]): number[] {
  const firsts = new Map<string, number>();
  return requests.map(({ accountId, idempotencyKey }, position) => {
    if (idempotencyKey === null) return position + 1;
    const key = `${accountId} ${idempotencyKey}`;
    const first = firsts.get(key) ?? position + 1;
    firsts.set(key, first);
    return first;
  });
}

export function creditsOf({ messages }: Pick<AcceptRequest, "messages">): number {
  return messages.reduce((sum, { credits }) => sum + credits, 0);
}
