import assert from "node:assert/strict";
import { after, test } from "node:test";
import { expireMessages, findStranded, listRoutes, setRoute } from "#messages";
import { DatabaseUnavailable, newId, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { queuedMessage, readMessage, unheard } from "../../test/support/messages.ts";
import { onePass } from "../../test/support/one-pass.ts";
import { unattendedOf } from "../../test/support/recorder.ts";
import { endOverdue, noteLost } from "./unattended.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());
const { db } = api;

test("a lost node's message for a carrier that takes nothing expires on time, in doubt and refunded", async () => {
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

test("a message whose lease may still be held, or that may still leave, is left alone", async () => {
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

test("an expired message that nobody ever took up is left to expireMessages", async () => {
  const world = await makeWorld();
  await db.query(sql`update send_queue set expires_at = now() - interval '1 minute'`);

  assert.equal(await world.pass(), 0);
});

test("an expired message that was given back is SENT if its carrier accepted it late, EXPIRED otherwise", async () => {
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

test("an expired message that was given back ends as NO_ROUTE if no carrier serves its number any more", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 0, expiredMinutesAgo: 1 });
  await db.query(sql`update send_queue set leased_by = null`);
  const routes = await listRoutes(db);
  await db.query(sql`delete from routes`);

  await world.pass();

  for (const route of routes) await setRoute(db, route, { actor: "test", now: systemClock.now() });
  const { status, error, ledger } = await world.ending();
  assert.deepEqual([status, error, ledger], ["FAILED", "NO_ROUTE", ["charge", "refund"]]);
});

test("an expired message that was given back leaves no doubt, even if the database goes away meanwhile", async () => {
  const world = await makeWorld({ inDoubt: "fail" });
  await world.leave({ leaseEndedMinutesAgo: 0, expiredMinutesAgo: 1 });
  await db.query(sql`update send_queue set leased_by = null`);

  await world.pass({ awayFrom: 2 }).catch(() => undefined);
  await db.query(sql`update send_queue set due_at = now() - interval '2 minutes'`);
  await world.pass();

  const { status, error, doubts } = await world.ending();
  assert.deepEqual([status, error, doubts], ["FAILED", "EXPIRED", 0]);
});

test("a stop does not wait for a database that is away", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 2, expiredMinutesAgo: 1 });

  const pass = world.pass({ awayFrom: 4, signal: AbortSignal.abort() });

  await assert.rejects(pass, DatabaseUnavailable);
});

test("a lost node's message for a carrier that is away waits again, in doubt", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 2, expiredMinutesAgo: -60 });

  await world.note();
  assert.deepEqual(await world.ending(), { ...WAITS, doubts: 1 });
  assert.equal(await world.heldBy(), null);
  await world.note();
  assert.equal((await world.ending()).doubts, 1, "once");
});

test("a lost node's message ends at once if its carrier is set to fail messages in doubt", async () => {
  const world = await makeWorld({ inDoubt: "fail" });
  await world.leave({ leaseEndedMinutesAgo: 2, expiredMinutesAgo: -60 });

  await world.note();
  assert.deepEqual(await world.ending(), {
    status: "FAILED",
    error: "UNKNOWN",
    doubts: 1,
    ledger: ["charge", "refund"],
    queued: 0,
  });
});

test("a message whose lease ended just now does not count as lost yet", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 0, expiredMinutesAgo: -60 });

  await world.note();
  assert.deepEqual(await world.ending(), WAITS);
  assert.equal(await world.heldBy(), world.lostId);
});

test("a message taken up again while it is being looked at is left alone", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 2, expiredMinutesAgo: -60 });
  const stranded = await world.stranded();
  await world.leave({ leaseEndedMinutesAgo: -1, expiredMinutesAgo: -60 });

  await world.note(stranded);
  assert.deepEqual(await world.ending(), WAITS);
});

test("a message that another node gave back meanwhile is not taken up a second time", async () => {
  const world = await makeWorld();
  await world.leave({ leaseEndedMinutesAgo: 2, expiredMinutesAgo: -60 });
  const stranded = await world.stranded();
  await world.note(stranded);
  const attempts = await world.attempts();

  await world.note(stranded);
  assert.equal(await world.attempts(), attempts);
});

const WAITS = { status: "QUEUED", error: null, doubts: 0, ledger: ["charge"], queued: 1 };

/** One accepted message; no carrier takes it, and nothing else waits. */
async function makeWorld({ inDoubt = "resend" }: { inDoubt?: "resend" | "fail" } = {}) {
  await db.query(sql`delete from send_queue`);
  const [nodeId, lostId] = [newId(systemClock.now().getTime()), newId(systemClock.now().getTime())];
  const { message_id: messageId, carrier_id: carrierId } = await queuedMessage(api);
  const deps = unattendedOf(db, nodeId, inDoubt);
  const stranded = async () => {
    const request = { carrierId: carrierId ?? "", after: undefined, limit: 10 };
    return (await findStranded(db, request)).filter(({ is_lost }) => is_lost);
  };

  return {
    lostId,
    stranded,
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
    expire: () => onePass(expireMessages({ db, clock: systemClock, listener: unheard })),
    /** The database is away for the nth query, counted from 1, and the one after it. */
    pass({ awayFrom = Infinity, signal = deps.signal } = {}) {
      let asked = 0;
      const query: typeof db.query = async (statement) => {
        asked += 1;
        if (asked === awayFrom || asked === awayFrom + 1) throw new DatabaseUnavailable("away");
        return db.query(statement);
      };
      return endOverdue({ ...deps, signal, db: { ...db, query } });
    },
    note: async (lost?: Awaited<ReturnType<typeof stranded>>) =>
      noteLost(deps, lost ?? (await stranded())),
    async heldBy() {
      const [row] = await db.query<{ leased_by: string | null }>(
        sql`select leased_by from send_queue`,
      );
      return row?.leased_by;
    },
    async attempts() {
      const [row] = await db.query<{ attempt: number }>(sql`select attempt from send_queue`);
      return row?.attempt;
    },
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
