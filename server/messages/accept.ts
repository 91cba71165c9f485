import { type Actor, noteDone } from "#accounts";
import { LEASE_MS, type Queryable, type Sql, sql } from "#platform";
import type { MessageRow } from "./message-row.ts";

/** One message, or a batch that is accepted whole or not at all. */
export type AcceptRequest = {
  accountId: string;
  /** Null if a user sends, from the dashboard or the terminal. */
  keyId: string | null;
  /** The user's session, if a user sends from the dashboard. */
  sessionId?: string | null;
  /** Set if the audit log is to record a user's send. A key's sends are on record as messages. */
  actor?: Actor | undefined;
  /** The version of the routing tables by which the messages were priced. */
  routingVersion: number;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
  messages: MessageRow[];
};

export type Acceptance =
  | { outcome: "accepted"; tokens: number; defaultSender: string | null }
  /** Already stored under the same idempotency key, with these messages. */
  | { outcome: "replayed"; tokens: number; messageIds: string[] }
  | { outcome: "credits_insufficient"; tokens: number; available: number }
  | { outcome: "rate_limited"; tokens: number }
  | { outcome: "key_revoked" | "key_expired" | "session_ended" | "key_reused"; tokens: number }
  /** The routes or prices changed meanwhile: draft the messages again. */
  | { outcome: "routing_changed"; tokens: number }
  /** Another request with the same idempotency key was accepted in this very batch: ask again. */
  | { outcome: "again"; tokens: number };

export type AcceptSettings = {
  nodeId: string;
  sends: number;
  sendsBurst: number;
  /** Whether this node's sender takes the message right after the commit. */
  isLeased: (message: MessageRow) => boolean;
  /** Called when everything is written, before it is committed. */
  onStored?: () => void;
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
 * Accepts each request whose key is valid and whose account can pay; returns their outcomes in
 * order. Storing, charging and queueing is one transaction, so a message answered with 202 is paid
 * for and will be sent, whatever crashes next. A refused request leaves no trace.
 */
export async function acceptMessages(
  db: Queryable,
  requests: AcceptRequest[],
  settings: AcceptSettings,
): Promise<Acceptance[]> {
  const statement = noteSends(requests, acceptStatement(requests, settings));
  const rows = await db.query<Row>(statement, settings.onStored);
  const outcomes = new Map(rows.map((row) => [row.n, row]));
  return requests.map((_request, position) => {
    const row = outcomes.get(position + 1);
    // Accounts are never deleted, so a request without a verdict names one that never existed.
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
    case "session_ended":
    case "key_reused":
    case "routing_changed":
    case "again":
      return { outcome, tokens };
  }
}

/** Adds the audit entries of users' sends. They commit with the messages or not at all. */
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
  // Most batches are by keys alone, and pay nothing for this.
  if (entries.length === 0) return statement;
  return sql`
    with verdict as materialized (${statement}), done as (
      select n from verdict where outcome = 'accepted'
    ), ${noteDone("message.sent", entries)}
    select n, outcome, available, tokens, message_ids, default_sender from verdict`;
}

/** One array per column: the same statement for 1 message and for 500, so one plan serves. */
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
        ${of(({ sessionId }) => sessionId ?? null)}::uuid[],
        ${of(({ routingVersion }) => routingVersion)}::bigint[],
        ${of(({ idempotencyKey }) => idempotencyKey)}::text[], ${of((request) => request.fingerprint)}::bytea[],
        ${firstOfKeys(requests)}::integer[],
        ${of((request) => request.messages.length)}::integer[], ${of(creditsOf)}::bigint[],
        ${messages.map(({ group }) => group)}::integer[], ${messages.map(({ place }) => place)}::integer[],
        ${messages.map(({ total }) => total)}::bigint[],
        ${each((m) => m.message_id)}::uuid[], ${each((m) => m.recipient)}::text[], ${each((m) => m.sender)}::text[],
        ${each((m) => m.text)}::text[], ${each((m) => m.encoding)}::text[], ${each((m) => m.segments)}::smallint[],
        ${each((m) => m.credits)}::bigint[], ${each((m) => m.reference)}::text[], ${each((m) => m.metadata)}::text[],
        ${each((m) => m.callback_url)}::text[], ${each((m) => m.concat_reference)}::smallint[],
        ${each((m) => m.carrier_id)}::uuid[], ${each((m) => m.created_at)}::timestamptz[],
        ${each((m) => m.send_at)}::timestamptz[],
        ${each((m) => m.expires_at)}::timestamptz[], ${each(settings.isLeased)}::boolean[]
      )`;
}

/** The place of each message in its request, and the request's cost up to and including it. */
function placeMessages(request: AcceptRequest, position: number) {
  let total = 0;
  return request.messages.map((message, n) => {
    total += message.credits;
    return { message, group: position + 1, place: n + 1, total };
  });
}

/** For each request, the number of the first one with the same idempotency key, counted from 1. */
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
