import assert from "node:assert/strict";
import { test } from "node:test";

import { receiptForms, startSmsc } from "#carriers";
import { manualClock } from "../../test/support/manual-clock.ts";
import { ask, type NpmPdu, npmSmpp } from "../../test/support/npm-smpp.ts";
import { boundWorld } from "../../test/support/smpp.ts";
import { quiet, until } from "../../test/support/until.ts";
import { command } from "./smpp/codec/header.ts";

const CREDENTIALS = { system_id: "user", password: "secret" };
const HELLO = {
  source_addr: "shop",
  destination_addr: "4915112345678",
  registered_delivery: 1,
  short_message: "Hello",
};
const TEXT =
  "id:0x1 sub:001 dlvrd:000 submit date:2611150930 done date:2611150930 stat:UNDELIV err:012 text:Gr??e, 20 of these a";

// The tests of the client use, and so test, the script's single behaviours.

test("the SMSC answers by the recipient's last four digits, as the built-in simulator does", async () => {
  await using world = await boundWorld({ settings: { status_classes: { "0x58": "temporary" } } });
  const { submit, receipts } = world;

  const outcomes = [
    await submit("4915112345678"),
    await submit("4915112340001"),
    await submit("4915112340002"),
    await submit("4915112340003"),
    await submit("4915112340003"),
    await submit("4915112340003"),
    await submit("4915112340003"),
    await submit("4915112340004"),
    await submit("4915112340006"),
    await submit("4915112340007"),
  ];
  await world.receiptArrived(5);

  assert.deepEqual(
    outcomes.map((outcome) => (outcome.kind === "refused" ? outcome.carrierCode : outcome.kind)),
    [
      "accepted",
      "accepted",
      "0x45",
      "0x58",
      "0x58",
      "accepted",
      "0x58",
      "accepted",
      "accepted",
      "accepted",
    ],
  );
  assert.deepEqual(
    receipts.map(({ recipient, effect }) => [recipient?.slice(-4), effect]),
    [
      ["5678", "delivered"],
      ["0001", "undelivered"],
      ["0003", "delivered"],
      ["0006", "delivered"],
      ["0007", "rejected"],
    ],
  );
});

test("…0005 gets its receipt after ten seconds", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ smsc: { clock } });

  await world.submit("4915112340005");
  clock.advance(9999);
  await quiet();
  assert.equal(world.receipts.length, 0);
  clock.advance(1);

  assert.equal((await world.receiptArrived()).effect, "delivered");
});

test("…0008 loses its connection after two seconds, and is accepted when it is sent again", async () => {
  const clock = manualClock();
  await using world = await boundWorld({ smsc: { clock }, settings: { reconnect: "10ms-20ms" } });

  const submitted = world.submit("4915112340008");
  await world.smsc.submitArrived();
  clock.advance(2000);
  assert.deepEqual(await submitted, { kind: "in_doubt", why: "link_lost" });
  await world.ready();

  assert.equal((await world.submit("4915112340008")).kind, "accepted");
});

test("an unanswered receipt is sent again on the next bind", async () => {
  const stored = Promise.withResolvers<void>();
  await using world = await boundWorld({
    settings: { reconnect: "10ms-20ms" },
    store: () => stored.promise,
  });
  await world.submit();
  await until("the receipt is in hand", () => world.carrier.state().counts.receipts === 1);

  world.smsc.dropConnections();
  await until("it came again", () => world.carrier.state().counts.receipts === 2);
  stored.resolve();
  await world.smsc.pduArrived(command.deliverSmResp);

  assert.equal(
    world.receipts[0]?.carrierMessageIds[0],
    world.receipts.at(-1)?.carrierMessageIds[0],
  );
});

test("an SMSC takes submits only from whoever is bound to submit", async () => {
  await using smsc = await startSmsc({ answer: "accept" });
  const statuses: number[] = [];
  for (const bind of [null, "bind_receiver", "bind_transmitter", "bind_transceiver"] as const) {
    const session = npmSmpp.connect({ host: "127.0.0.1", port: smsc.port });
    if (bind !== null) await ask((run) => session[bind](CREDENTIALS, run));
    const answer = await ask((run) => session.submit_sm(HELLO, run));
    statuses.push(answer.command_status);
    session.destroy();
  }

  assert.deepEqual(statuses, [0x04, 0x04, 0, 0]);
  assert.equal(smsc.submitCount(), 2);
});

test("an SMSC lets only its own user bind, and ends the connection of any other", async () => {
  await using smsc = await startSmsc({ credentials: { systemId: "user", password: "secret" } });
  const statuses: number[] = [];
  for (const changed of [{}, { system_id: "other" }, { password: "wrong" }, { password: "" }]) {
    const session = npmSmpp.connect({ host: "127.0.0.1", port: smsc.port });
    const closed = new Promise<void>((resolve) => session.on("close", () => resolve()));
    const fields = { ...CREDENTIALS, ...changed };
    const answer = await ask((run) => session.bind_transceiver(fields, run));
    statuses.push(answer.command_status);
    if (answer.command_status !== 0) await closed;
    session.destroy();
  }

  assert.deepEqual(statuses, [0, 0x0f, 0x0e, 0x0e]);
});

test("a receipt comes only where one was asked for, and never to a transmitter", async () => {
  await using smsc = await startSmsc({ answer: "accept" });
  const came: string[] = [];
  const answered: string[] = [];
  for (const [bind, registered_delivery] of [
    ["bind_transmitter", 1],
    ["bind_transceiver", 0],
    ["bind_transceiver", 16],
    ["bind_transceiver", 17],
  ] as const) {
    const session = npmSmpp.connect({ host: "127.0.0.1", port: smsc.port });
    session.on("deliver_sm", (pdu) => {
      came.push(/^id:(\d+) /.exec(pdu.short_message.message)?.[1] ?? "");
      session.send(pdu.response());
    });
    await ask((run) => session[bind](CREDENTIALS, run));
    const answer = await ask((run) => session.submit_sm({ ...HELLO, registered_delivery }, run));
    answered.push(answer.message_id);
    // What the SMSC sent before this answer has come.
    await ask((run) => session.enquire_link(run));
    session.destroy();
  }

  const [toTransmitter, , , asked] = answered;
  assert.deepEqual(came, [toTransmitter, asked], "the first is owed until someone can receive it");
});

const NOWHERE = { text: undefined, payload: undefined, id: undefined, state: undefined };
const IN_TLVS = { id: "0x1", state: 5 };
/** Where a receipt of each form has its content, as npm `smpp` reads it. */
const contents: Record<(typeof receiptForms)[number], object> = {
  text: { ...NOWHERE, text: TEXT },
  tlvs: { ...NOWHERE, ...IN_TLVS, text: "" },
  text_and_tlvs: { ...NOWHERE, ...IN_TLVS, text: TEXT },
  payload: { ...NOWHERE, text: "", payload: TEXT },
  data_sm: { ...NOWHERE, ...IN_TLVS },
};

for (const form of receiptForms) {
  test(`a receipt in the form ${form} names the message, its state and both ends`, async () => {
    const clock = manualClock();
    await using smsc = await startSmsc({
      clock,
      newId: String,
      receipts: { form, states: ["UNDELIV"], err: "012", spellId: (id) => `0x${id}` },
    });
    const session = npmSmpp.connect({ host: "127.0.0.1", port: smsc.port });
    const came = Promise.withResolvers<NpmPdu>();
    for (const command of ["deliver_sm", "data_sm"]) session.on(command, came.resolve);
    await ask((run) => session.bind_transceiver(CREDENTIALS, run));
    const text = "Grüße, 20 of these are quoted";
    await ask((run) => session.submit_sm({ ...HELLO, short_message: text }, run));

    const { short_message, message_payload, ...receipt } = await came.promise;
    session.destroy();

    assert.deepEqual(
      {
        text: short_message?.message,
        payload: message_payload?.message,
        id: receipt["receipted_message_id"],
        state: receipt["message_state"],
      },
      contents[form],
    );
    assert.partialDeepStrictEqual(receipt, {
      command: form === "data_sm" ? "data_sm" : "deliver_sm",
      source_addr: "4915112345678",
      destination_addr: "shop",
      esm_class: 4,
    });
  });
}

test("an SMSC that is told to remember nothing only counts", async () => {
  await using world = await boundWorld({ smsc: { remember: 0 } });

  await Promise.all(Array.from({ length: 50 }, () => world.submit()));
  await world.receiptArrived(50);

  assert.equal(world.smsc.submitCount(), 50);
  assert.deepEqual(world.smsc.received(), []);
});
