import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Message } from "#contract";
import { bookCredits } from "#credits";
import { sql, systemClock } from "#platform";
import { changeCarrier } from "#sending";
import { command } from "../../server/carriers/smpp/codec/header.ts";
import { eventually } from "../support/eventually.ts";
import { makeKey } from "../support/make-key.ts";
import { testDatabase } from "../support/postgres.ts";
import { call } from "../storm/call.ts";
import { openHistory } from "../storm/history.ts";
import { startWorld, type World } from "../storm/world.ts";

const ROLES = ["api,sender", "api,sender"];
const BINDS_OF_BOTH_CARRIERS = 8;

/** Shared: two processes on one database. The last test kills one of them. */
let world: World;
let key: string;

const started = new AsyncDisposableStack();
before(async () => {
  const { url } = started.use(await testDatabase());
  const postgres = { url, nodeUrl: url, pid: () => assert.fail("other tests are on it too") };
  world = started.use(
    await startWorld({ history: openHistory(), roles: ROLES, accounts: 1, postgres }),
  );
  await topUp(100);
  ({ key } = await makeKey(world.db, { accountId: world.accountIds[0] ?? "" }));
});
after(() => started.disposeAsync());

test("the senders share the binds that the carriers allow, and open no more", async () => {
  const shares = () =>
    world.db.query<{ binds: number }>(sql`
      select count(*) as binds from bind_leases group by node_id order by node_id`);
  const half = BINDS_OF_BOTH_CARRIERS / 2;
  await eventually(
    "each sender has its share",
    async () =>
      JSON.stringify(await shares()) === JSON.stringify([{ binds: half }, { binds: half }]),
  );

  await eventually(
    "no more are open",
    async () => world.smsc.openConnections() === BINDS_OF_BOTH_CARRIERS,
  );
});

test("messages held by a killed node are sent once its lease ends, and the history shows the doubt", async () => {
  await waitForAnswers("20s");
  world.answerSubmits("never");
  const sent = await Promise.all(
    Array.from({ length: 5 }, (_, n) =>
      call<Message>(world.nodes[0]?.url ?? "", {
        method: "POST",
        path: "/v1/messages",
        key,
        body: { recipient: `491510000100${n}`, text: `Message ${n}` },
      }),
    ),
  );
  const ids = sent.map(({ body }) => body?.messageId ?? "");
  const pid = world.nodes[0]?.service()?.pid ?? 0;
  const held = sql`
    select q.message_id from send_queue q join nodes n on n.node_id = q.leased_by
     where n.pid = ${pid} and q.message_id = any (${ids}::uuid[])`;
  await eventually("the node holds some", async () => (await world.db.query(held)).length > 0);
  const before = (await world.db.query<{ message_id: string }>(held)).map((row) => row.message_id);

  process.kill(pid, "SIGKILL");
  world.answerSubmits("by_recipient");
  await allReached(ids, "DELIVERED");

  const doubts = await world.db.query<{ message_id: string }>(sql`
    select distinct message_id from submissions
     where in_doubt_at is not null and message_id = any (${before}::uuid[])`);
  assert.deepEqual(doubts.map(({ message_id }) => message_id).toSorted(), before.toSorted());
  const wrong = await world.db.query(sql`
    select account_id from accounts a
     where balance <> (select sum(amount) from ledger l where l.account_id = a.account_id)`);
  assert.deepEqual(wrong, []);
});

/** Makes the carrier that resends in doubt wait longer: after two doubts the message would fail. */
async function waitForAnswers(responseTimeout: string): Promise<void> {
  await eventually(
    "all are bound",
    async () => world.smsc.openConnections() === BINDS_OF_BOTH_CARRIERS,
  );
  const binds = world.smsc.pduCount(command.bindTransceiver);
  const [carrier] = await world.db.query<{ carrier_id: string; settings: object }>(sql`
    select carrier_id, settings from carriers where name = 'again'`);
  await changeCarrier(world.db, {
    carrierId: carrier?.carrier_id ?? "",
    settings: { ...carrier?.settings, response_timeout: responseTimeout },
    secrets: world.secrets,
    actor: "test",
    now: systemClock.now(),
  });
  await eventually(
    "they are bound anew",
    async () => world.smsc.pduCount(command.bindTransceiver) >= binds + BINDS_OF_BOTH_CARRIERS / 2,
  );
}

async function topUp(amount: number): Promise<void> {
  const accountId = world.accountIds[0] ?? "";
  const booking = { accountId, kind: "topup" as const, amount, note: "test", actor: "test" };
  await bookCredits(world.db, { ...booking, now: systemClock.now() });
}

async function allReached(ids: string[], status: string): Promise<void> {
  await eventually(`all are ${status}`, async () => {
    const reached = await world.db.query(
      sql`select message_id from messages where message_id = any (${ids}::uuid[]) and status = ${status}`,
    );
    return reached.length === ids.length;
  });
}
