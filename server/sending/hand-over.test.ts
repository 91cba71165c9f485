import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Carrier, OutgoingSegment, SubmitOutcome } from "#carriers";
import { loadRouting, renewLeases } from "#messages";
import { newId, silentLog, sql, systemClock } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { heldMessage, readMessage } from "../../test/support/messages.ts";
import { recorderOf } from "../../test/support/recorder.ts";
import { eventually } from "../../test/support/eventually.ts";
import { type DueSend, readSegments } from "./due-send.ts";
import { handOver, type HandOverDeps, type Taker } from "./hand-over.ts";
import type { Submission } from "./record.ts";

const api = await startApi({ credits: 100_000 });
after(() => api[Symbol.asyncDispose]());
const { db } = api;

const TWO_SEGMENTS = "a".repeat(200);

test("a holder that was overtaken while an answer waited to be stored sends no further segment", async () => {
  const world = await makeWorld();
  const due = await world.claimed();
  const sent = await world.handOver(due, async () => {
    // This same node claimed it again: its database had been away for longer than the lease.
    await world.overtake();
    return accepted("1");
  });
  assert.deepEqual(sent, [1]);
  assert.deepEqual(await world.queue(), [{ lease_epoch: 2, is_leased: true }]);
});

test("a segment waiting at its carrier checks that its lease still holds when its turn comes", async () => {
  const world = await makeWorld();
  const due = await world.claimed();
  let isLeaseFresh = true;
  let isBack = false;
  const sent = await world.handOver(
    due,
    async (_segment, mayLeave) => {
      isLeaseFresh = false;
      return mayLeave() ? accepted("1") : { kind: "unsent" };
    },
    { isLeaseFresh: () => isLeaseFresh, onBack: () => (isBack = true) },
  );
  assert.ok(isBack, "it was there before whoever comes now");
  assert.deepEqual(sent, [1]);
  assert.equal(await world.status(), "QUEUED");
  assert.deepEqual(await world.queue(), [{ lease_epoch: 1, is_leased: false }]);
});

test("a message whose lease may have ended between two segments goes back, without a doubt", async () => {
  const world = await makeWorld();
  let isLeaseFresh = true;
  let isBack = false;
  const sent = await world.handOver(
    await world.claimed(),
    async () => {
      // The answer is stored late: the database was away.
      isLeaseFresh = false;
      return accepted("1");
    },
    { isLeaseFresh: () => isLeaseFresh, onBack: () => (isBack = true) },
  );
  assert.deepEqual(sent, [1]);
  assert.equal(await world.status(), "QUEUED");
  assert.deepEqual(await world.queue(), [{ lease_epoch: 1, is_leased: false }]);
  assert.equal(await world.doubts(), 0);
  assert.ok(isBack, "it was there before whoever comes now");
});

test("after a route is changed, no message goes to a carrier of the old one", async () => {
  const world = await makeWorld();
  const now = await loadRouting(db);
  const old = { ...now, carriersFor: () => ["019a85c2-5b00-7abc-8def-0123456789ab"] };
  const busy = { kind: "refused", temporary: true, throttled: false } as const;

  await world.handOver(
    await world.claimed(),
    async () => ({ ...busy, code: "CARRIER_UNAVAILABLE", carrierCode: "0x14" }),
    { routing: async (isAnew = false) => (isAnew ? now : old) },
  );

  const rows = await world.carrierInQueue();
  assert.deepEqual(rows, [{ carrier_id: world.carrier.carrierId }]);
});

test("a message stays with the carrier that has accepted a segment of it, whatever that refuses later", async () => {
  const world = await makeWorld();
  const now = await loadRouting(db);
  const { carrierId } = world.carrier;
  const route = [carrierId, "019a85c2-5b00-7abc-8def-0123456789ab"];
  const { message, epoch } = await world.claimed();
  const first = { message, epoch, carrierId, segment: 1, turn: 1, at: systemClock.now() };
  await world.record({ ...first, answer: accepted("1"), step: null });
  const busy = { kind: "refused", temporary: true, throttled: false } as const;

  const sent = await world.handOver(
    await world.claimed({
      earlier: await world.read(),
    }),
    async () => ({ ...busy, code: "CARRIER_UNAVAILABLE", carrierCode: "0x14" }),
    { routing: async () => ({ ...now, carriersFor: () => route }) },
  );

  assert.deepEqual(sent, [2]);
  const rows = await world.carrierInQueue();
  assert.deepEqual(rows, [{ carrier_id: carrierId }]);
});

test("a message accepted late goes on, even if the resend under way is refused", async () => {
  const world = await makeWorld();
  const { read } = world;
  const late = Promise.withResolvers<SubmitOutcome>();
  await world.handOver(await world.claimed(), async () => ({
    kind: "in_doubt",
    why: "timeout",
    lateAnswer: late.promise,
  }));
  await world.leaseAgain();
  const claimed = { attempt: 2, epoch: 2, earlier: await read() };
  const refused = { kind: "refused", temporary: false, throttled: false } as const;

  const resent = await world.handOver(await world.claimed(claimed), async () => {
    late.resolve(accepted("1"));
    await eventually("it is stored", async () => (await read()).get(1)?.isAccepted === true);
    return { ...refused, code: "REJECTED_BY_CARRIER", carrierCode: "0x45" };
  });
  await world.leaseAgain();
  const rest = await world.handOver(
    await world.claimed({ attempt: 3, epoch: 3, earlier: await read() }),
    async () => accepted("2"),
  );

  assert.deepEqual([resent, rest], [[1], [2]]);
  assert.equal(await world.status(), "SENT");
});

for (const isAccepted of [true, false]) {
  const what = isAccepted ? "has" : "refuses";
  test(`a resend waiting for its turn is not sent if the carrier says late that it ${what} the segment`, async () => {
    const world = await makeWorld();
    const { read, carrier } = world;
    // Nothing of it was sent to the next carrier of the route.
    const routing = {
      ...(await loadRouting(db)),
      carriersFor: () => [carrier.carrierId, newId(0)],
    };
    const late = Promise.withResolvers<SubmitOutcome>();
    const doubt = { kind: "in_doubt", why: "timeout", lateAnswer: late.promise } as const;
    await world.handOver(await world.claimed(), async () => doubt);
    await world.leaseAgain();
    const waiting = { attempt: 2, epoch: 2, earlier: await read() };
    const refused = { kind: "refused", temporary: false, throttled: false } as const;
    const told = isAccepted
      ? accepted("1")
      : ({ ...refused, code: "RECIPIENT_UNKNOWN", carrierCode: "0x0B" } as const);

    let mayLeave: boolean | undefined;
    await world.handOver(
      await world.claimed(waiting),
      async (_segment, ask) => {
        late.resolve(told);
        await eventually("it is stored", async () => {
          const known = (await read()).get(1);
          return known?.isAccepted === true || Boolean(known?.refusal);
        });
        mayLeave = ask();
        return mayLeave ? accepted("twice") : { kind: "unsent" };
      },
      { routing: async () => routing },
    );
    const turns = (await read()).get(1)?.turns;
    const queued = await world.carrierInQueue();
    await world.leaseAgain();
    const rest = await world.handOver(
      await world.claimed({ attempt: 3, epoch: 3, earlier: await read() }),
      async () => accepted("2"),
    );

    assert.deepEqual([mayLeave, turns, rest], [false, 1, isAccepted ? [2] : []]);
    assert.deepEqual(queued, [{ carrier_id: carrier.carrierId }]);
    const { status, error_code } = await world.message();
    assert.deepEqual(
      [status, error_code],
      isAccepted ? ["SENT", null] : ["FAILED", "RECIPIENT_UNKNOWN"],
    );
  });
}

test("a resend waiting for its turn is sent if the late answer could not be stored", async () => {
  const world = await makeWorld();
  const answeredLate = new Set<string>();
  const late = Promise.resolve(accepted("1"));
  const { promise: tried, resolve: fail } = Promise.withResolvers<void>();
  const recorder = {
    ...recorderOf(db, world.nodeId),
    async submission(submission: Submission) {
      if (submission.answer.kind === "in_doubt") return world.record(submission);
      fail();
      throw new Error("its row is damaged");
    },
  };
  await world.handOver(
    await world.claimed(),
    async () => ({ kind: "in_doubt", why: "timeout", lateAnswer: late }),
    { recorder, answeredLate },
  );
  await tried;
  await world.leaseAgain();

  const waiting = { attempt: 2, epoch: 2, earlier: await world.read() };
  let mayLeave: boolean | undefined;
  await world.handOver(
    await world.claimed(waiting),
    async ({ segment }, ask) => {
      mayLeave ??= ask();
      return accepted(String(segment));
    },
    { answeredLate },
  );

  assert.equal(mayLeave, true);
});

test("a resend waiting for its turn is sent if the late answer is a temporary refusal", async () => {
  const world = await makeWorld();
  const { read } = world;
  const late = Promise.withResolvers<SubmitOutcome>();
  const doubt = { kind: "in_doubt", why: "timeout", lateAnswer: late.promise } as const;
  await world.handOver(await world.claimed(), async () => doubt);
  await world.leaseAgain();
  const waiting = { attempt: 2, epoch: 2, earlier: await read() };

  let mayLeave: boolean | undefined;
  await world.handOver(await world.claimed(waiting), async ({ segment }, ask) => {
    late.resolve(busy("0x14"));
    await eventually("it is stored", async () => (await world.outcomes())[0] !== null);
    mayLeave ??= ask();
    return accepted(String(segment));
  });

  assert.equal(mayLeave, true);
});

for (const { what, left } of [
  { what: "that waits for its turn", left: 0 },
  { what: "after the first", left: 1 },
]) {
  test(`no segment ${what} leaves once the message has expired, and the credits are refunded`, async () => {
    const world = await makeWorld();
    const { expires_at } = await world.message();
    const creditsOf = async () => (await api.get("/v1/credits")).json().balance;
    const before = await creditsOf();
    let now = systemClock.now();
    const clock = { ...systemClock, now: () => now };

    const segments: number[] = [];
    await world.handOver(
      await world.claimed(),
      async ({ segment }, mayLeave) => {
        now = expires_at;
        if (left === 0 && !mayLeave()) return { kind: "unsent" };
        segments.push(segment);
        return accepted(String(segment));
      },
      { clock },
    );

    assert.equal(segments.length, left);
    const { status, error_code } = await world.message();
    assert.deepEqual([status, error_code], ["FAILED", "EXPIRED"]);
    assert.equal(await creditsOf(), before + 2);
    assert.equal((await world.read()).size, left, "what did not leave is no submission");
  });
}

test("a message that expires reports the last refusal of the waiting segment, and of no other", async () => {
  for (const { refusals, told } of [
    { refusals: ["0x08", "0x58"], told: "0x58" },
    { refusals: [], told: null },
  ]) {
    const world = await makeWorld();
    const { message } = await world.claimed();
    const { carrierId } = world.carrier;
    const common = { message, epoch: 1, carrierId, step: null, at: systemClock.now() };
    await world.record({ ...common, segment: 1, turn: 1, answer: busy("0x14") });
    await world.record({ ...common, segment: 1, turn: 2, answer: accepted("1") });
    for (const [before, code] of refusals.entries())
      await world.record({ ...common, segment: 2, turn: before + 1, answer: busy(code) });

    const taken = await world.claimed({ earlier: await world.read() });
    const clock = { ...systemClock, now: () => message.expires_at };
    await world.handOver(taken, async () => accepted("2"), { clock });

    const { error_code, error_carrier_code } = await world.message();
    assert.deepEqual([error_code, error_carrier_code], ["EXPIRED", told]);
  }
});

test("a message refused late fails for that reason, even if the resend under way gets no answer", async () => {
  const world = await makeWorld();
  const { read } = world;
  const doubt = { kind: "in_doubt", why: "timeout" } as const;
  const late = Promise.withResolvers<SubmitOutcome>();
  await world.handOver(await world.claimed(), async () => ({ ...doubt, lateAnswer: late.promise }));
  await world.leaseAgain();
  const claimed = { attempt: 2, epoch: 2, earlier: await read() };
  const refused = { kind: "refused", temporary: false, throttled: false } as const;

  await world.handOver(await world.claimed(claimed), async () => {
    late.resolve({ ...refused, code: "RECIPIENT_UNKNOWN", carrierCode: "0x0B" });
    await eventually("it is stored", async () => (await read()).get(1)?.refusal !== null);
    return doubt;
  });

  const { status, error_code, error_carrier_code } = await world.message();
  assert.deepEqual(
    [status, error_code, error_carrier_code],
    ["FAILED", "RECIPIENT_UNKNOWN", "0x0B"],
  );
  assert.equal(await world.doubts(), 2);
});

for (const { what, doubts, wasLeased, isExpired } of [
  { what: "its next holder is lost", doubts: 1, wasLeased: true, isExpired: false },
  { what: "its last doubt ends it", doubts: 2, wasLeased: true, isExpired: false },
  { what: "its validity ends", doubts: 1, wasLeased: false, isExpired: true },
]) {
  test(`a message accepted late is not given up, even if ${what} meanwhile`, async () => {
    const world = await makeWorld();
    const { message } = await world.claimed();
    const { carrierId } = world.carrier;
    const common = { message, epoch: 1, carrierId, step: null, at: systemClock.now() };
    await world.record({ ...common, segment: 1, turn: 1, answer: accepted("1") });
    const doubt = { kind: "in_doubt", why: "timeout" } as const;
    for (let turn = 1; turn <= doubts; turn += 1)
      await world.record({ ...common, segment: 2, turn, answer: doubt });
    const taken = await world.claimed({ wasLeased, earlier: await world.read() });
    // Stored after the recorded submissions were read.
    await world.record({ ...common, segment: 2, turn: 1, answer: accepted("2") });

    const clock = isExpired ? { ...systemClock, now: () => message.expires_at } : systemClock;
    const sent = await world.handOver(taken, async () => accepted("3"), { clock });
    if ((await world.status()) === "QUEUED") {
      await world.leaseAgain();
      const again = { attempt: 2, epoch: 2, earlier: await world.read() };
      await world.handOver(await world.claimed(again), async () => accepted("3"), { clock });
    }

    assert.deepEqual(sent, []);
    assert.equal(await world.status(), "SENT");
  });
}

for (const wholeMessages of [false, true]) {
  const began = wholeMessages ? "whole" : "in segments";
  test(`a message that began ${began} goes on so, even if its carrier now takes messages the other way`, async () => {
    for (const isAccepted of [true, false]) {
      const world = await makeWorld();
      const doubt = { kind: "in_doubt", why: "timeout" } as const;
      const first = await world.handOver(
        await world.claimed(),
        // The first segment's answer comes late or never; the second segment does not leave.
        async () => (isAccepted ? { ...doubt, lateAnswer: Promise.resolve(accepted("1")) } : doubt),
        { wholeMessages },
      );
      const earlier = await eventually("the late answer is stored", async () => {
        const read = await world.read();
        return read.get(1)?.isAccepted === isAccepted && read;
      });
      await world.leaseAgain();

      const texts: string[] = [];
      await world.handOver(
        await world.claimed({ attempt: 2, epoch: 2, earlier }),
        async ({ text, segment }) => {
          texts.push(text);
          return accepted(`again-${segment}`);
        },
        { wholeMessages: !wholeMessages },
      );

      const parts = wholeMessages ? [TWO_SEGMENTS] : ["a".repeat(153), "a".repeat(47)];
      assert.deepEqual(first, [1]);
      assert.deepEqual(texts, isAccepted ? parts.slice(1) : parts);
      assert.equal(await world.status(), "SENT");
    }
  });
}

test("an answer is stored even if the routes cannot be read again", async () => {
  const world = await makeWorld();
  const old = { ...(await loadRouting(db)), carriersFor: () => [] };
  const busy = { kind: "refused", temporary: true, throttled: false } as const;

  const due = await world.claimed();
  await world.handOver(
    due,
    async () => ({ ...busy, code: "CARRIER_UNAVAILABLE", carrierCode: "0x14" }),
    { routing: async (isAnew = false) => (isAnew ? assert.fail("the database is away") : old) },
  );

  const rows = await db.query(sql`
    select outcome from submissions where message_id = ${due.message.message_id}`);
  assert.deepEqual(rows, [{ outcome: "refused_temporarily" }]);
});

test("an answer is stored however often its segment was handed over before", async () => {
  const world = await makeWorld();
  const { message, epoch } = await world.claimed();
  const { carrierId } = world.carrier;
  const many = { message, epoch, carrierId, segment: 1, turn: 32_767, at: systemClock.now() };
  await world.record({ ...many, answer: { kind: "unsent" }, step: null });
  const earlier = await world.read();

  const sent = await world.handOver(await world.claimed({ earlier }), async ({ segment }) =>
    accepted(String(segment)),
  );

  assert.deepEqual(sent, [1, 2]);
  assert.equal(await world.status(), "SENT");
});

test("a renewal returns the epoch of the lease, so that one that ran out is not taken for it", async () => {
  const world = await makeWorld();
  const { message, epoch } = await world.claimed();
  await world.overtake();
  const held = await renewLeases(db, {
    nodeId: world.nodeId,
    messageIds: [message.message_id],
  });
  assert.deepEqual([...held], [[message.message_id, epoch + 1]]);
});

test("a node does not renew the lease of another", async () => {
  const world = await makeWorld();
  const { message } = await world.claimed();
  const dueAt = () =>
    db.query(sql`
      select due_at::text from send_queue where message_id = ${message.message_id}`);
  const before = await dueAt();

  const nodeId = newId(systemClock.now().getTime());
  const held = await renewLeases(db, { nodeId, messageIds: [message.message_id] });

  assert.equal(held.size, 0);
  assert.deepEqual(await dueAt(), before);
});

test("an answer of an overtaken holder changes nothing, even in one batch with one of the new holder", async () => {
  const world = await makeWorld();
  const { message, epoch } = await world.claimed();
  await world.overtake();
  const { carrierId } = world.carrier;
  const common = { message, carrierId, turn: 1, at: systemClock.now() };
  const stored = await Promise.all([
    world.record({ ...common, epoch, segment: 2, answer: accepted("2"), step: { next: "sent" } }),
    world.record({ ...common, epoch: epoch + 1, segment: 1, answer: accepted("1"), step: null }),
  ]);
  assert.deepEqual(stored, ["overtaken", "stored"]);
  assert.deepEqual(await world.queue(), [{ lease_epoch: 2, is_leased: true }]);
  assert.equal(await world.status(), "QUEUED");
});

for (const inDoubt of ["resend", "fail"] as const) {
  test(`a former holder's answer stored during the takeover prevents a doubt, if doubts mean ${inDoubt}`, async () => {
    const world = await makeWorld({ inDoubt });
    const { message, epoch } = await world.claimed();
    await world.overtake();
    // Claimed before the earlier holder's answer was stored, and handed over after it.
    const taken = await world.claimed({ epoch: epoch + 1, wasLeased: true });
    const { carrierId } = world.carrier;
    const common = { message, epoch, carrierId, turn: 1, at: systemClock.now() };
    await world.record({ ...common, segment: 1, answer: accepted("1"), step: null });

    const sent = await world.handOver(taken, async ({ segment }) => accepted(String(segment)));
    assert.deepEqual(sent, [2]);
    assert.equal(await world.status(), "SENT");
    assert.equal(await world.doubts(), 0);
  });
}

for (const { segment, what } of [
  { segment: 1, what: "the first segment" },
  { segment: 2, what: "the second segment" },
]) {
  test(`a refusal of ${what} by a former holder ends the message, which is not sent again`, async () => {
    const world = await makeWorld();
    const { message, epoch } = await world.claimed();
    const { carrierId } = world.carrier;
    const first = { message, epoch, carrierId, turn: 1, at: systemClock.now() };
    if (segment === 2)
      await world.record({ ...first, segment: 1, answer: accepted("1"), step: null });
    await world.overtake();
    const earlier = await world.read();
    const taken = await world.claimed({ epoch: epoch + 1, wasLeased: true, earlier });
    const answer = { kind: "refused", temporary: false, throttled: false } as const;
    const refusal = { ...answer, code: "BLOCKED", carrierCode: "0x45" } as const;
    const step = { next: "fail", code: "BLOCKED", carrierCode: "0x45" } as const;
    const told = await world.record({ ...first, segment, answer: refusal, step });
    assert.equal(told, "overtaken");

    assert.deepEqual(await world.handOver(taken, async () => accepted("1")), []);
    const { status, error_code, error_carrier_code } = await world.message();
    assert.deepEqual([status, error_code, error_carrier_code], ["FAILED", "BLOCKED", "0x45"]);
  });
}

test("a node lost between the last doubt and the end of its message leaves no further doubt", async () => {
  const world = await makeWorld({ inDoubt: "resend" });
  const { message } = await world.claimed();
  const { carrierId } = world.carrier;
  const common = { message, epoch: 1, carrierId, segment: 1, step: null, at: systemClock.now() };
  for (const turn of [1, 2]) {
    const answer = { kind: "process_lost", isLast: turn === 2 } as const;
    await world.record({ ...common, turn, answer });
  }
  const earlier = await world.read();

  const taken = await world.claimed({ wasLeased: true, earlier });
  assert.deepEqual(await world.handOver(taken, async () => accepted("1")), []);
  assert.equal(await world.doubts(), 2);
  assert.equal(await world.status(), "FAILED");
});

test("a holder lost without an answer leaves a doubt on record, and nothing is sent if doubts mean fail", async () => {
  const world = await makeWorld({ inDoubt: "fail" });
  const due = await world.claimed({ wasLeased: true });
  const sent = await world.handOver(due, async () => accepted("1"));
  assert.deepEqual(sent, []);
  assert.equal(await world.doubts(), 1);
  assert.equal(await world.status(), "FAILED");
});

test("a doubt that begins after the validity has ended is recorded as the end of its message, not as a resend", async () => {
  for (const wasLeased of [false, true]) {
    const world = await makeWorld({ inDoubt: "resend" });
    const { expires_at } = await world.message();
    let now = wasLeased ? expires_at : systemClock.now();
    const clock = { ...systemClock, now: () => now };

    const sent = await world.handOver(
      await world.claimed({ wasLeased }),
      async () => {
        now = expires_at;
        return { kind: "in_doubt", why: "timeout" };
      },
      { clock },
    );

    assert.deepEqual(sent, wasLeased ? [] : [1]);
    assert.deepEqual(await world.doubtActions(), ["fail"]);
    const { status, error_code } = await world.message();
    assert.deepEqual([status, error_code], ["FAILED", "EXPIRED"]);
  }
});

function accepted(id: string): SubmitOutcome {
  return { kind: "accepted", carrierMessageId: id, matchId: id };
}

function busy(carrierCode: string): SubmitOutcome {
  return { kind: "refused", temporary: true, throttled: false, code: "EXPIRED", carrierCode };
}

/** One message of two segments that this node holds, under epoch 1. */
async function makeWorld({ inDoubt = "resend" }: { inDoubt?: Carrier["inDoubt"] } = {}) {
  const nodeId = newId(systemClock.now().getTime());
  const held = await heldMessage(api, nodeId, { text: TWO_SEGMENTS });
  const { message_id: messageId, carrier_id } = held;
  const find = () => readMessage(api, messageId);
  const recording = recorderOf(db, nodeId);
  const answeredLate = new Set<string>();
  const carrierId = carrier_id ?? "";
  const carrier: Omit<Taker, "submit"> = {
    carrierId,
    name: "scripted",
    inDoubt,
    wholeMessages: false,
  };

  return {
    nodeId,
    carrier,
    record: (submission: Submission) => recording.submission(submission),
    async claimed(given: Partial<DueSend> = {}): Promise<DueSend> {
      const leasedAtMs = systemClock.leaseMs();
      const fresh = { epoch: 1, attempt: 1, wasLeased: false, leasedAtMs };
      return { message: await find(), earlier: new Map(), ...fresh, ...given };
    },
    /** The lease runs out, and this node claims it again. */
    overtake: () =>
      db.query(sql`
        update send_queue set lease_epoch = lease_epoch + 1 where message_id = ${messageId}`),
    /** It is given back, and this node claims it again. */
    leaseAgain: () =>
      db.query(sql`
        update send_queue
           set leased_by = ${nodeId}, lease_epoch = lease_epoch + 1, attempt = attempt + 1
         where message_id = ${messageId}`),
    /** Returns which segments were submitted. */
    async handOver(
      due: DueSend,
      submit: (segment: OutgoingSegment, mayLeave: () => boolean) => Promise<SubmitOutcome>,
      {
        wholeMessages = false,
        ...given
      }: Partial<HandOverDeps> & Partial<Pick<Carrier, "wholeMessages">> = {},
    ): Promise<number[]> {
      const sent: number[] = [];
      const deps = {
        carrier: {
          ...carrier,
          wholeMessages,
          submit(segment: OutgoingSegment, _signal: AbortSignal, mayLeave: () => boolean) {
            sent.push(segment.segment);
            return submit(segment, mayLeave);
          },
        },
        recorder: recording,
        routing: () => loadRouting(db),
        clock: systemClock,
        log: silentLog,
        isPaused: () => false,
        isLeaseFresh: () => true,
        answeredLate,
        readSegments: (id: string) =>
          readSegments(db, { clock: systemClock }, { messageId: id, carrierId }),
        ...given,
      };
      await handOver(deps, due, new AbortController().signal);
      return sent;
    },
    queue: () =>
      db.query(sql`
        select lease_epoch, leased_by is not null as is_leased
          from send_queue
         where message_id = ${messageId}`),
    carrierInQueue: () =>
      db.query(sql`select carrier_id from send_queue where message_id = ${messageId}`),
    message: find,
    status: async () => (await find()).status,
    /** Reads what is recorded of its segments. */
    read: () => readSegments(db, { clock: systemClock }, { messageId, carrierId }),
    /** By segment and turn. */
    async outcomes() {
      const rows = await db.query<{ outcome: string | null }>(sql`
        select outcome from submissions where message_id = ${messageId} order by segment, turn`);
      return rows.map(({ outcome }) => outcome);
    },
    async doubts() {
      const [row] = await db.query<{ doubts: number }>(sql`
        select count(in_doubt_at) as doubts from submissions where message_id = ${messageId}`);
      return row?.doubts;
    },
    async doubtActions() {
      const rows = await db.query<{ doubt_action: string }>(sql`
        select doubt_action from submissions where message_id = ${messageId} and in_doubt_at is not null`);
      return rows.map(({ doubt_action }) => doubt_action);
    },
  };
}
