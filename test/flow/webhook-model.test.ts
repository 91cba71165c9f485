import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { eventId } from "#messages";
import { sql, systemClock } from "#platform";
import { replayDelivery } from "#webhooks";
import { laneOf, type WebhookWorld, webhookWorld } from "../support/webhook-world.ts";

const URL = "http://127.0.0.1:1/hook";
const EVENTS = 3;

/** What to do to the lane; `pick` selects from what there is. */
type Step = {
  do: "claim" | "succeed" | "fail" | "stall" | "wake" | "replay" | "hurry";
  pick: number;
};

type Held = {
  messageId: string;
  sequence: number;
  replayId: string | null;
  attempt: number;
  epoch: number;
  step: number;
};

type Model = {
  /** Leases whose holders are alive. */
  held: Held[];
  /** Leases whose holders stalled until they ran out; some wake up again. */
  stalled: Held[];
  /** How often each event was replayed after it had ended. */
  replayed: Map<string, number>;
};

const steps = fc.array(
  fc.record({
    do: fc.constantFrom("claim", "claim", "succeed", "fail", "stall", "wake", "replay", "hurry"),
    pick: fc.nat({ max: 20 }),
  }) as fc.Arbitrary<Step>,
  { minLength: 5, maxLength: 25 },
);

test("no order of claims, answers, crashes and replays makes a lane lose, repeat or mix up a delivery", async () => {
  await using world = await webhookWorld();
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      await world.db.query(sql`truncate webhook_deliveries, webhook_attempts, webhook_replays`);
      const ids = await world.sent(EVENTS, { url: URL });
      const model: Model = { held: [], stalled: [], replayed: new Map() };
      for (const step of sequence) {
        await perform(world, model, step, ids);
        await assertSound(world, model, ids);
      }
    }),
    {
      numRuns: 25,
      examples: [
        // A replay's lease must not be mistaken for that of the delivery that it replays.
        [
          [
            { do: "claim", pick: 0 },
            { do: "stall", pick: 0 },
            { do: "claim", pick: 1 },
            { do: "succeed", pick: 0 },
            { do: "replay", pick: 0 },
            { do: "replay", pick: 1 },
            { do: "claim", pick: 1 },
            { do: "wake", pick: 0 },
            { do: "wake", pick: 0 },
          ],
        ],
        // Given up because its holders were lost; then the last of them reports its result.
        [
          [
            { do: "claim", pick: 0 },
            { do: "stall", pick: 0 },
            { do: "claim", pick: 1 },
            { do: "stall", pick: 0 },
            { do: "claim", pick: 15 },
            { do: "stall", pick: 0 },
            { do: "claim", pick: 0 },
            { do: "claim", pick: 0 },
            { do: "claim", pick: 3 },
            { do: "wake", pick: 0 },
            { do: "wake", pick: 13 },
          ],
        ],
      ],
    },
  );
});

async function perform(world: WebhookWorld, model: Model, step: Step, ids: string[]) {
  const held = model.held[step.pick % Math.max(1, model.held.length)];
  switch (step.do) {
    case "claim":
      return void model.held.push(...(await claim(world, step.pick % 2 === 0)));
    case "succeed":
      return held && record(world, model, held, "ended");
    case "fail":
      return held && record(world, model, held, "again");
    case "stall":
      model.stalled.push(...model.held);
      model.held = [];
      return world.expireLeases();
    case "wake":
      return wakeUp(world, model, model.stalled[step.pick % Math.max(1, model.stalled.length)]);
    case "hurry":
      return world.db.query(sql`
        update webhook_deliveries set next_at = clock_timestamp() where leased_until is null`);
    case "replay": {
      const messageId = ids[step.pick % ids.length] as string;
      const waits = await isWaiting(world, messageId);
      await replayDelivery(world.db, {
        deliveryId: eventId(messageId, 2),
        actor: "test",
        now: systemClock.now(),
      });
      if (!waits) model.replayed.set(messageId, (model.replayed.get(messageId) ?? 0) + 1);
    }
  }
}

/** A holder that was overtaken while it stalled may log its attempt, but change nothing else. */
async function wakeUp(world: WebhookWorld, model: Model, held: Held | undefined): Promise<void> {
  if (!held) return;
  const { db } = world;
  const find = () =>
    db.query<{ lease_epoch: number; replay_id: string | null }>(sql`
      select * from webhook_deliveries where message_id = ${held.messageId}`);
  model.stalled = model.stalled.filter((each) => each !== held);
  const before = await find();
  const [row] = before;
  const wasOvertaken = row?.lease_epoch !== held.epoch || row.replay_id !== held.replayId;
  await record(world, model, held, "ended");
  if (wasOvertaken) assert.deepEqual(await find(), before, "a fenced holder changed a delivery");
}

async function isWaiting({ db }: WebhookWorld, messageId: string): Promise<boolean> {
  const rows = await db.query(sql`
    select message_id from webhook_deliveries where message_id = ${messageId}`);
  return rows.length > 0;
}

async function claim({ db, accountId }: WebhookWorld, isFirst: boolean): Promise<Held[]> {
  return db.query<Held>(sql`
    select message_id as "messageId", sequence, replay_id as "replayId", attempts as attempt, lease_epoch as epoch, step
      from claim_deliveries(array[${laneOf(accountId, URL)}]::bigint[], array[2], ${isFirst}, interval '30 s')
     where not is_poison`);
}

async function record(
  { db, accountId }: WebhookWorld,
  model: Model,
  { messageId, sequence, replayId, attempt, epoch, step }: Held,
  next: "ended" | "again",
): Promise<void> {
  model.held = model.held.filter((each) => each.messageId !== messageId || each.epoch !== epoch);
  const ended = next === "ended" ? "delivered" : null;
  const nothing = [null];
  await db.query(sql`
    select record_attempts(${[accountId]}::uuid[], ${[messageId]}::uuid[], ${[sequence]}::smallint[], ${[attempt]}::smallint[],
      ${[systemClock.now()]}::timestamptz[], ${[replayId]}::uuid[], ${[step]}::smallint[], ${[200]}::smallint[], ${nothing}::text[],
      ${nothing}::text[], ${nothing}::real[], ${nothing}::real[], ${nothing}::real[], ${nothing}::real[], ${[1]}::real[],
      ${nothing}::text[], ${nothing}::text[], ${nothing}::bytea[], ${[epoch]}::integer[], ${[next]}::text[], ${[ended]}::text[],
      ${[step + 1]}::smallint[], ${[0]}::float8[])`);
}

/** What must hold after every step, whatever came before. */
async function assertSound(world: WebhookWorld, model: Model, ids: string[]): Promise<void> {
  const attempts = await world.attempts();
  const leased = await world.db.query<{ message_id: string }>(sql`
    select message_id from webhook_deliveries where leased_until is not null`);
  assert.equal(new Set(leased.map(({ message_id }) => message_id)).size, leased.length);
  for (const messageId of ids) {
    const own = attempts.filter(({ message_id }) => message_id === messageId);
    const numbers = own.map(({ attempt }) => attempt);
    assert.equal(new Set(numbers).size, numbers.length, "an attempt number was used twice");
    const ended = own.filter((each) => each.ended !== null).length;
    const waiting = Number(await isWaiting(world, messageId));
    // For each time it was requested, it either still waits or has ended, exactly once.
    assert.equal(ended + waiting, 1 + (model.replayed.get(messageId) ?? 0));
  }
}
