import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { lockAccounts } from "#accounts";
import type { Receipt } from "#carriers";
import { findMessagesOf, type MessageRow } from "#messages";
import { type Database, DatabaseUnavailable, newId, silentLog, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { somebodyWaits } from "../../test/support/locks.ts";
import { heldMessage, lease, readMessage } from "../../test/support/messages.ts";
import { absentDatabase, recorderOf } from "../../test/support/recorder.ts";
import { findUnreported, RECALL_AFTER_MS } from "./recall-receipts.ts";
import { receiptSink } from "./receipt-sink.ts";
import type { Submission } from "./record.ts";

const api = await startApi({ credits: 100_000 });
after(() => api[Symbol.asyncDispose]());
const { db } = api;
// A sweep covers the receipts of all carriers.
beforeEach(() => db.query(sql`delete from parked_receipts`));

for (const what of ["a refusal", "an answer with a rejecting receipt", "a rejection before SENT"]) {
  test(`${what} locks the account before the queue, as a cancellation does`, async () => {
    const { nodeId, message, carrierId, at, record, submission, again } = await held();
    const [taken, sent] = [{ answer: accepted("x") }, { step: { next: "sent" } as const }];
    let last = { ...submission, ...taken, ...sent } as Submission;
    if (what === "a refusal") last = { ...submission, ...REFUSAL };
    else await record.receipt({ receipt: rejection(carrierId), at });
    if (what === "a rejection before SENT") {
      await record.submission({ ...submission, ...taken, step: again });
      await lease(db, nodeId, message.message_id);
      last = { ...submission, ...sent, turn: 0, answer: { kind: "none" } };
    }

    // Locks as a cancellation does: the account first, then the queue row.
    const stored = await db.transaction(async (tx) => {
      await lockAccounts(tx, [message.account_id]);
      const storing = record.submission(last);
      await somebodyWaits(db);
      await tx.query(sql`
        select message_id from send_queue where message_id = ${message.message_id} for update nowait`);
      return { storing };
    });
    await stored.storing;

    const ended = await readMessage(api, message.message_id);
    assert.equal(ended.status, "FAILED");
    const kinds = await db.query(sql`
      select kind from ledger where message_id = ${message.message_id} order by seq`);
    assert.deepEqual(kinds, [{ kind: "charge" }, { kind: "refund" }]);
  });
}

test("a rejecting receipt locks the account before the message, as a cancellation does", async () => {
  const { message, carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });

  const stored = await db.transaction(async (tx) => {
    await lockAccounts(tx, [message.account_id]);
    const storing = record.receipt({ receipt: rejection(carrierId), at });
    await somebodyWaits(db);
    await tx.query(sql`
      select message_id from messages where message_id = ${message.message_id} for update nowait`);
    return { storing };
  });
  await stored.storing;

  const ended = await readMessage(api, message.message_id);
  assert.equal(ended.status, "FAILED");
});

test("the receipt sink tells when anything was last stored, so that slow is not taken for stuck", async () => {
  const { record, submission } = await held();
  const { storedAtMs } = receiptSink(record, systemClock);
  assert.equal(storedAtMs(), Number.NEGATIVE_INFINITY);
  const beganAtMs = systemClock.monotonicMs();

  await record.submission({ ...submission, answer: accepted("x"), step: null });

  assert.ok(storedAtMs() >= beganAtMs);
});

test("a receipt that came while its message was still QUEUED takes effect once it is SENT", async () => {
  for (const effect of ["delivered", "rejected"] as const) {
    const { nodeId, message, carrierId, at, record, submission, again } = await held();
    await record.submission({ ...submission, answer: DOUBT, step: again });
    await record.submission({ ...submission, answer: accepted("x"), step: null });
    const reason = { errorCode: "BLOCKED", carrierCode: "007" } as const;
    await record.receipt({ receipt: { ...rejection(carrierId), effect, ...reason }, at });

    await lease(db, nodeId, message.message_id);
    const taken = { ...submission, turn: 0, answer: { kind: "none" } } as const;
    await record.submission({ ...taken, step: { next: "sent" } });

    const ended = await readMessage(api, message.message_id);
    assert.deepEqual(
      [ended.status, ended.error_code, ended.error_carrier_code],
      effect === "delivered" ? ["DELIVERED", null, null] : ["FAILED", "BLOCKED", "007"],
    );
  }
});

test("a parked receipt decides before one that arrives together with the answer", async () => {
  const { message, carrierId, at, record, submission } = await held();
  const receipt = rejection(carrierId);
  await record.receipt({ receipt: { ...receipt, effect: "delivered" }, at });

  await Promise.all([
    record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } }),
    record.receipt({ receipt, at }),
  ]);

  assert.equal((await readMessage(api, message.message_id)).status, "DELIVERED");
});

test("a last doubt ends a message as UNKNOWN, whatever another carrier's alphabet could not hold", async () => {
  const { nodeId, message, record, submission, again } = await held();
  const unfit = { ...REFUSAL.answer, code: "CONTENT_REJECTED", carrierCode: null } as const;
  await record.submission({ ...submission, answer: unfit, step: again });
  await lease(db, nodeId, message.message_id);

  const step = { next: "fail", code: "UNKNOWN", carrierCode: null } as const;
  await record.submission({ ...submission, turn: 2, answer: DOUBT, step });

  assert.equal((await readMessage(api, message.message_id)).error_code, "UNKNOWN");
});

test("a message given back waits in its old place, and only its last claim gives it back", async () => {
  const { nodeId, message, record, submission, again } = await held();
  const { message_id: messageId } = message;
  const queued = () =>
    db.query(sql`
      select leased_by, due_at = placed_at as "isInPlace" from send_queue where message_id = ${messageId}`);
  await db.query(sql`update send_queue set lease_epoch = 2 where message_id = ${messageId}`);

  const former = await record.submission({ ...submission, answer: DOUBT, step: again });
  const afterFormer = await queued();
  await record.submission({ ...submission, epoch: 2, turn: 2, answer: DOUBT, step: again });

  assert.equal(former, "overtaken");
  assert.deepEqual(afterFormer, [{ leased_by: nodeId, isInPlace: false }]);
  assert.deepEqual(await queued(), [{ leased_by: null, isInPlace: true }]);
});

test("a doubt and the late answer to it may be stored together: the row has both, and no later answer", async () => {
  const { message, record, submission, again } = await held();

  await Promise.all([
    record.submission({ ...submission, answer: DOUBT, step: again }),
    record.submission({ ...submission, answer: accepted("x"), step: null }),
  ]);
  await record.submission({ ...submission, ...REFUSAL, step: null });

  const rows = await db.query(sql`
    select in_doubt_at is not null as "inDoubt", doubt_reason, outcome, match_id
      from submissions
     where message_id = ${message.message_id}`);
  assert.deepEqual(rows, [
    { inDoubt: true, doubt_reason: "timeout", outcome: "accepted", match_id: "x" },
  ]);
});

test("is_whole comes from the node that handed the message over, not from the one that recorded the doubt", async () => {
  const { message, record, submission } = await held();
  const lost = { kind: "process_lost", isLast: false } as const;
  await record.submission({ ...submission, isWhole: false, answer: lost, step: null });

  await record.submission({ ...submission, isWhole: true, answer: accepted("x"), step: null });

  const rows = await db.query(sql`
    select outcome, is_whole from submissions where message_id = ${message.message_id}`);
  assert.deepEqual(rows, [{ outcome: "accepted", is_whole: true }]);
});

test("a resend that fails ends nothing if the first was accepted late, even in one batch", async () => {
  const code = "REJECTED_BY_CARRIER";
  const refusal = { kind: "refused", temporary: false, throttled: false } as const;
  for (const { isOneBatch, answer, step, row } of [
    {
      isOneBatch: true,
      answer: DOUBT,
      step: { next: "fail", code: "UNKNOWN", carrierCode: null },
      row: { outcome: null, doubt_action: "resend" },
    },
    {
      isOneBatch: false,
      answer: { ...refusal, code, carrierCode: "0x45" },
      step: { next: "fail", code, carrierCode: "0x45" },
      row: { outcome: "refused", doubt_action: null },
    },
  ] as const) {
    const { nodeId, message, record, submission, again } = await held();
    await record.submission({ ...submission, answer: DOUBT, step: again });
    await lease(db, nodeId, message.message_id);

    const late = () => record.submission({ ...submission, answer: accepted("x"), step: null });
    const resent = () => record.submission({ ...submission, turn: 2, answer, step });
    if (isOneBatch) await Promise.all([resent(), late()]);
    else for (const tell of [late, resent]) await tell();

    const after = await readMessage(api, message.message_id);
    assert.equal(after.status, "QUEUED");
    const queued = await db.query(sql`
      select leased_by from send_queue where message_id = ${message.message_id}`);
    assert.deepEqual(queued, [{ leased_by: null }]);
    const rows = await db.query(sql`
      select outcome, doubt_action
        from submissions
       where message_id = ${message.message_id}
       order by turn`);
    assert.deepEqual(rows, [{ outcome: "accepted", doubt_action: "resend" }, row]);
  }
});

test("a message remembers the carrier that took it, even if that is not the first of its route", async () => {
  const { message, carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
  const sent = await readMessage(api, message.message_id);
  await record.receipt({ receipt: { ...rejection(carrierId), effect: "delivered" }, at });
  const ended = await readMessage(api, message.message_id);

  assert.deepEqual([sent.status, sent.carrier_id], ["SENT", carrierId]);
  assert.deepEqual([ended.status, ended.carrier_id], ["DELIVERED", carrierId]);
});

test("refusals by the carrier's code, and receipts that come after the end, are counted per carrier", async () => {
  const { nodeId, message, carrierId, at, record, submission, again } = await held();
  const refused = { kind: "refused", temporary: true, throttled: false, code: "EXPIRED" } as const;
  // The second refusal is ours: the carrier has no code for it.
  for (const [position, carrierCode] of ["0x58", null].entries()) {
    const answer = { ...refused, carrierCode };
    await record.submission({ ...submission, turn: position + 1, answer, step: again });
  }
  await lease(db, nodeId, message.message_id);
  const sent = { answer: accepted("x"), step: { next: "sent" } } as const;
  await record.submission({ ...submission, turn: 3, ...sent });
  const receipt = { ...rejection(carrierId), state: "DELIVRD", effect: "delivered" } as const;
  await record.receipt({ receipt, at });
  const inTime = record.lastHour(carrierId);
  await record.receipt({ receipt: rejection(carrierId), at });

  assert.partialDeepStrictEqual(inTime, { refusals: { "0x58": 1 }, lateReceipts: 0 });
  assert.partialDeepStrictEqual(record.lastHour(carrierId), {
    refusals: { "0x58": 1 },
    lateReceipts: 1,
  });
});

test("a receipt for a message that was given up is kept in its history, marked as not applied", async () => {
  const { message, carrierId, at, record, submission } = await held();
  const givenUp = { next: "fail", code: "UNKNOWN", carrierCode: null } as const;
  await record.submission({ ...submission, answer: DOUBT, step: givenUp });
  await record.submission({ ...submission, answer: accepted("x"), step: null });

  const told = { ...rejection(carrierId), state: "DELIVRD", effect: "delivered" } as const;
  await record.receipt({ receipt: told, at });

  const { data } = (await api.get(`/v1/messages/${message.message_id}/events`)).json();
  assert.partialDeepStrictEqual(
    data.filter(({ type }: { type: string }) => type === "receipt"),
    [{ state: "DELIVRD", applied: false }],
  );
  assert.equal((await readMessage(api, message.message_id)).status, "FAILED");
});

test("a failure reported twice for a segment handed over twice counts once", async () => {
  for (const isOneBatch of [true, false]) {
    const { message, carrierId, at, record } = await sentTwice();

    const failure = () => record.receipt({ receipt: rejection(carrierId), at });
    if (isOneBatch) await Promise.all([failure(), failure()]);
    else for (const tell of [failure, failure]) await tell();
    const receipt = { ...rejection(carrierId), carrierMessageIds: ["y"] };
    await record.receipt({ receipt: { ...receipt, effect: "delivered" }, at });

    const ended = await readMessage(api, message.message_id);
    assert.equal(ended.status, "DELIVERED");
  }
});

test("one receipt delivers a message of several segments that its carrier took in one piece", async () => {
  const { message, carrierId, at, record, submission } = await held({ text: "x".repeat(200) });
  const sent = { answer: accepted("x"), step: { next: "sent" } } as const;
  await record.submission({ ...submission, isWhole: true, ...sent });

  await record.receipt({ receipt: { ...rejection(carrierId), effect: "delivered" }, at });

  assert.equal((await readMessage(api, message.message_id)).status, "DELIVERED");
});

test("a failure reported for a segment counts, whatever became of it before it was taken", async () => {
  for (const answer of [DOUBT, { ...REFUSAL.answer, temporary: true }] as const) {
    const { nodeId, message, carrierId, at, record, submission, again } = await held();
    await record.submission({ ...submission, answer, step: again });
    await lease(db, nodeId, message.message_id);
    const sent = { answer: accepted("x"), step: { next: "sent" } } as const;
    await record.submission({ ...submission, turn: 2, ...sent });

    await record.receipt({ receipt: rejection(carrierId), at });

    assert.equal((await readMessage(api, message.message_id)).status, "FAILED");
  }
});

test("a failure reported to two nodes at once for a segment handed over twice counts once", async () => {
  const { message, carrierId, at, record } = await sentTwice();
  const failure = { ...rejection(carrierId), state: "UNDELIV", effect: "undelivered" } as const;
  const records = [record, recorderOf(db, newId(systemClock.now().getTime()))];

  const { storing } = await db.transaction(async (tx) => {
    await tx.query(sql`
      select message_id from messages where message_id = ${message.message_id} for update`);
    const storing = Promise.all(records.map((each) => each.receipt({ receipt: failure, at })));
    await somebodyWaits(db, records.length);
    return { storing };
  });
  await storing;

  const told = await readMessage(api, message.message_id);
  assert.equal(told.status, "SENT");
});

test("a carrier that repeats itself for ever cannot fill the history, and a decisive receipt is still kept", async () => {
  const { message, carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
  await db.query(sql`
    update submissions
       set receipts = (select jsonb_agg(jsonb_build_object('state', 'ENROUTE')) from generate_series(1, 99))
     where message_id = ${message.message_id}`);
  const kept = async () => {
    const [row] = await db.query<{ count: number }>(sql`
      select jsonb_array_length(receipts) as count from submissions where message_id = ${message.message_id}`);
    return row?.count;
  };
  const receipt = { ...rejection(carrierId), state: "ENROUTE" };
  for (let n = 0; n < 3; n += 1)
    await record.receipt({ receipt: { ...receipt, effect: "none" }, at });
  const repeated = await kept();

  await record.receipt({ receipt: { ...receipt, effect: "delivered" }, at });

  assert.deepEqual([repeated, await kept()], [100, 101]);
});

test("if many submissions share an id, a receipt belongs to the one with its recipient, in whatever form", async () => {
  const { messages, statuses, record, receipt, at } = await sharingOneId(14);
  const [first, second, third] = messages.map(({ recipient }) => recipient);

  for (const recipient of [`${first}`, `00${second}`, `0${third?.slice(2)}`])
    await record.receipt({ receipt: { ...receipt, recipient }, at });

  const [oldest, others] = [(await statuses()).slice(0, 3), (await statuses()).slice(3)];
  assert.deepEqual(oldest, ["DELIVERED", "DELIVERED", "DELIVERED"]);
  assert.deepEqual(new Set(others), new Set(["SENT"]));
});

test("a receipt for the oldest of many that share its id is found, even if a thousand others came with it", async () => {
  const { messages, statuses, record, receipt, at } = await sharingOneId(14);
  const others = Array.from({ length: 1_200 }, (_, n) => [`other ${n}`]);
  const recipient = messages[0]?.recipient ?? "";

  // The first has a batch of its own.
  await Promise.all(
    [["other"], ["x"], ...others].map((carrierMessageIds) =>
      record.receipt({ receipt: { ...receipt, carrierMessageIds, recipient }, at }),
    ),
  );
  const before = (await statuses())[0];
  const swept = await record.sweepParked();

  assert.deepEqual([before, swept, (await statuses())[0]], ["SENT", 1, "DELIVERED"]);
});

test("if several submissions share an id, a receipt that names no recipient belongs to the newest waiting", async () => {
  const sender = "4930123456";
  const { statuses, record, receipt, at } = await sharingOneId(4, { sender });

  for (const recipient of [null, "49151xxxx312", sender])
    await record.receipt({ receipt: { ...receipt, recipient }, at });

  assert.deepEqual(await statuses(), ["SENT", "DELIVERED", "DELIVERED", "DELIVERED"]);
});

test("a receipt that names its carrier's own sender names no recipient", async () => {
  const { nodeId, statuses, receipt, at } = await sharingOneId(2);
  const defaultSender = "4930123456";
  const rules = () => ({ windowMs: 60_000, per: "segment", defaultSender }) as const;
  const record = recorderOf(db, nodeId, { rules });

  await record.receipt({ receipt: { ...receipt, recipient: `+${defaultSender}` }, at });

  assert.deepEqual(await statuses(), ["SENT", "DELIVERED"]);
});

test("a receipt for a recipient that no submission of its id has waits for its own submission", async () => {
  const { nodeId, statuses, record, receipt, submission, at } = await sharingOneId(2);
  const recipient = "33698765432";

  await record.receipt({ receipt: { ...receipt, recipient }, at });
  assert.deepEqual(await statuses(), ["SENT", "SENT"]);
  assert.equal(await record.sweepParked(), 0);
  const parked = () => db.query(sql`select parked_id from parked_receipts`);
  const before = await parked();
  const other = await heldMessage(api, nodeId, { recipient: "33612345678" });
  await record.submission({ ...submission, message: other, at: new Date(at.getTime() + 10) });
  assert.deepEqual([before.length, await parked()], [1, before], "it is left where it is");
  const message = await heldMessage(api, nodeId, { recipient });
  await record.submission({ ...submission, message, at: new Date(at.getTime() + 20) });

  assert.deepEqual(await statuses(other, message), ["SENT", "SENT", "SENT", "DELIVERED"]);
});

test("receipts that overtake their answer are kept for their recipient, even if its id was used before", async () => {
  const { nodeId, statuses, record, receipt, submission, at } = await sharingOneId(1);
  const recipient = "33698765432";
  await record.receipt({ receipt, at });

  await record.receipt({ receipt: { ...receipt, recipient, effect: "none" }, at });
  await record.receipt({ receipt: { ...receipt, recipient }, at });
  assert.equal((await db.query(sql`select parked_id from parked_receipts`)).length, 2);
  const message = await heldMessage(api, nodeId, { recipient });
  await record.submission({ ...submission, message, at: new Date(at.getTime() + 10) });

  assert.deepEqual(await statuses(message), ["DELIVERED", "DELIVERED"]);
});

test("a receipt that overtakes its answer decides no older message whose id it uses again", async () => {
  const { nodeId, statuses, receipt, submission, at } = await sharingOneId(1);
  const recipient = "33698765432";
  const message = await heldMessage(api, nodeId, { recipient });
  const inHand = [{ message }];
  const rules = () => ({ windowMs: 60_000, per: "segment", inHand }) as const;
  const record = recorderOf(db, nodeId, { rules });

  await record.receipt({ receipt: { ...receipt, recipient }, at });
  const early = await statuses(message);
  await record.submission({ ...submission, message, at: new Date(at.getTime() + 10) });

  assert.deepEqual(early, ["SENT", "QUEUED"]);
  assert.deepEqual(await statuses(message), ["SENT", "DELIVERED"]);
});

test("a receipt with the id of one message belongs to it, whatever number a carrier puts in it", async () => {
  const { nodeId, messages, statuses, receipt, at } = await sharingOneId(1);
  const other = await heldMessage(api, nodeId, { recipient: "33698765432" });
  const inHand = [...messages, other].map((message) => ({ message }));
  const rules = () => ({ windowMs: 60_000, per: "segment", inHand }) as const;

  const record = recorderOf(db, nodeId, { rules });
  await record.receipt({ receipt: { ...receipt, recipient: "447700900123" }, at });

  assert.deepEqual(await statuses(), ["DELIVERED"]);
});

test("a repeated receipt is in the history of its message, whatever else than a number it names", async () => {
  const { messages, record, receipt, at } = await sharingOneId(1);
  const recipient = messages[0]?.recipient ?? "";

  for (const named of [recipient, recipient, `0${recipient.slice(2)}`, "12345", "Posthorn", null])
    await record.receipt({ receipt: { ...receipt, recipient: named }, at });

  assert.equal((await db.query(sql`select parked_id from parked_receipts`)).length, 0);
});

test("if a receipt's id may mean two submissions, it belongs to that of its recipient, else to the waiting one", async () => {
  const { nodeId, message: first, carrierId, at, record, submission } = await held();
  const step = { next: "sent" } as const;
  await record.submission({ ...submission, answer: accepted("10"), step });
  const second = await heldMessage(api, nodeId, { recipient: "4915187654321" });
  await record.submission({ ...submission, message: second, answer: accepted("16"), step });
  const receipt = { ...rejection(carrierId), effect: "delivered" } as const;
  const carrierMessageIds = ["10", "16"];
  const statuses = async () => {
    const after = await findMessagesOf(db, [first, second]);
    return [first, second].map(({ message_id }) => after.get(message_id)?.status);
  };

  const toSecond = { ...receipt, carrierMessageIds, recipient: "4915187654321" };
  await record.receipt({ receipt: toSecond, at });
  assert.deepEqual(await statuses(), ["SENT", "DELIVERED"]);
  await record.receipt({ receipt: toSecond, at });
  assert.deepEqual(await statuses(), ["SENT", "DELIVERED"], "told twice, it is of the same one");
  const toNobody = { ...receipt, carrierMessageIds: carrierMessageIds.toReversed() };
  await record.receipt({ receipt: toNobody, at });
  assert.deepEqual(await statuses(), ["DELIVERED", "DELIVERED"]);
});

test("a message sent 37 days after it was accepted still finds its receipt", async () => {
  const { message, carrierId, at, record, submission } = await held();
  const later = new Date(at.getTime() + 37 * 86_400_000);
  const sent = { answer: accepted("x"), step: { next: "sent" } } as const;
  await record.submission({ ...submission, ...sent, at: later });

  await record.receipt({ receipt: { ...rejection(carrierId), effect: "delivered" }, at: later });

  const ended = await readMessage(api, message.message_id);
  assert.equal(ended.status, "DELIVERED");
});

test("receipts with one id that are stored together each have their own window", async () => {
  for (const isFirst of [true, false]) {
    const { message, carrierId, at, record, submission } = await held();
    await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
    const after = (ms: number) => new Date(at.getTime() + ms);
    const told = [
      { receipt: { ...rejection(carrierId), effect: "delivered" } as const, at: after(59_000) },
      { receipt: { ...rejection(carrierId), state: "EXPIRED" }, at: after(61_000) },
    ];

    // The first has a batch of its own.
    const other = { receipt: { ...rejection(carrierId), carrierMessageIds: ["other"] }, at };
    const batch = [other, ...(isFirst ? told : told.toReversed())];
    await Promise.all(batch.map((each) => record.receipt(each)));

    const [row] = await db.query(sql`
      select jsonb_path_query_array(receipts, '$.state') as states, receipt_effect
        from submissions
       where message_id = ${message.message_id}`);
    assert.deepEqual(row, { states: ["REJECTD"], receipt_effect: "delivered" });
  }
});

test("a parked receipt is left alone if its id was used before its carrier's window", async () => {
  const { message, carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
  await db.query(sql`
    update submissions set at = at - interval '1 day' where message_id = ${message.message_id}`);
  await record.receipt({ receipt: rejection(carrierId), at });
  const parked = () => db.query(sql`select parked_id from parked_receipts`);
  const before = await parked();

  assert.equal(await record.sweepParked(), 0);
  assert.deepEqual([before.length, await parked()], [1, before]);
});

test("a receipt that has waited for long matches no message to a recipient other than the one it names", async () => {
  const cases = [
    { recipient: "447700900123", waitedSeconds: 90, status: "SENT" },
    { recipient: "447700900123", waitedSeconds: 30, status: "DELIVERED" },
    { recipient: "4915112345678", waitedSeconds: 90, status: "DELIVERED" },
    { recipient: null, waitedSeconds: 90, status: "DELIVERED" },
  ];
  for (const { recipient, waitedSeconds, status } of cases) {
    const { message, carrierId, record, submission, at } = await held();
    const receipt = { ...rejection(carrierId), effect: "delivered", recipient } as const;
    // By its node's clock it came long before the message: the clocks of nodes decide nothing.
    await record.receipt({ receipt, at: new Date(at.getTime() - 600_000) });
    await db.query(sql`
      update parked_receipts set parked_at = parked_at - make_interval(secs => ${waitedSeconds})`);

    await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
    await record.sweepParked();

    const ended = await readMessage(api, message.message_id);
    assert.equal(ended.status, status, `${recipient} after ${waitedSeconds} s`);
  }
});

test("receipts parked just now are looked at each time, older ones once a minute", async () => {
  let nowMs = 0;
  const { sweepParked, park } = await sweeping({ monotonicMs: () => nowMs });

  await park(10);
  const atStart = await sweepParked();
  await park(0);
  await park(10);
  const soon = await sweepParked();
  const rest = await sweepParked();
  nowMs = 60_000;

  assert.deepEqual([atStart, soon, rest, await sweepParked()], [1, 1, 0, 1]);
});

test("older parked receipts are looked at to the end, however many there are", async () => {
  const { sweepParked, park } = await sweeping({ monotonicMs: () => 0 });
  await park(10, 501);

  assert.deepEqual([await sweepParked(), await sweepParked(), await sweepParked()], [500, 1, 0]);
});

test("a receipt is stored even if two nodes waited for each other", async () => {
  const { nodeId, message, carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
  let tries = 0;
  const contended: Database = {
    ...db,
    transaction: (work) =>
      db.transaction(async (tx) => {
        const result = await work(tx);
        if (++tries === 1)
          await tx.query(
            sql`do $$ begin raise exception using errcode = 'deadlock_detected'; end $$`,
          );
        return result;
      }),
  };

  const receipt = { ...rejection(carrierId), effect: "delivered" } as const;
  await recorderOf(contended, nodeId).receipt({ receipt, at });

  const ended = await readMessage(api, message.message_id);
  assert.equal(ended.status, "DELIVERED");
});

test("after a stop, an answer that cannot be stored holds up nobody", async () => {
  const { nodeId, submission } = await held();
  const nowhere = absentDatabase();
  const waits = Promise.withResolvers<void>();
  const log = { ...silentLog, warn: () => waits.resolve() };
  const record = recorderOf(nowhere, nodeId, { log });
  const sent = { answer: accepted("x"), step: { next: "sent" } } as const;
  const storing = record.submission({ ...submission, ...sent });
  await waits.promise;

  await record.stop();
  await nowhere.close();
  assert.equal(await storing, "overtaken");
});

test("answers that wait for the database are logged once, and keep more messages from leaving", async () => {
  const { nodeId, submission } = await held();
  const nowhere = absentDatabase();
  let nowMs = 0;
  const warnings: string[] = [];
  const waits = Promise.withResolvers<void>();
  const sleep = async () => waits.resolve(systemClock.sleep(20));
  const record = recorderOf(nowhere, nodeId, {
    clock: { ...systemClock, monotonicMs: () => nowMs, sleep: async () => await sleep() },
    log: { ...silentLog, warn: (_fields: object, text: string) => void warnings.push(text) },
  });
  const storing = [1, 2, 3].map((segment) =>
    record.submission({ ...submission, segment, answer: accepted(String(segment)), step: null }),
  );
  await waits.promise;

  assert.equal(record.isBehind(), false);
  nowMs = 3_001;
  assert.equal(record.isBehind(), true);
  await record.stop();
  await Promise.all(storing);
  assert.equal(record.isBehind(), false);
  assert.deepEqual(warnings, ["answers of carriers wait for the database"]);
  await nowhere.close();
});

test("no more messages leave while 4,000 answers wait to be stored, for however short a time", async () => {
  const away = () => Promise.reject(new DatabaseUnavailable("away"));
  const db = { ...absentDatabase(), transaction: away };
  const clock = { ...systemClock, monotonicMs: () => 0, sleep: () => systemClock.sleep(1) };
  const record = recorderOf(db, newId(systemClock.now().getTime()), { clock });
  const common = { message: {} as MessageRow, epoch: 1, carrierId: "", turn: 1, step: null };
  const answer = (segment: number) =>
    record.submission({ ...common, segment, answer: accepted("x"), at: systemClock.now() });

  const storing = Array.from({ length: 3_999 }, (_, position) => answer(position + 1));
  const before = record.isBehind();
  storing.push(answer(4_000));
  const isBehind = record.isBehind();
  await record.stop();
  await Promise.all(storing);

  assert.deepEqual([before, isBehind], [false, true]);
});

test("a message accepted long enough ago is asked about again until any receipt has come", async () => {
  const { carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
  const later = new Date(at.getTime() + RECALL_AFTER_MS + 1);
  const unreported = (now: Date) => findUnreported(db, carrierId, now);

  assert.deepEqual(await unreported(at), []);
  assert.deepEqual(await unreported(later), [
    { carrierMessageId: "x", recipient: "4915112345678" },
  ]);
  await record.receipt({ receipt: { ...rejection(carrierId), effect: "none" }, at });
  assert.deepEqual(await unreported(later), []);
});

const DOUBT = { kind: "in_doubt", why: "timeout" } as const;
const REFUSED = { next: "fail", code: "BLOCKED", carrierCode: "0x45" } as const;
const REFUSAL = {
  answer: { ...REFUSED, kind: "refused", temporary: false, throttled: false },
  step: REFUSED,
} as const;
const accepted = (id: string) => ({ kind: "accepted", carrierMessageId: id, matchId: id }) as const;

/**
 * A message that a node holds, the recorder of its answers, and its first submission, still without
 * an answer. Its carrier has no other messages.
 */
async function held(fields: object = {}) {
  const nodeId = newId(systemClock.now().getTime());
  const message = await heldMessage(api, nodeId, fields);
  const at = systemClock.now();
  const carrierId = newId(at.getTime());
  return {
    nodeId,
    message,
    carrierId,
    at,
    record: recorderOf(db, nodeId),
    submission: { message, epoch: 1, carrierId, segment: 1, turn: 1, at },
    again: { next: "again", carrierId, delayMs: 0 } as const,
  };
}

/** A message whose only segment a carrier took twice: first as x and, after a doubt, as y. */
async function sentTwice() {
  const { nodeId, submission, again, ...rest } = await held();
  const { message, record } = rest;
  await record.submission({ ...submission, answer: DOUBT, step: again });
  await lease(db, nodeId, message.message_id);
  const sent = { answer: accepted("y"), step: { next: "sent" } } as const;
  await record.submission({ ...submission, turn: 2, ...sent });
  await record.submission({ ...submission, answer: accepted("x"), step: null });
  return rest;
}

/** Messages that a carrier all took as x, each to its own recipient; the first is the oldest. */
async function sharingOneId(count: number, fields: object = {}) {
  const { nodeId, message: first, carrierId, at, record, submission: held1 } = await held();
  const submission = { ...held1, answer: accepted("x"), step: { next: "sent" } as const };
  const messages = [first];
  for (let n = 1; n < count; n += 1)
    messages.push(await heldMessage(api, nodeId, { recipient: `49151876543${10 + n}`, ...fields }));
  for (const [n, message] of messages.entries())
    await record.submission({ ...submission, message, at: new Date(at.getTime() + n) });
  return {
    nodeId,
    messages,
    record,
    at,
    submission,
    receipt: { ...rejection(carrierId), effect: "delivered" } as const,
    async statuses(...more: MessageRow[]) {
      const asked = [...messages, ...more];
      const after = await findMessagesOf(db, asked);
      return asked.map(({ message_id }) => after.get(message_id)?.status);
    },
  };
}

/** Parks receipts of a given age that the recording of their submission did not see, and sweeps. */
async function sweeping({ monotonicMs }: { monotonicMs: () => number }) {
  const { nodeId, carrierId, at, record, submission } = await held();
  await record.submission({ ...submission, answer: accepted("x"), step: { next: "sent" } });
  const receipt = JSON.stringify({ ...rejection(carrierId), effect: "none" });
  return {
    sweepParked: recorderOf(db, nodeId, { clock: { ...systemClock, monotonicMs } }).sweepParked,
    park: (minutesAgo: number, many = 1) =>
      db.query(sql`
        insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
        select id_floor(clock_timestamp() - ${minutesAgo} * interval '1 minute' + n * interval '1 ms'),
               ${carrierId}, '{x}', ${receipt}, ${at}
          from generate_series(1, ${many}::integer) as n`),
  };
}

function rejection(carrierId: string): Receipt {
  return {
    carrierId,
    carrierMessageIds: ["x"],
    state: "REJECTD",
    effect: "rejected",
    errorCode: "REJECTED_BY_CARRIER",
    carrierCode: null,
    recipient: null,
    raw: null,
  };
}
