import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../test/support/manual-clock.ts";
import { boundWorld } from "../../test/support/smpp.ts";
import { quiet, until } from "../../test/support/until.ts";
import { command } from "./smpp/codec/header.ts";

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

test("an SMSC that is told to remember nothing only counts", async () => {
  await using world = await boundWorld({ smsc: { remember: 0 } });

  await Promise.all(Array.from({ length: 50 }, () => world.submit()));
  await world.receiptArrived(50);

  assert.equal(world.smsc.submitCount(), 50);
  assert.deepEqual(world.smsc.received(), []);
});
