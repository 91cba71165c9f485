import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { promisify } from "node:util";
import { openDatabase, silentLog, sql, systemClock } from "#platform";
import { command } from "../../server/carriers/smpp/codec/header.ts";
import { change, heardAt, nodeSees } from "../support/change-carrier.ts";
import { eventually } from "../support/eventually.ts";
import { held } from "../support/locks.ts";
import { type SendingWorld, startSending } from "../support/sending.ts";

const TO = { recipient: "4915112345678", text: "Hello" };

test("a long Unicode message arrives whole, in order, with one reference, and a receipt for every segment", async () => {
  await using world = await startSending({ smscs: [{}] });
  const text = "Grüße aus München 😀 ".repeat(12).trim();

  const { messageId } = await world.send({ ...TO, text });
  await world.reached(messageId, "DELIVERED");

  const submits = world.smscs[0]?.received() ?? [];
  assert.equal(submits.map((submit) => submit.text).join(""), text);
  assert.deepEqual(
    submits.map(({ concatenation }) => concatenation?.number),
    submits.map((_, n) => n + 1),
  );
  assert.equal(new Set(submits.map(({ concatenation }) => concatenation?.reference)).size, 1);
  assert.ok(submits.every(({ registeredDelivery }) => registeredDelivery === 1));
});

test("a receipt that overtakes the carrier's answer is parked and applied after SENT", async () => {
  await using world = await startSending({
    smscs: [{ receipts: { when: "before", delayMs: 50 } }],
  });

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");

  const statuses = (await world.history(messageId)).filter(({ type }) => type === "status");
  assert.deepEqual(
    statuses.map((entry) => entry.type === "status" && entry.status),
    ["QUEUED", "SENT", "DELIVERED"],
  );
  assert.deepEqual(await world.api.db.query(sql`select parked_id from parked_receipts`), []);
});

test("an answer without an id is shown in the history with id null, and the message is SENT", async () => {
  const smsc = { newId: () => "", receipts: { when: "never" } } as const;
  await using world = await startSending({ smscs: [smsc] });

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "SENT");

  const submissions = (await world.history(messageId)).filter(({ type }) => type === "submission");
  assert.partialDeepStrictEqual(submissions, [{ outcome: "accepted", carrierMessageId: null }]);
});

test("repeated and contradicting receipts are kept in the history and change nothing", async () => {
  await using world = await startSending({
    smscs: [{ receipts: { states: ["ENROUTE", "DELIVRD", "DELIVRD", "UNDELIV"] } }],
  });

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");
  await allReceipts(world, messageId, 4);

  const receipts = (await world.history(messageId)).filter((entry) => entry.type === "receipt");
  assert.deepEqual(
    receipts.map(({ state, applied }) => [state, applied]),
    [
      ["ENROUTE", false],
      ["DELIVRD", true],
      ["DELIVRD", false],
      ["UNDELIV", false],
    ],
  );
  assert.equal((await world.read(messageId)).status, "DELIVERED");
});

test("hex ids in answers match padded decimal ids in receipts, by the carrier's rule", async () => {
  const spellId = (id: string) => Number.parseInt(id, 16).toString().padStart(12, "0");
  await using world = await startSending({
    smscs: [{ newId: (n) => (n + 0xabc0).toString(16), receipts: { spellId } }],
    settings: [{ receipt_id: "hex_to_decimal+strip_zeros" }],
  });

  const { messageId } = await world.send(TO);

  assert.equal((await world.reached(messageId, "DELIVERED", "FAILED")).status, "DELIVERED");
});

test("two carriers that assign the same id never get each other's receipts", async () => {
  await using world = await startSending({
    smscs: [
      { newId: () => "same", receipts: { states: ["DELIVRD"], delayMs: 100 } },
      { newId: () => "same", receipts: { states: ["UNDELIV"], delayMs: 100 } },
    ],
  });
  const [, second] = await world.api.db.query<{ carrier_id: string }>(
    sql`select carrier_id from carriers where kind = 'smpp' order by name`,
  );
  await world.api.db.query(
    sql`insert into routes (prefix, carrier_ids) values ('33', array[${second?.carrier_id}]::uuid[])`,
  );

  const first = await world.send(TO);
  const other = await world.send({ ...TO, recipient: "33612345678" });

  assert.equal(
    (await world.reached(first.messageId, "DELIVERED", "UNDELIVERED")).status,
    "DELIVERED",
  );
  assert.equal(
    (await world.reached(other.messageId, "DELIVERED", "UNDELIVERED")).status,
    "UNDELIVERED",
  );
});

test("while answers cannot be stored, submitting stops within moments", async () => {
  await using world = await startSending({ smscs: [{}], settings: [{ rate: 20 }] });
  const smsc = world.smscs[0] ?? assert.fail("there is no SMSC");
  await using opened = new AsyncDisposableStack();
  const other = openDatabase({ url: world.api.db.url, log: silentLog, maxConnections: 1 });
  opened.defer(() => other.close());

  const left = await held(other, async (tx) => {
    await tx.query(sql`lock table submissions in exclusive mode`);
    await world.api.post("/v1/messages/batch", { messages: Array.from({ length: 300 }, () => TO) });
    return untilStill(() => smsc.submitCount());
  });

  assert.ok(left > 0 && left < 200, `${left} left`);
});

/** The count, once it has not grown for as long as thirty submits would take. */
async function untilStill(count: () => number): Promise<number> {
  return eventually("no more leave", async () => {
    const before = count();
    await systemClock.sleep(1_500);
    return before > 0 && count() === before && before;
  });
}

test("a temporarily refused message goes to the next carrier of the route", async () => {
  await using world = await startSending({ smscs: [{ answer: "queue_full" }, {}] });

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");

  const carriers = (await world.history(messageId))
    .filter((entry) => entry.type === "submission")
    .map(({ carrier, outcome }) => [carrier, outcome]);
  assert.deepEqual(carriers, [
    ["c1", "refused_temporarily"],
    ["c2", "accepted"],
  ]);
});

test("a permanent refusal fails the message with the carrier's own code, and refunds it once", async () => {
  await using world = await startSending({ smscs: [{ answer: { status: 0x0b } }, {}] });

  const { messageId } = await world.send(TO);
  const message = await world.reached(messageId, "FAILED");

  assert.deepEqual(message.error, {
    code: "RECIPIENT_UNKNOWN",
    message: "The carrier does not know the recipient's number.",
    carrierCode: "0x0B",
  });
  const ledger = await world.api.db.query(
    sql`select kind, amount from ledger where message_id = ${messageId} order by seq`,
  );
  assert.deepEqual(ledger, [
    { kind: "charge", amount: -1 },
    { kind: "refund", amount: 1 },
  ]);
});

test("a link lost before the answer leaves one recorded doubt and one resend", async () => {
  await using world = await startSending({ smscs: [{ answer: "drop" }] });
  const [smsc] = world.smscs;

  const { messageId } = await world.send(TO);
  await smsc?.submitArrived();
  smsc?.answer("accept");
  await world.reached(messageId, "DELIVERED");

  const doubts = (await world.history(messageId)).filter(({ type }) => type === "doubt");
  assert.deepEqual(
    doubts.map((entry) => entry.type === "doubt" && entry.action),
    ["resend"],
  );
  assert.equal(smsc?.submitCount(), 2);
});

test("a message in doubt a second time fails as UNKNOWN and is not sent a third time", async () => {
  await using world = await startSending({ smscs: [{ answer: "drop" }] });

  const { messageId } = await world.send(TO);
  const message = await world.reached(messageId, "FAILED");

  assert.equal(message.error?.code, "UNKNOWN");
  assert.equal(message.creditsRefunded, 1);
  assert.equal(world.smscs[0]?.submitCount(), 2);
});

test("with in_doubt = fail nothing is ever sent twice", async () => {
  await using world = await startSending({
    smscs: [{ answer: "drop" }],
    settings: [{ in_doubt: "fail" }],
  });

  const { messageId } = await world.send(TO);
  const message = await world.reached(messageId, "FAILED");

  assert.equal(message.error?.code, "UNKNOWN");
  assert.equal(world.smscs[0]?.submitCount(), 1);
});

test("an answer that comes after the message has failed is in the history after the failure", async () => {
  await using world = await startSending({
    smscs: [{ answer: { afterMs: 2_500, reply: "accept" }, receipts: { when: "never" } }],
    settings: [{ in_doubt: "fail", response_timeout: "1s" }],
  });

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "FAILED");
  const history = await historyOf(world, messageId, 4);

  assert.deepEqual(
    history.map((entry) => (entry.type === "status" ? entry.status : entry.type)),
    ["QUEUED", "doubt", "FAILED", "submission"],
  );
});

test("a throttled message does not move to a paused carrier", async () => {
  let submits = 0;
  const answer = () => (submits++ === 0 ? "throttle" : "accept");
  await using world = await startSending({
    smscs: [{ answer }, {}],
  });
  await change(world, "c2", { paused: true });
  await nodeSees(world);

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");

  assert.deepEqual(
    world.smscs.map((smsc) => smsc.submitCount()),
    [2, 0],
  );
});

test("a text that only the second carrier can encode waits for that one if it throttles", async () => {
  let submits = 0;
  const answer = () => (submits++ === 0 ? "throttle" : "accept");
  await using world = await startSending({
    smscs: [{}, { answer }],
    settings: [{ alphabet: "latin1" }, {}],
  });

  const { messageId } = await world.send({ ...TO, text: "5 €", encoding: "gsm7" });
  await world.reached(messageId, "DELIVERED");

  assert.deepEqual(
    world.smscs.map((smsc) => smsc.submitCount()),
    [0, 2],
  );
});

test("a long text that only the second carrier can encode in full is sent by that one alone", async () => {
  await using world = await startSending({
    smscs: [{}, {}],
    settings: [{ alphabet: "ascii" }, {}],
  });

  const { messageId } = await world.send({ ...TO, text: `${"a".repeat(160)}é` });
  await world.reached(messageId, "DELIVERED", "FAILED");

  assert.deepEqual(
    world.smscs.map((smsc) => smsc.submitCount()),
    [0, 2],
  );
});

test("a text that no carrier of the route can encode fails once each has been tried", async () => {
  const alphabet = "latin1";
  await using world = await startSending({
    smscs: [{}, {}],
    settings: [{ alphabet }, { alphabet }],
  });

  const { messageId } = await world.send({ ...TO, text: "5 €", encoding: "gsm7" });
  const message = await world.reached(messageId, "FAILED");

  assert.equal(message.error?.code, "CONTENT_REJECTED");
  const asked = (await world.history(messageId)).flatMap((entry) =>
    entry.type === "submission" ? entry.carrier : [],
  );
  assert.deepEqual(asked, ["c1", "c2"]);
});

test("messages for a carrier that is away or only receives go to the next one of the route", async () => {
  await using world = await startSending({
    smscs: [{}, {}, {}],
    settings: [{}, { bind: "receiver" }, {}],
  });
  await world.smscs[0]?.stop();

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");

  assert.equal(world.smscs[2]?.submitCount(), 1);
});

test("a carrier whose settings change continues with the new ones", async () => {
  await using world = await startSending({ smscs: [{}, {}] });
  await change(world, "c1", { settings: { port: world.smscs[1]?.port } });
  await world.smscs[1]?.bound(2);

  const { messageId } = await world.send(TO);
  await world.reached(messageId, "DELIVERED");
  assert.deepEqual(
    world.smscs.map((smsc) => smsc.submitCount()),
    [0, 1],
  );
});

test("a carrier binds anew if only its password changes", async () => {
  const passwords: string[] = [];
  const bind = ({ password }: { password: string }) => {
    passwords.push(password);
    return 0;
  };
  await using world = await startSending({ smscs: [{ bind }] });

  await change(world, "c1", { password: "another" });
  await world.smscs[0]?.pduArrived(command.unbind);
  await world.smscs[0]?.pduArrived(command.bindTransceiver, 2);

  assert.deepEqual(passwords, ["secret", "another"]);
});

test("a stop unbinds carriers even if a client has not yet read its answer", async () => {
  const world = await startSending({ smscs: [{}] });
  const { app } = world.api.service;
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as { port: number };
  const socket = connect(port, "127.0.0.1").pause();
  const answering = once(app.server, "request");
  socket.write("GET /docs/scalar.js HTTP/1.1\r\nHost: posthorn.test\r\n\r\n");
  await answering;

  const stopped = world[Symbol.asyncDispose]();
  try {
    await world.smscs[0]?.pduArrived(command.unbind);
    const connections = promisify(app.server.getConnections.bind(app.server));
    assert.equal(await connections(), 1);
  } finally {
    socket.destroy();
    await stopped;
  }
});

test("a node keeps its heartbeat while a replaced carrier still waits for an answer", async () => {
  // By this clock, it waits forever.
  const clock = { ...systemClock, monotonicMs: () => 0 };
  await using world = await startSending({
    smscs: [{ answer: "never" }],
    settings: [{ response_timeout: "600s" }],
    api: { clock },
  });
  const { messageId } = await world.send(TO);
  await world.smscs[0]?.submitArrived();
  const before = await heardAt(world);

  await change(world, "c1", { settings: { window: 2 } });
  await eventually("the node is heard", async () => (await heardAt(world)) > before);

  const told = (await world.history(messageId)).map(({ type }) => type);
  await world.smscs[0]?.stop();
  assert.deepEqual(told, ["status"], "the carrier has not left yet: that would leave a doubt");
});

test("ten messages in flight at once each get their own receipt", async () => {
  await using world = await startSending({ smscs: [{}] });

  const sent = await Promise.all(Array.from({ length: 10 }, () => world.send(TO)));

  for (const { messageId } of sent) await world.reached(messageId, "DELIVERED");
  assert.equal(world.smscs[0]?.submitCount(), 10);
});

/** The history, once it has this many entries. */
function historyOf(world: SendingWorld, messageId: string, count: number) {
  return eventually(`the history has ${count} entries`, async () => {
    const history = await world.history(messageId);
    return history.length >= count && history;
  });
}

async function allReceipts(world: SendingWorld, messageId: string, count: number): Promise<void> {
  await eventually(`${count} receipts are stored`, async () => {
    const receipts = (await world.history(messageId)).filter(({ type }) => type === "receipt");
    return receipts.length === count;
  });
}
