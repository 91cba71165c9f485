import { lockAccounts } from "#accounts";
import { type Clock, type Database, type Loop, sql } from "#platform";
import { failureInQueue, moveMessages } from "./move.ts";
import type { MoveListener } from "./move-listener.ts";
import { findMessagesOf } from "./read.ts";
import { loadRouting } from "./routing.ts";

/** Messages that one transaction ends. The next pass takes the rest. */
const EXPIRE_BATCH = 500;

/**
 * Ends messages that no sender claimed within their validity. One without a route is not ended
 * earlier, because a route may be added; if none was, the error is NO_ROUTE. One that was ever
 * claimed may be with a carrier: the sending room ends it, by its submissions.
 */
export function expireMessages({ db, clock, listener }: ExpiryDeps): Loop {
  return {
    name: "end expired messages",
    idleMs: 1_000,
    pass: () => expirePass(db, clock.now(), listener),
  };
}

type ExpiryDeps = { db: Database; clock: Clock; listener: MoveListener };

type Overdue = { message_id: string; account_id: string };

async function expirePass(db: Database, now: Date, listener: MoveListener): Promise<number> {
  const overdue = await db.query<Overdue>(sql`
    select message_id, account_id
      from send_queue
     where expires_at <= ${now} and lease_epoch = 0
     order by expires_at
     limit ${EXPIRE_BATCH}`);
  if (overdue.length === 0) return 0;
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [...new Set(overdue.map(({ account_id }) => account_id))]);
    const expired = await tx.query<Overdue>(sql`
      delete from send_queue
       where message_id in (
               select message_id
                 from send_queue
                where message_id = any (${overdue.map(({ message_id }) => message_id)}::uuid[])
                  and lease_epoch = 0
                order by message_id
                  for update skip locked
             )
      returning message_id, account_id`);
    const messages = [...(await findMessagesOf(tx, expired)).values()];
    const routing = await loadRouting(tx);
    const failures = messages.map((message) => {
      const code = routing.carriersFor(message.recipient) ? "EXPIRED" : "NO_ROUTE";
      return failureInQueue(message, code, now);
    });
    return (await moveMessages(tx, failures, listener)).size;
  });
}
