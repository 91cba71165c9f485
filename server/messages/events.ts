import type { ToldStatus } from "#contract";
import { type Queryable, type Sql, sql } from "#platform";
import { changeTo, eventBody } from "./event-body.ts";
import { findMessagesOf } from "./read.ts";

/** Identifies a change of status: its message and sequence. */
export type EventKey = { message_id: string; sequence: number };

/** A change of status after QUEUED, as stored. */
export type EventRow = EventKey & {
  account_id: string;
  status: ToldStatus;
  at: Date;
  /** Both are null if the message has no callback URL. */
  callback_url: string | null;
  body: Buffer | null;
};

export function findEvents(db: Queryable, wanted: readonly EventKey[]): Promise<EventRow[]> {
  return db.query<EventRow>(sql`
    select e.message_id, e.sequence, e.account_id, e.status, e.at, e.callback_url, e.body
      from unnest(${wanted.map(({ message_id }) => message_id)}::uuid[],
                  ${wanted.map(({ sequence }) => sequence)}::smallint[]) with ordinality as u (message_id, sequence, n)
      join events e on e.message_id = u.message_id and e.sequence = u.sequence
     order by u.n`);
}

/** The time of a change, for a statement that has its message and sequence. */
export function eventTime({ message, sequence }: { message: Sql; sequence: Sql }): Sql {
  return sql`(select e.at from events e where e.message_id = ${message} and e.sequence = ${sequence})`;
}

/** The events with the bytes that a receiver gets, or would get if there were one. */
export async function findEventBodies(
  db: Queryable,
  wanted: readonly EventKey[],
): Promise<(EventRow & { body: Buffer })[]> {
  const events = await findEvents(db, wanted);
  const untold = events.filter(({ body }) => body === null);
  const messages = await findMessagesOf(db, untold);
  return events.flatMap((event) => {
    if (event.body !== null) return [{ ...event, body: event.body }];
    const message = messages.get(event.message_id);
    if (message === undefined) return [];
    const { message_id: messageId, status, at } = event;
    const { recipient, error_code: code, error_carrier_code: carrierCode } = message;
    // A message ends only once, so its error belongs to the change that ended it.
    const error = { code: code ?? "UNKNOWN", carrierCode };
    return [{ ...event, body: eventBody(changeTo(status, { messageId, recipient, at, error })) }];
  });
}
