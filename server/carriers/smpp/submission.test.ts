import assert from "node:assert/strict";
import { test } from "node:test";

import { splitText } from "#contract/segments";

import { segmentTo, smppSettings } from "../../../test/support/smpp.ts";
import { findTlv, findTlvInteger, tag } from "./codec/tlv.ts";
import { submission } from "./submission.ts";

const now = () => new Date("2026-11-15T09:30:00.000Z");

function submitted(settings: Record<string, unknown>, given: Parameters<typeof segmentTo>[1] = {}) {
  const message = submission(segmentTo("4915112345678", given), smppSettings(settings), now);
  assert.ok(message !== undefined, "the carrier can hold the text");
  return { ...message, tlvs: Buffer.from(message.tlvs) };
}

test("a short text leaves with the protocol's plainest fields and asks for a receipt", () => {
  const message = submitted({});

  assert.deepEqual(message, {
    serviceType: "",
    source: { ton: 5, npi: 0, address: "Posthorn" },
    destination: { ton: 1, npi: 1, address: "4915112345678" },
    esmClass: 0,
    protocolId: 0,
    priority: 0,
    scheduleDeliveryTime: "",
    validityPeriod: "000000010000000R",
    registeredDelivery: 1,
    replaceIfPresent: 0,
    dataCoding: 0,
    defaultMessageId: 0,
    shortMessage: new Uint8Array(Buffer.from("Hello")),
    tlvs: Buffer.alloc(0),
  });
});

test("the carrier's settings fill the fields of every submission", () => {
  const message = submitted({
    service_type: "CMT",
    protocol_id: 1,
    priority: 2,
    esm_mode: 3,
    registered_delivery: 17,
    gsm_data_coding: 241,
    dest_ton_npi: "2/8",
    source_ton_npi: "0/1",
    validity: "none",
  });

  assert.partialDeepStrictEqual(message, {
    serviceType: "CMT",
    protocolId: 1,
    priority: 2,
    esmClass: 3,
    registeredDelivery: 17,
    dataCoding: 241,
    destination: { ton: 2, npi: 8 },
    source: { ton: 0, npi: 1 },
    validityPeriod: "",
  });
});

const senders: [string | null, number, number][] = [
  ["491511234567", 1, 1],
  ["123456789", 1, 1],
  ["12345678", 3, 0],
  ["123", 3, 0],
  ["My-Shop", 5, 0],
  ["4ever", 5, 0],
  [null, 0, 0],
];

for (const [sender, ton, npi] of senders) {
  test(`the sender ${sender} has TON ${ton} and NPI ${npi}`, () => {
    assert.deepEqual(submitted({}, { sender }).source, { ton, npi, address: sender ?? "" });
  });
}

test("the carrier's default sender is used if the message has none", () => {
  assert.equal(submitted({ default_sender: "Acme" }, { sender: null }).source.address, "Acme");
  assert.equal(submitted({ default_sender: "Acme" }, { sender: "Shop" }).source.address, "Shop");
  assert.deepEqual(submitted({ default_sender: "+4915199999" }, { sender: null }).source, {
    ton: 1,
    npi: 1,
    address: "4915199999",
  });
});

const long = { segment: 2, segments: 3, concatReference: 200 };

test("each segment of a long text begins with a header that has an 8-bit reference", () => {
  const message = submitted({}, long);

  assert.equal(message.esmClass, 0x40);
  assert.equal(
    Buffer.from(message.shortMessage).toString("latin1"),
    "\x05\x00\x03\xc8\x03\x02Hello",
  );
  assert.equal(message.tlvs.length, 0);
});

test("sar TLVs carry the same without a header", () => {
  const message = submitted({ long_messages: "sar" }, long);

  assert.equal(message.esmClass, 0);
  assert.equal(Buffer.from(message.shortMessage).toString(), "Hello");
  assert.equal(findTlvInteger(message.tlvs, tag.sarMsgRefNum), 200);
  assert.equal(findTlvInteger(message.tlvs, tag.sarTotalSegments), 3);
  assert.equal(findTlvInteger(message.tlvs, tag.sarSegmentSeqnum), 2);
});

test("a whole long message leaves in message_payload, a short one as usual", () => {
  const text = "a".repeat(161);

  const message = submitted({ long_messages: "payload" }, { text });

  assert.equal(message.shortMessage.length, 0);
  assert.equal(message.esmClass, 0);
  assert.equal(findTlv(message.tlvs, tag.messagePayload)?.toString(), text);
  assert.equal(submitted({ long_messages: "payload" }).tlvs.length, 0);
});

test("a long message leaves in message_payload also where two septets are one octet", () => {
  const text = "[".repeat(81);
  const settings = { long_messages: "payload", alphabet: "ascii" };

  const message = submitted(settings, { text });

  assert.equal(message.shortMessage.length, 0);
  assert.equal(findTlv(message.tlvs, tag.messagePayload)?.toString(), text);
});

test("a message that began in segments or whole goes on so, even if the setting has changed", () => {
  const part = submitted({ long_messages: "payload" }, long);
  const whole = submitted({ long_messages: "udh" }, { text: "a".repeat(161) });

  assert.deepEqual([part.shortMessage, part.esmClass], [submitted({}, long).shortMessage, 0x40]);
  assert.equal(findTlv(whole.tlvs, tag.messagePayload)?.length, 161);
});

test("every segment that the counter cuts fits into a short message, in every alphabet", () => {
  for (const text of ["a".repeat(1000), "€".repeat(500), "漢😀".repeat(300)]) {
    const { encoding, parts } = splitText(text);
    for (const alphabet of ["gsm", "gsm_packed"]) {
      parts.forEach((part, index) => {
        const place = { segment: index + 1, segments: parts.length };
        const message = submitted({ alphabet }, { text: part, encoding, ...place });
        const most = encoding === "ucs2" || alphabet === "gsm_packed" ? 140 : 159;
        assert.ok(message.shortMessage.length <= most, `${message.shortMessage.length} octets`);
        assert.equal(message.tlvs.length, 0);
      });
    }
  }
});

test("UCS-2 leaves with the high octet first and data_coding 8, or what the carrier's settings say", () => {
  const message = submitted({}, { text: "漢", encoding: "ucs2" });
  const set = submitted({ ucs2_data_coding: 24 }, { text: "漢", encoding: "ucs2" });

  assert.deepEqual([message.dataCoding, set.dataCoding], [8, 24]);
  assert.equal(Buffer.from(message.shortMessage).toString("hex"), "6f22");
});

test("no segment of a text leaves if the carrier's alphabet lacks a later one", () => {
  const settings = smppSettings({ alphabet: "ascii" });
  const first = { text: "a".repeat(153), segments: 2 };
  const begun = (wholeText: string) =>
    submission(segmentTo("4915112345678", { ...first, wholeText }), settings, now);

  assert.equal(begun(`${first.text}aaaaaaaé`), undefined);
  assert.notEqual(begun(`${first.text}aaaaaaae`), undefined);
});

test("a text that the carrier's alphabet cannot hold is encoded as UCS-2 or not at all", () => {
  const settings = smppSettings({ alphabet: "ascii" });
  const segment = segmentTo("4915112345678", { text: "naïve" });

  assert.equal(submission(segment, settings, now), undefined);
  assert.notEqual(submission({ ...segment, encoding: "ucs2" }, settings, now), undefined);
});
