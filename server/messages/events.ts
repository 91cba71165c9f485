import { type Queryable, sql } from "#platform";

/** A change of status as it was frozen for its receiver. */
export type OutgoingEvent = {
  status: "SENT" | "DELIVERED" | "UNDELIVERED" | "FAILED";
  createdAt: Date;
  url: string;
  body: Buffer;
};

type Row = {
  message_id: string;
  sequence: number;
  status: OutgoingEvent["status"];
  at: Date;
  callback_url: string;
  body: Buffer;
};

/** Events that go to a callback address, by `messageId sequence`. */
export async function findEvents(
  db: Queryable,
  wanted: readonly { message_id: string; sequence: number }[],
): Promise<Map<string, OutgoingEvent>> {
  const rows = await db.query<Row>(sql`
    select e.message_id, e.sequence, e.status, e.at, e.callback_url, e.body
      from unnest(${wanted.map(({ message_id }) => message_id)}::uuid[],
                  ${wanted.map(({ sequence }) => sequence)}::smallint[]) as u (message_id, sequence)
      join events e on e.message_id = u.message_id and e.sequence = u.sequence
     where e.body is not null`);
  return new Map(
    rows.map(({ message_id, sequence, status, at, callback_url, body }) => [
      `${message_id} ${sequence}`,
      { status, createdAt: at, url: callback_url, body },
    ]),
  );
}
