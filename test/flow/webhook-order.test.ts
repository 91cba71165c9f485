import assert from "node:assert/strict";
import { test } from "node:test";
import { eventBody, newMessageId } from "#messages";
import { sql, systemClock } from "#platform";
import { eventually } from "../support/eventually.ts";
import { type Received, startReceiver } from "../support/receiver.ts";
import { laneOf, type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

const MESSAGES = 300;
const SEQUENCES = [2, 3, 4];

test("four nodes never have two webhooks of a message in flight, and first attempts go in sequence", async () => {
  await using receiver = await startReceiver(({ headers }) => (isToFail(headers) ? 500 : 200));
  await using world = await webhookWorld();
  await insertEvents(world, receiver.url);
  for (let node = 0; node < 4; node += 1) world.worker();

  await deliverAll(world);

  const byMessage = Map.groupBy(receiver.received, messageOf);
  assert.equal(byMessage.size, MESSAGES);
  for (const received of byMessage.values()) {
    assertOneAtATime(received);
    assertFirstAttemptsInOrder(received);
  }
  const delivered = (await world.attempts()).filter(({ ended }) => ended === "delivered");
  assert.equal(delivered.length, MESSAGES * SEQUENCES.length);
});

/** A third of all attempts, the same in every run; no event fails often enough to be given up. */
function isToFail(headers: Record<string, string>): boolean {
  const attempt = Number(headers["x-sms-attempt"]);
  const event = Number.parseInt(headers["webhook-id"]?.slice(-4) ?? "", 16);
  return (event * 31 + attempt * 17) % 3 === 0 && attempt < 5;
}

function messageOf({ headers }: Received): string {
  return (headers["webhook-id"] ?? "").slice(0, -1);
}

/** Judged by the receiver's log: each is answered before the next of its message arrives. */
function assertOneAtATime(received: Received[]): void {
  for (const [position, { arrivedMs }] of received.entries()) {
    const answeredMs = received[position - 1]?.answeredMs ?? 0;
    assert.ok(answeredMs <= arrivedMs, "two webhooks of a message were in flight at once");
  }
}

function assertFirstAttemptsInOrder(received: Received[]): void {
  const firsts = received.filter(({ headers }) => headers["x-sms-attempt"] === "1");
  assert.deepEqual(
    firsts.map(({ headers }) => Number(headers["x-sms-sequence"])),
    SEQUENCES,
  );
}

/** Makes retries due at once instead of waiting for them. */
async function deliverAll(world: WebhookWorld): Promise<void> {
  await eventually("all is delivered", async () => {
    const [left] = await world.db.query<{ left: number }>(sql`
      with hurried as (
        update webhook_deliveries set next_at = clock_timestamp()
         where leased_until is null and next_at > clock_timestamp()
      )
      select count(*) as left from webhook_deliveries`);
    return left?.left === 0;
  });
}

/** Three events of each message, all due at once: harder than any real message. */
async function insertEvents({ db, accountId }: WebhookWorld, url: string): Promise<void> {
  const at = systemClock.now();
  const events = Array.from({ length: MESSAGES }, () => newMessageId(at.getTime())).flatMap(
    (messageId) => SEQUENCES.map((sequence) => ({ messageId, sequence })),
  );
  const bodies = events.map(({ messageId }) =>
    eventBody({ messageId, recipient: "4915112345678", status: "SENT", at }),
  );
  await db.query(sql`
    with u as (
      select * from unnest(${events.map(({ messageId }) => messageId)}::uuid[],
                           ${events.map(({ sequence }) => sequence)}::smallint[], ${bodies}::bytea[]) as u (message_id, sequence, body)
    ), noted as (
      insert into events (message_id, sequence, account_id, status, at, callback_url, body)
      select message_id, sequence, ${accountId}, 'SENT', ${at}, ${url}, body from u
    )
    insert into webhook_deliveries (message_id, sequence, account_id, host_key, created_at, next_at)
    select message_id, sequence, ${accountId}, ${laneOf(accountId, url)}::bigint, ${at}, ${at} from u
     order by random()`);
}
