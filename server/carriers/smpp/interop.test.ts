import assert from "node:assert/strict";
import { test } from "node:test";

import { type Receipt, smppCarrier, startSmsc } from "#carriers";
import { splitText } from "#contract/segments";
import { Secret, silentLog, systemClock } from "#platform";

import {
  ask,
  type NpmPdu,
  npmServer,
  type NpmSession,
  npmSmpp,
} from "../../../test/support/npm-smpp.ts";
import { leaves, segmentTo, sinkOf, smppSettings } from "../../../test/support/smpp.ts";
import { until } from "../../../test/support/until.ts";

const { signal } = new AbortController();

/** An SMSC built on npm `smpp`, what it has read, and our carrier bound to it. */
async function boundToNpm(given: Record<string, unknown> = {}) {
  const submits: NpmPdu[] = [];
  const seen: string[] = [];
  const server = await npmServer((session) => {
    session.on("pdu", ({ command }) => seen.push(command));
    session.on("bind_transceiver", (pdu) => session.send(pdu.response({ system_id: "npm" })));
    session.on("enquire_link", (pdu) => session.send(pdu.response()));
    session.on("unbind", (pdu) => {
      session.send(pdu.response());
      session.close();
    });
    session.on("submit_sm", (pdu) => {
      submits.push(pdu);
      session.send(pdu.response({ message_id: `id-${submits.length}` }));
    });
  });
  const receipts: Receipt[] = [];
  const carrier = smppCarrier({
    carrierId: "carrier-1",
    name: "npm",
    settings: smppSettings({ port: server.port, reconnect: "10ms-20ms", ...given }),
    password: new Secret("secret"),
    clock: systemClock,
    log: silentLog,
    receipts: sinkOf(async (batch) => void receipts.push(...batch)),
    share: { binds: 1, rate: 0 },
  });
  carrier.start();
  await until("the carrier is bound", () => carrier.room() > 0);
  return {
    carrier,
    server,
    submits,
    receipts,
    seen,
    session: server.sessions[0] as NpmSession,
    async [Symbol.asyncDispose]() {
      await carrier.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("npm smpp reads our submission as we meant it, and we read its answer", async () => {
  await using world = await boundToNpm();
  const text = "Grüße @ 5 € {ok}";

  const outcome = await world.carrier.submit(segmentTo("4915112345678", { text }), signal, leaves);

  assert.deepEqual(outcome, { kind: "accepted", carrierMessageId: "id-1", matchId: "id-1" });
  assert.partialDeepStrictEqual(world.submits[0], {
    source_addr_ton: 5,
    source_addr_npi: 0,
    source_addr: "Posthorn",
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    destination_addr: "4915112345678",
    esm_class: 0,
    registered_delivery: 1,
    data_coding: 0,
    short_message: { message: text },
  });
});

test("npm smpp reads our UCS-2", async () => {
  await using world = await boundToNpm();
  const text = "漢字 😀";

  await world.carrier.submit(
    segmentTo("4915112345678", { text, encoding: "ucs2" }),
    signal,
    leaves,
  );

  assert.equal(world.submits[0]?.short_message.message, text);
  assert.equal(world.submits[0]?.["data_coding"], 8);
});

const long = "Posthorn [long] ".repeat(20);

for (const mode of ["udh", "sar", "payload"]) {
  test(`npm smpp joins our long message, sent as ${mode}`, async () => {
    await using world = await boundToNpm({ long_messages: mode });
    const parts = mode === "payload" ? [long] : splitText(long).parts;

    for (const [index, text] of parts.entries()) {
      const place = { segment: index + 1, segments: parts.length, concatReference: 99 };
      await world.carrier.submit(segmentTo("4915112345678", { text, ...place }), signal, leaves);
    }

    const texts = world.submits.map(({ short_message, message_payload }) =>
      mode === "payload" ? message_payload?.message : short_message.message,
    );
    assert.equal(texts.join(""), long);
    for (const [index, { short_message, ...pdu }] of world.submits.entries()) {
      const udh = Buffer.concat(short_message.udh ?? []).toString("hex");
      const sar = [pdu["sar_msg_ref_num"], pdu["sar_total_segments"], pdu["sar_segment_seqnum"]];
      const place = [99, parts.length, index + 1];
      assert.equal(udh, mode === "udh" ? `0003${Buffer.from(place).toString("hex")}` : "");
      assert.deepEqual(sar, mode === "sar" ? place : [undefined, undefined, undefined]);
    }
  });
}

test("receipts from npm smpp are stored and answered, in text and in TLVs", async () => {
  await using world = await boundToNpm();
  const text =
    "id:id-1 sub:001 dlvrd:001 submit date:2611150930 done date:2611150931 stat:DELIVRD err:000 text:x";
  const addresses = { source_addr: "4915112345678", destination_addr: "Posthorn", esm_class: 4 };

  const inText = await ask((run) =>
    world.session.deliver_sm({ ...addresses, short_message: text }, run),
  );
  const inTlvs = await ask((run) =>
    world.session.deliver_sm({ ...addresses, receipted_message_id: "id-2", message_state: 5 }, run),
  );

  assert.deepEqual([inText.command, inText.command_status], ["deliver_sm_resp", 0]);
  assert.deepEqual([inTlvs.command, inTlvs.command_status], ["deliver_sm_resp", 0]);
  assert.deepEqual(
    world.receipts.map(({ carrierMessageIds, effect }) => [...carrierMessageIds, effect]),
    [
      ["id-1", "delivered"],
      ["id-2", "undelivered"],
    ],
  );
});

test("npm smpp and we answer each other's enquire_link", async () => {
  await using world = await boundToNpm({ enquire_link: "100ms" });

  const answer = await ask((run) => world.session.enquire_link(run));
  await until("we asked too", () => world.seen.includes("enquire_link"));

  assert.equal(answer.command, "enquire_link_resp");
});

test("a connection that npm smpp drops is made again, and a stop unbinds", async () => {
  await using world = await boundToNpm();

  world.session.destroy();
  await until(
    "it is bound again",
    () => world.server.sessions.length === 2 && world.carrier.room() > 0,
  );
  const outcome = await world.carrier.submit(segmentTo("4915112345678"), signal, leaves);
  await world.carrier.stop();

  assert.equal(outcome.kind, "accepted");
  assert.equal(world.seen.at(-1), "unbind");
});

test("npm smpp as a client binds to our SMSC, submits, takes receipts and unbinds", async () => {
  await using smsc = await startSmsc({ credentials: { systemId: "user", password: "secret" } });
  const session = npmSmpp.connect({ host: "127.0.0.1", port: smsc.port });
  const receipts: NpmPdu[] = [];
  session.on("deliver_sm", (pdu) => {
    receipts.push(pdu);
    session.send(pdu.response());
  });

  const credentials = { system_id: "user", password: "secret" };
  const bound = await ask((run) => session.bind_transceiver(credentials, run));
  const fields = { source_addr: "shop", destination_addr: "4915112345678", registered_delivery: 1 };
  const answer = await ask((run) =>
    session.submit_sm({ ...fields, short_message: "Hello €" }, run),
  );
  await until("the receipt is answered", () => smsc.deliveryAnswers().length === 1);
  const alive = await ask((run) => session.enquire_link(run));
  const unbound = await ask((run) => session.unbind(run));

  assert.deepEqual([bound.command_status, answer.command_status], [0, 0]);
  assert.partialDeepStrictEqual(smsc.received()[0], {
    recipient: "4915112345678",
    text: "Hello €",
  });
  assert.equal(receipts[0]?.["receipted_message_id"], undefined);
  assert.ok(receipts[0]?.short_message.message.startsWith(`id:${answer.message_id} `));
  assert.deepEqual([alive.command, unbound.command], ["enquire_link_resp", "unbind_resp"]);
});

test("npm smpp with a wrong password is refused by our SMSC", async () => {
  await using smsc = await startSmsc({ credentials: { systemId: "user", password: "secret" } });
  const session = npmSmpp.connect({ host: "127.0.0.1", port: smsc.port });

  const answer = await ask((run) =>
    session.bind_transceiver({ system_id: "user", password: "x" }, run),
  );

  assert.equal(answer.command_status, 0x0e);
});
