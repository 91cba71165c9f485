import assert from "node:assert/strict";
import { test } from "node:test";
import { sign } from "./check-webhooks.ts";
import { checkHistory } from "./checker.ts";
import { type Entry, openHistory, type Send } from "./history.ts";
import type { State } from "./state.ts";

const SECRET = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
const ACCOUNT = "account";

function send(n: number, given: Partial<Send> = {}): Send {
  return {
    kind: "send",
    node: 0,
    accountId: ACCOUNT,
    keyId: "key",
    idempotencyKey: null,
    wishes: [{ reference: `r${n}`, recipient: `49151${n}`, text: `Text ${n}` }],
    outcome: "ok",
    code: null,
    messageIds: [`m${n}`],
    required: null,
    available: null,
    t0: n * 10,
    t1: n * 10 + 5,
    ...given,
  };
}

function post(n: number, sequence: number, status: string, number = 0) {
  const bare = {
    eventId: `e${n}-${sequence}`,
    timestamp: "1760000000",
    body: JSON.stringify({ status }),
  };
  return { kind: "post" as const, number, t: 60, ...bare, signature: sign(bare, SECRET) };
}

type Read = Extract<Entry, { kind: "read" }>;

/** A read of message 1. */
function read(t0: number, given: Pick<Read, "status"> & Partial<Read>): Read {
  return { kind: "read", node: 1, messageId: "m1", code: null, t0, t1: t0 + 1, ...given };
}

/** Message 1 is DELIVERED, 2 FAILED after a doubt, 3 refused for lack of credits. */
function good(): { entries: Entry[]; state: State } {
  const submit = { kind: "submit" as const, segment: 1, isRefusedForNow: false };
  const entries: Entry[] = [
    { kind: "topup", accountId: ACCOUNT, amount: 2, note: "t1", outcome: "ok", t0: 0, t1: 1 },
    send(1, { idempotencyKey: "i1" }),
    send(2),
    send(3, {
      outcome: "refused",
      code: "CREDITS_INSUFFICIENT",
      messageIds: [],
      required: 1,
      available: 0,
    }),
    send(1, { idempotencyKey: "i1", t0: 35, t1: 36 }),
    { ...submit, t: 20, at: 1_020, recipient: "491511", text: "Text 1" },
    { ...submit, t: 30, at: 1_030, recipient: "491512", text: "Text 2" },
    { ...submit, t: 40, at: 1_040, recipient: "491512", text: "Text 2" },
    { kind: "receipt", carrierMessageId: "c1" },
    read(41, { status: "SENT" }),
    read(43, { status: "DELIVERED", node: 0 }),
    { kind: "walk", accountId: ACCOUNT, messageIds: ["m2", "m1"], t0: 45, t1: 46 },
    { kind: "revocation", keyId: "key", outcome: "ok", t0: 47, t1: 48 },
    send(5, { outcome: "refused", code: "API_KEY_REVOKED", messageIds: [] }),
    post(1, 2, "SENT"),
    post(1, 3, "DELIVERED"),
    post(1, 3, "DELIVERED"),
    post(2, 2, "FAILED"),
    { kind: "balance", node: 0, accountId: ACCOUNT, balance: 1, t0: 90, t1: 91 },
  ];
  const message = {
    accountId: ACCOUNT,
    credits: 1,
    errorCode: null,
    isScheduled: false,
    createdAt: 1_000,
    expiresAt: 61_000,
  };
  const event = (n: number, sequence: number, status: "SENT" | "DELIVERED" | "FAILED") => ({
    messageId: `m${n}`,
    sequence,
    status,
    eventId: `e${n}-${sequence}`,
    body: JSON.stringify({ status }),
  });
  const booked = (seq: number, kind: string, amount: number, balanceAfter: number, n?: number) => ({
    accountId: ACCOUNT,
    seq,
    kind,
    amount,
    balanceAfter,
    messageId: n === undefined ? null : `m${n}`,
    note: n === undefined ? "t1" : null,
  });
  const handed = { segment: 1, matchId: null, receipts: 0 };
  const state: State = {
    accounts: [{ accountId: ACCOUNT, balance: 1, secret: SECRET }],
    messages: [
      {
        ...message,
        messageId: "m1",
        reference: "r1",
        recipient: "491511",
        text: "Text 1",
        status: "DELIVERED",
      },
      {
        ...message,
        messageId: "m2",
        reference: "r2",
        recipient: "491512",
        text: "Text 2",
        status: "FAILED",
        errorCode: "UNKNOWN",
      },
    ],
    events: [event(1, 2, "SENT"), event(1, 3, "DELIVERED"), event(2, 2, "FAILED")],
    submissions: [
      {
        ...handed,
        messageId: "m1",
        outcome: "accepted",
        inDoubt: false,
        matchId: "c1",
        receipts: 1,
      },
      { ...handed, messageId: "m2", outcome: null, inDoubt: true },
      { ...handed, messageId: "m2", outcome: null, inDoubt: true },
    ],
    ledger: [
      booked(1, "topup", 2, 2),
      booked(2, "charge", -1, 1, 1),
      booked(3, "charge", -1, 0, 2),
      booked(4, "refund", 1, 1, 2),
    ],
    parked: [],
    attempts: [
      { messageId: "m1", sequence: 2, tries: 1, ended: "delivered" },
      { messageId: "m1", sequence: 3, tries: 1, ended: "delivered" },
      { messageId: "m2", sequence: 2, tries: 1, ended: "delivered" },
    ],
    waiting: [],
  };
  return { entries, state };
}

type World = ReturnType<typeof good>;

function check({ entries, state }: World): string[] {
  const history = openHistory();
  for (const entry of entries) history.log(entry);
  return checkHistory(history, state).map(({ check: name, what }) => `${name} ${what}`);
}

test("a sound history has no violations", () => {
  assert.deepEqual(check(good()), []);
});

const messageOf = ({ state }: World, n: number) => state.messages[n - 1] ?? assert.fail();
const posts = ({ entries }: World) => entries.filter((entry) => entry.kind === "post");
const without = <Item>(items: Item[], isGone: (item: Item) => boolean) =>
  void items.splice(0, items.length, ...items.filter((item) => !isGone(item)));

/** Each is what a bug in the product would leave behind, and the finding that it must cause. */
const planted: Record<string, { break: (world: World) => void; found: string }> = {
  "a lost acceptance": {
    break: ({ state }) => {
      without(state.messages, ({ messageId }) => messageId === "m1");
      without(state.events, ({ messageId }) => messageId === "m1");
    },
    found: "H1 an accepted message is lost",
  },
  "a retry that created a second message": {
    break: (world) => world.state.messages.push({ ...messageOf(world, 1), messageId: "m1b" }),
    found: "H1 a message exists more than once",
  },
  "a message left in the queue": {
    break: (world) => {
      messageOf(world, 1).status = "QUEUED";
      without(world.state.events, ({ messageId }) => messageId === "m1");
    },
    found: "H1 a message never left the queue",
  },
  "a recipient mixed up with a neighbour's": {
    break: (world) => (messageOf(world, 1).recipient = "491599"),
    found: "H1 a message is not as accepted",
  },
  "an acceptance that another node does not see": {
    break: ({ entries }) => entries.push(read(16, { status: null, code: "MESSAGE_NOT_FOUND" })),
    found: "H1 a node does not know of an accepted message",
  },
  "a refused message stored": {
    break: (world) =>
      world.state.messages.push({ ...messageOf(world, 1), messageId: "m3", reference: "r3" }),
    found: "H2 a refused message exists",
  },
  "an idempotency key cached on one node only": {
    break: ({ entries }) =>
      entries.push(send(1, { idempotencyKey: "i1", messageIds: ["m1b"], t0: 37, t1: 38 })),
    found: "H3 one idempotency key, two answers",
  },
  "a missing refund": {
    break: ({ state }) => without(state.ledger, ({ kind }) => kind === "refund"),
    found: "H4 a refund is wrong",
  },
  "a duplicate refund": {
    break: ({ state }) => {
      state.ledger.push(...state.ledger.filter(({ kind }) => kind === "refund"));
    },
    found: "H4 a refund is wrong",
  },
  "a message charged twice": {
    break: ({ state }) => {
      state.ledger.push(...state.ledger.filter(({ seq }) => seq === 2));
    },
    found: "H4 a message is not charged once",
  },
  "a balance without a refund": {
    break: ({ state }) => state.accounts.forEach((account) => (account.balance = 0)),
    found: "H4 a balance is wrong",
  },
  "a balance read from a cache": {
    break: ({ entries }) =>
      entries.push({ kind: "balance", node: 1, accountId: ACCOUNT, balance: 0, t0: 92, t1: 93 }),
    found: "H4 a node tells another balance",
  },
  "a top-up booked again after its answer was lost": {
    break: ({ state }) => {
      state.ledger.push(...state.ledger.filter(({ kind }) => kind === "topup"));
    },
    found: "H4 a top-up is not booked as answered",
  },
  "a refusal based on a running sum": {
    break: ({ entries }) =>
      entries.push(
        send(4, {
          outcome: "refused",
          code: "CREDITS_INSUFFICIENT",
          messageIds: [],
          required: 5,
          available: -3,
        }),
      ),
    found: "H5 a refusal for want of credits is not explained",
  },
  "a key cached for a second after it was revoked": {
    break: (world) => {
      world.entries.push(send(6, { wishes: [], messageIds: [], t0: 50, t1: 55 }));
    },
    found: "H6 a revoked key was served",
  },
  "a status that goes backwards": {
    break: ({ entries }) => entries.push(read(50, { status: "SENT" })),
    found: "H7 a status went backwards",
  },
  "an answer before its commit": {
    break: ({ entries }) => entries.push(read(30, { status: "FAILED", t1: 39 })),
    found: "H7 a read saw what never was",
  },
  "a status change without its event": {
    break: ({ state }) => without(state.events, ({ eventId }) => eventId === "e1-2"),
    found: "H7 a history is no path",
  },
  "a submission after fencing, without a recorded doubt": {
    break: ({ state }) => state.submissions.forEach((row) => (row.inDoubt = false)),
    found: "H8 a segment was sent again without a recorded doubt",
  },
  "an unrecorded submission": {
    break: ({ state }) => without(state.submissions, ({ messageId }) => messageId === "m1"),
    found: "H8 a submission is not on record",
  },
  "a text cut short": {
    break: ({ entries }) =>
      entries.forEach((entry) => entry.kind === "submit" && (entry.text = "Text")),
    found: "H8 a text was altered",
  },
  "a canceled message that was sent": {
    break: ({ entries }) =>
      entries.push({ kind: "cancel", messageId: "m2", outcome: "ok", code: null, t0: 21, t1: 22 }),
    found: "H8 a canceled message was sent",
  },
  "a message sent after its expiry": {
    break: ({ entries }) =>
      entries.forEach((entry) => entry.kind === "submit" && (entry.at += 100_000)),
    found: "H8 an expired message was sent",
  },
  "a message accepted with a clock set ahead": {
    break: ({ state }) => state.messages.forEach((message) => (message.createdAt += 40_000)),
    found: "H8 a message is dated after it was sent",
  },
  "a receipt answered before it was stored": {
    break: ({ state }) => state.submissions.forEach((row) => (row.receipts = 0)),
    found: "H9 a receipt is lost",
  },
  "an event outside its transaction": {
    break: ({ state }) => without(state.attempts, ({ sequence }) => sequence === 3),
    found: "H10 an event is neither waiting nor ended",
  },
  "a delivery recorded before its answer": {
    break: (world) => without(world.entries, (entry) => entry.kind === "post"),
    found: "H10 an event is said to be delivered that never arrived",
  },
  "a body serialised again": {
    break: (world) => posts(world).forEach((entry) => (entry.body = ` ${entry.body}`)),
    found: "H10 a body was changed",
  },
  "a signature with another secret": {
    break: (world) =>
      world.state.accounts.forEach(
        (account) => (account.secret = `whsec_${Buffer.alloc(32, 6).toString("base64")}`),
      ),
    found: "H10 a signature is wrong",
  },
  "events sent out of order": {
    break: (world) => world.entries.unshift(post(1, 3, "DELIVERED")),
    found: "H10 first attempts came out of order",
  },
  "an event sent before the previous one was answered": {
    break: ({ entries }) =>
      entries.push(
        post(2, 2, "FAILED", 1),
        { kind: "answered", number: 1, t: 70 },
        post(2, 2, "FAILED", 2),
      ),
    found: "H10 two of a message arrived at once",
  },
  "a page that skips a message": {
    break: ({ entries }) =>
      entries.forEach((entry) => entry.kind === "walk" && entry.messageIds.pop()),
    found: "H11 a walk misses a message",
  },
};

for (const [name, { break: plant, found }] of Object.entries(planted)) {
  test(`the checker catches ${name}`, () => {
    const world = good();
    plant(world);
    const violations = check(world);
    assert.ok(violations.includes(found), `found only ${JSON.stringify(violations)}`);
  });
}
