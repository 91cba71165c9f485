import assert from "node:assert/strict";
import { after, test } from "node:test";
import { expireMessages, loadRouting } from "#messages";
import { newId, silentLog, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { queuedMessage, readMessage } from "../../test/support/messages.ts";
import { recorderOf } from "../../test/support/recorder.ts";
import { endOverdue } from "./overdue.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());
const { db } = api;

test("what a lost node held for a carrier that takes nothing ends when its validity is over, in doubt and refunded", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 2, expiredMinutesAgo: 1 });

  await world.pass();
  assert.deepEqual(await world.ending(), {
    status: "FAILED",
    error: "EXPIRED",
    doubts: 1,
    ledger: ["charge", "refund"],
    queued: 0,
  });
});

test("a lease that may still be somebody's, and a message that may still leave, are left alone", async () => {
  for (const left of [
    { leaseEndedMinutesAgo: -1, expiredMinutesAgo: 1 },
    { leaseEndedMinutesAgo: 2, expiredMinutesAgo: -1 },
  ]) {
    const world = await makeWorld();
    await world.leave(left);

    await world.pass();
    const { status, doubts, queued } = await world.ending();
    assert.deepEqual({ status, doubts, queued }, { status: "QUEUED", doubts: 0, queued: 1 });
  }
});

test("what was given back and expires is SENT where its carrier said late that it has it, EXPIRED otherwise", async () => {
  for (const [hasLateAnswer, status, ledger] of [
    [true, "SENT", ["charge"]],
    [false, "FAILED", ["charge", "refund"]],
  ] as const) {
    const world = await makeWorld();
    await world.leave({ leaseEndedMinutesAgo: 0, expiredMinutesAgo: 1 });
    await world.giveBackInDoubt({ hasLateAnswer });

    await world.expire();
    assert.equal(
      (await world.ending()).status,
      "QUEUED",
      "not without a look at what is on record",
    );
    await world.pass();
    const ending = await world.ending();
    assert.deepEqual(
      { status: ending.status, ledger: ending.ledger, queued: ending.queued },
      { status, ledger, queued: 0 },
    );
  }
});

/** One message that was accepted; nothing takes it, and nothing else waits. */
async function makeWorld() {
  await db.query(sql`delete from send_queue`);
  const [nodeId, lostId] = [newId(systemClock.now().getTime()), newId(systemClock.now().getTime())];
  const { message_id: messageId } = await queuedMessage(api);
  const record = recorderOf(db, nodeId);

  return {
    async leave(left: { leaseEndedMinutesAgo: number; expiredMinutesAgo: number }) {
      const expiresAt = sql`now() - make_interval(mins => ${left.expiredMinutesAgo})`;
      await db.query(sql`
        update send_queue
           set leased_by = ${lostId}, lease_epoch = 1, attempt = 1, expires_at = ${expiresAt},
               due_at = now() - make_interval(mins => ${left.leaseEndedMinutesAgo})`);
      await db.query(sql`
        update messages set expires_at = ${expiresAt} where message_id = ${messageId}`);
    },
    async giveBackInDoubt({ hasLateAnswer }: { hasLateAnswer: boolean }) {
      await db.query(sql`update send_queue set leased_by = null`);
      await db.query(sql`
        insert into submissions (message_id, account_id, segment, turn, carrier_id, at, outcome, carrier_message_id,
                                 in_doubt_at, doubt_reason, doubt_action)
        select message_id, account_id, 1, 1, carrier_id, now(), ${hasLateAnswer ? "accepted" : null},
               ${hasLateAnswer ? "late-1" : null}, now(), 'timeout', 'resend'
          from send_queue`);
    },
    expire: () => expireMessages({ db, clock: systemClock }).pass(new AbortController().signal),
    pass: () =>
      endOverdue({
        db,
        clock: systemClock,
        log: silentLog,
        nodeId,
        recorder: record,
        routing: () => loadRouting(db),
      }),
    async ending() {
      const { status, error_code: error } = await readMessage(api, messageId);
      const doubts = await db.query(sql`
        select from submissions where message_id = ${messageId} and in_doubt_at is not null`);
      const ledger = await db.query<{ kind: string }>(sql`
        select kind from ledger where message_id = ${messageId} order by seq`);
      const queued = await db.query(sql`select from send_queue`);
      return {
        status,
        error,
        doubts: doubts.length,
        ledger: ledger.map(({ kind }) => kind),
        queued: queued.length,
      };
    },
  };
}
