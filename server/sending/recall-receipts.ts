import { findMessagesOf } from "#messages";
import { type Database, HOUR_MS, idFloor, sql } from "#platform";

/** The simulator's own memory of receipts dies with its process; a real SMSC's would not. */
const RECALL_MS = HOUR_MS;
/**
 * Longer than the simulator's slowest ending, which another node may still be about to report. A
 * starting node looks again after this long: by then its latest submissions are old enough.
 */
export const RECALL_AFTER_MS = 12_000;

type Unreported = { message_id: string; account_id: string; carrier_message_id: string };

/** What the simulator accepted lately and never reported on. */
export async function findUnreported(db: Database, carrierId: string, now: Date) {
  const rows = await db.query<Unreported>(sql`
    select message_id, account_id, carrier_message_id
      from submissions
     where message_id >= ${idFloor(new Date(now.getTime() - RECALL_MS))}
       and carrier_id = ${carrierId}
       and outcome = 'accepted'
       and receipts is null
       and at < ${new Date(now.getTime() - RECALL_AFTER_MS)}
     limit 10000`);
  const messages = await findMessagesOf(db, rows);
  return rows.flatMap(({ message_id, carrier_message_id: carrierMessageId }) => {
    const recipient = messages.get(message_id)?.recipient;
    return recipient === undefined ? [] : [{ carrierMessageId, recipient }];
  });
}
