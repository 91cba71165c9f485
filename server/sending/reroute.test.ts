import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { loadRouting } from "#messages";
import { NIL_ID, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { makeCarrier } from "../../test/support/make-carrier.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { queuedMessage, readMessage } from "../../test/support/messages.ts";
import { unattendedOf } from "../../test/support/recorder.ts";
import { TEST_SECRETS } from "../../test/support/secret-key.ts";
import { carriersUpElsewhere } from "./carrier-states.ts";
import { listCarriers } from "./carriers-table.ts";
import { rerouting } from "./reroute.ts";
import { endBegun, noteLost } from "./unattended.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());
const { db } = api;
const [first, next] = await twoCarriers();

test("a carrier is waited for once: as long as it stays away, later messages go on at once", async () => {
  const world = await makeWorld();
  const { clock, carrierAfterPass } = world;

  assert.equal(await carrierAfterPass(await world.queue()), first, "it may come back any moment");
  clock.advance(PATIENCE_MS);
  assert.equal(await carrierAfterPass(await world.queue()), next);
  assert.equal(await carrierAfterPass(await world.queue()), next);
  world.up.add(first);
  clock.advance(PATIENCE_MS);
  await world.pass();
  world.up.delete(first);
  assert.equal(await carrierAfterPass(await world.queue()), first, "it was there again");
});

test("a carrier that comes and goes is waited for as long in all, not anew after each return", async () => {
  const world = await makeWorld();
  const { clock, carrierAfterPass } = world;
  const messageId = await world.queue();
  await world.pass();
  clock.advance(PATIENCE_MS - 1_000);
  assert.equal(await carrierAfterPass(messageId), first);
  world.up.add(first);
  clock.advance(1_000);
  await world.pass();
  world.up.delete(first);
  clock.advance(PATIENCE_MS - 1_000);

  assert.equal(await carrierAfterPass(messageId), next);
});

test("a carrier away for a moment keeps its waiting messages, however long they have waited for their turn", async () => {
  const world = await makeWorld();
  const messageId = await world.queue();
  await db.query(sql`update send_queue set due_at = due_at - interval '1 minute'`);

  assert.equal(await world.carrierAfterPass(messageId), first);
});

test("messages that wait for a carrier stay with it while another node is bound to it", async () => {
  const world = await makeWorld();
  const { carrierAfterPass } = world;
  world.upElsewhere.add(first);
  const messageId = await world.queue();
  await world.waitInVain();

  assert.equal(await carrierAfterPass(messageId), first);
  world.upElsewhere.clear();
  await world.waitInVain();
  assert.equal(await carrierAfterPass(messageId), next);
});

test("nothing goes to a paused carrier, even if another node is bound to it", async () => {
  const world = await makeWorld();
  const messageId = await world.queue();
  await world.waitInVain();
  world.up.clear();
  world.upElsewhere.add(next);
  world.paused.add(next);

  assert.equal(await world.carrierAfterPass(messageId), first);
  world.paused.clear();
  assert.equal(await world.carrierAfterPass(messageId), next);
});

test("a carrier counts as up elsewhere only while another node, not this one, reports that it takes messages", async () => {
  const state = (takesMessages: boolean) => JSON.stringify({ state: "up", takesMessages });
  const other = randomUUID();
  await db.query(sql`
    insert into carrier_states (carrier_id, node_id, state, at)
    values (${first}, ${other}, ${state(true)}::jsonb, clock_timestamp()),
           (${next}, ${randomUUID()}, ${state(false)}::jsonb, clock_timestamp())`);

  assert.deepEqual(await carriersUpElsewhere(db, randomUUID()), new Set([first]));
  assert.deepEqual(await carriersUpElsewhere(db, other), new Set());
});

test("a removed carrier is not waited for, even if another node reported just now that it takes messages", async () => {
  const world = await makeWorld();
  world.upElsewhere.add(first);
  const messageId = await world.queue();
  await db.query(sql`update carriers set removed_at = now() where carrier_id = ${first}`);

  assert.equal(await world.carrierAfterPass(messageId), next);
  await db.query(sql`update carriers set removed_at = null where carrier_id = ${first}`);
});

test("a message that its carrier may have stays with it, while its neighbour goes on", async () => {
  const world = await makeWorld();
  const { clock, carrierAfterPass } = world;
  const [doubted, other] = [await world.queue(), await world.queue()];
  await world.submitted(doubted, { carrierId: first });
  await world.pass();
  clock.advance(PATIENCE_MS);

  assert.equal(await carrierAfterPass(doubted), first);
  assert.equal(await carrierAfterPass(other), next);
});

test("a message that its carrier may have goes on once that carrier is no longer in its route", async () => {
  const world = await makeWorld();
  const messageId = await world.queue();
  await world.submitted(messageId, { carrierId: first });
  await world.waitInVain();
  assert.equal(await world.carrierAfterPass(messageId), first);

  world.route.shift();

  assert.equal(await world.carrierAfterPass(messageId), next);
});

test("a lost node's message goes on once its carrier is no longer in its route", async () => {
  const world = await makeWorld();
  const messageId = await world.queue();
  await world.lose(messageId);
  assert.equal(await world.carrierAfterPass(messageId), first);

  world.clock.advance(PATIENCE_MS);
  assert.equal(await world.carrierAfterPass(messageId), first, "it may have it");
  world.route.shift();

  assert.equal(await world.carrierAfterPass(messageId), next);
});

test("a doubt about another carrier does not hold back a message", async () => {
  const world = await makeWorld();
  const messageId = await world.queue();
  await world.submitted(messageId, { carrierId: next });
  await world.waitInVain();

  assert.equal(await world.carrierAfterPass(messageId), next);
});

test("a message taken up since a pass looked stays with the carrier that has a segment of it", async () => {
  const world = await makeWorld();
  const { carrierAfterPass } = world;
  const messageId = await world.queue();
  await world.waitInVain();
  // It was claimed, its first segment was accepted, the next was throttled, and it was given back.
  world.meanwhile = () => world.submitted(messageId, { carrierId: first, outcome: "accepted" });

  assert.equal(await carrierAfterPass(messageId), first);
});

test("a text that the next carrier cannot hold waits for the one that is away", async () => {
  const world = await makeWorld();
  const { carrierAfterPass } = world;
  const messageId = await world.queue();
  await world.submitted(messageId, { carrierId: next, ...UNFIT });
  await world.waitInVain();

  assert.equal(await carrierAfterPass(messageId), first);
});

test("if only carriers that cannot hold a text are left, it goes to one of them and ends there", async () => {
  const world = await makeWorld();
  const { carrierAfterPass } = world;
  const messageId = await world.queue();
  await world.submitted(messageId, { carrierId: next, ...UNFIT });
  await world.waitInVain();
  world.route.shift();

  assert.equal(await carrierAfterPass(messageId), next);
});

test("a message that a carrier has in part waits while that is away, and is refunded once it is removed", async () => {
  const world = await makeWorld();
  const messageId = await world.queue("x".repeat(200));
  await world.submitted(messageId, { carrierId: first, outcome: "accepted" });
  await world.waitInVain();
  assert.equal(await world.carrierAfterPass(messageId), first);
  await db.query(sql`update carriers set removed_at = now() where carrier_id = ${first}`);

  await world.pass();

  const { status, error_code } = await readMessage(api, messageId);
  const refunds = await db.query(sql`
    select from ledger where message_id = ${messageId} and kind = 'refund'`);
  assert.deepEqual([status, error_code, refunds.length], ["FAILED", "CARRIER_UNAVAILABLE", 1]);
  await db.query(sql`update carriers set removed_at = null where carrier_id = ${first}`);
});

test("however many messages cannot move, those behind them do", async () => {
  const world = await makeWorld();
  // More than one pass looks at, all of accounts that come first.
  await db.query(sql`
    with queued as (
      insert into send_queue (message_id, account_id, carrier_id, due_at, expires_at, lease_epoch, attempt)
      select gen_random_uuid(), ${NIL_ID}, ${first}, now(), now() + interval '1 hour', 1, 1
        from generate_series(1, 5000)
      returning message_id, account_id, carrier_id
    )
    insert into submissions (message_id, account_id, segment, turn, carrier_id, at, outcome)
    select message_id, account_id, 1, 1, carrier_id, now(), 'accepted' from queued`);
  const messageId = await world.queue();
  await world.waitInVain();

  await world.pass();

  assert.equal(await world.carrierAfterPass(messageId), next);
});

test("a pass asks once whether a carrier can take messages, however many wait for one that is away", async () => {
  const world = await makeWorld();
  for (const _message of [1, 2, 3]) await world.queue();
  await world.waitInVain();

  await world.pass();

  assert.equal(world.asked.filter((carrierId) => carrierId === next).length, 1);
});

const PATIENCE_MS = 5_000;
const UNFIT = { outcome: "refused", error: "CONTENT_REJECTED" };

/** A route of two carriers, of which only the second is up. */
async function makeWorld() {
  await db.query(sql`delete from send_queue`);
  const clock = manualClock();
  const [up, upElsewhere, paused] = [new Set([next]), new Set<string>(), new Set<string>()];
  const route = [first, next];
  const pass = rerouting(db, {
    isPaused: (carrierId) => paused.has(carrierId),
    isUp(carrierId) {
      world.asked.push(carrierId);
      return up.has(carrierId);
    },
    upElsewhere: async () => upElsewhere,
    async routing() {
      await world.meanwhile();
      return { ...(await loadRouting(db)), carriersFor: () => route };
    },
    noteLost: (lost) => noteLost(unattendedOf(db, randomUUID()), lost),
    endBegun: (begun) => endBegun(unattendedOf(db, randomUUID()), begun),
    clock,
  });
  const world = {
    up,
    /** Records each check whether a carrier is up. */
    asked: [] as string[],
    upElsewhere,
    paused,
    route,
    clock,
    pass,
    /** Runs when a pass has read what waits and not yet moved it. */
    meanwhile: async () => {},
    queue: async (text = "Hello") => (await queuedMessage(api, { text })).message_id,
    /** Lets pass the time that a carrier is waited for. */
    async waitInVain(): Promise<void> {
      await pass();
      clock.advance(PATIENCE_MS);
    },
    /** Acts as if a node that is gone had claimed it. */
    lose: (messageId: string) =>
      db.query(sql`
        update send_queue
           set lease_epoch = 1, attempt = 1, leased_by = ${randomUUID()}, due_at = now() - interval '2 minutes'
         where message_id = ${messageId}`),
    /** As if it had been handed over once and given back; in doubt if there was no answer. */
    async submitted(
      messageId: string,
      { carrierId, outcome, error }: { carrierId: string; outcome?: string; error?: string },
    ): Promise<void> {
      await db.query(sql`
        update send_queue set lease_epoch = 1, attempt = 1 where message_id = ${messageId}`);
      await db.query(sql`
        insert into submissions (message_id, account_id, segment, turn, carrier_id, at, outcome, error_code, in_doubt_at)
        values (${messageId}, ${api.accountId}, 1, 1, ${carrierId}, now(), ${outcome ?? null}, ${error ?? null},
                ${outcome === undefined ? systemClock.now() : null})`);
    },
    async carrierAfterPass(messageId: string): Promise<string | undefined> {
      await pass();
      const [row] = await db.query<{ carrier_id: string }>(sql`
        select carrier_id from send_queue where message_id = ${messageId}`);
      return row?.carrier_id;
    },
  };
  return world;
}

async function twoCarriers(): Promise<[string, string]> {
  const [simulator] = await listCarriers(db);
  return [simulator?.carrier_id ?? "", await makeCarrier(db, { secrets: TEST_SECRETS })];
}
