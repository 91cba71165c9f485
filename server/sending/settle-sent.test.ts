import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { newId, sql, systemClock } from "#platform";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { heldMessage, readMessage } from "../../test/support/messages.ts";
import { recorderOf } from "../../test/support/recorder.ts";

const api = await startApi({ credits: 100_000 });
after(() => api[Symbol.asyncDispose]());
const node = nodeOn(api);

const EFFECTS = {
  ENROUTE: "none",
  DELIVRD: "delivered",
  UNDELIV: "undelivered",
  REJECTD: "rejected",
} as const;
/** The first segment was handed over twice. */
const HANDED_OVER = { first: [1, 1], again: [1, 2], second: [2, 1], last: [3, 1] } as const;

type Told = { of: keyof typeof HANDED_OVER; state: keyof typeof EFFECTS; isAtOnce: boolean };

const told = fc.record<Told>({
  of: fc.constantFrom("first", "again", "second"),
  state: fc.constantFrom("ENROUTE", "DELIVRD", "UNDELIV", "REJECTD"),
  /** Whether it comes in one batch with the receipt before it. */
  isAtOnce: fc.boolean(),
});
const orders = fc.array(told, { minLength: 2, maxLength: 5 });

test("receipts before the last answer end a message as those after SENT do, in whatever order they come", async () => {
  const endOf = async (receipts: Told[], isEarly: boolean) => {
    const message = await node.threeSegments();
    await message.answered("first", "again", "second");
    if (!isEarly) await message.answered("last");
    await message.reported(receipts);
    if (isEarly) await message.answered("last");
    return await message.end();
  };
  const rejectedFirst: Told[] = [
    { of: "second", state: "REJECTD", isAtOnce: false },
    { of: "first", state: "UNDELIV", isAtOnce: true },
    { of: "again", state: "UNDELIV", isAtOnce: true },
  ];

  const end = await endOf(rejectedFirst, true);
  assert.deepEqual([end.status, end.toldBy, end.refunded], ["FAILED", "0", [3]]);
  await fc.assert(
    fc.asyncProperty(fc.array(orders, { minLength: 20, maxLength: 20 }), async (all) => {
      const ends = (isEarly: boolean) => all.map((receipts) => endOf(receipts, isEarly));
      const [early, late] = await Promise.all([true, false].map((is) => Promise.all(ends(is))));
      assert.deepEqual(early, late);
    }),
    { numRuns: 2 },
  );
});

test("a segment that failed before its resend was answered is open again, and receipts for others still count", async () => {
  const message = await node.threeSegments();
  await message.answered("first", "second");
  await message.reported([
    { of: "first", state: "REJECTD", isAtOnce: false },
    { of: "second", state: "DELIVRD", isAtOnce: false },
  ]);

  await message.answered("again", "last");
  const before = await message.end();
  await message.reported([
    { of: "last", state: "DELIVRD", isAtOnce: false },
    { of: "again", state: "DELIVRD", isAtOnce: false },
  ]);

  assert.deepEqual([before.status, (await message.end()).status], ["SENT", "DELIVERED"]);
});

test("if a carrier reports once per message, one delivered segment delivers it, even before SENT", async () => {
  const told = nodeOn(api, "message");
  for (const isEarly of [false, true]) {
    const message = await told.threeSegments();
    await message.answered("first", "second");
    if (!isEarly) await message.answered("last");
    await message.reported([{ of: "second", state: "DELIVRD", isAtOnce: false }]);
    if (isEarly) await message.answered("last");

    assert.equal((await message.end()).status, "DELIVERED");
  }
});

/** A sender for messages that the test answers and reports on. */
function nodeOn(api: TestApi, per: "segment" | "message" = "segment") {
  const { db } = api;
  const nodeId = newId(systemClock.now().getTime());
  const record = recorderOf(db, nodeId, { rules: () => ({ windowMs: 60_000, per }) });

  async function threeSegments() {
    const message = await heldMessage(api, nodeId, { text: "x".repeat(400) });
    const { message_id: messageId, carrier_id, created_at: at } = message;
    const carrierId = carrier_id ?? "";
    const idOf = (of: Told["of"]) => `${of} of ${messageId}`;

    async function answer(of: Told["of"]) {
      const [segment, turn] = HANDED_OVER[of];
      const accepted = { kind: "accepted", carrierMessageId: idOf(of), matchId: idOf(of) } as const;
      const step = of === "last" ? ({ next: "sent" } as const) : null;
      const common = { message, epoch: 1, carrierId, segment, turn, at };
      await record.submission({ ...common, answer: accepted, step });
    }

    function report({ of, state }: Told, n: number) {
      const said = { state, effect: EFFECTS[state], errorCode: null, carrierCode: String(n) };
      const common = { carrierId, carrierMessageIds: [idOf(of)], recipient: null, raw: null };
      return record.receipt({ receipt: { ...common, ...said }, at });
    }

    return {
      answered: (...all: Told["of"][]) => Promise.all(all.map(answer)),
      async reported(receipts: Told[]) {
        const storing: Promise<void>[] = [];
        for (const [n, each] of receipts.entries()) {
          if (!each.isAtOnce) await Promise.all(storing.splice(0));
          storing.push(report(each, n));
        }
        await Promise.all(storing);
      },
      async end() {
        const ended = await readMessage(api, messageId);
        const { status, error_code: code, error_carrier_code: toldBy } = ended;
        const refunds = await db.query<{ amount: number }>(sql`
          select amount from ledger where message_id = ${messageId} and kind = 'refund'`);
        const applied = await db.query(sql`
          select segment, turn, jsonb_path_query_array(receipts, '$[*].applied') as applied
            from submissions
           where message_id = ${messageId} and receipts is not null
           order by segment, turn`);
        return { status, code, toldBy, refunded: refunds.map(({ amount }) => amount), applied };
      },
    };
  }

  return { threeSegments };
}
