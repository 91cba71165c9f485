import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import type { ShortMessage } from "./codec/body.ts";
import { encodeTlvs, tag } from "./codec/tlv.ts";
import { type Delivered, readDelivered } from "./receipt.ts";
import { readReceiptText } from "./receipt-text.ts";
import { receiptSaying, smppSettings } from "../../../test/support/smpp.ts";

const settings = smppSettings();

const TEXT =
  "id:0123456789 sub:001 dlvrd:001 submit date:2611150930 done date:2611150931 stat:DELIVRD err:000 text:Hello";

function delivered(given: Partial<ShortMessage<Buffer>>, by = settings): Delivered {
  return readDelivered(receiptSaying(TEXT, given), by);
}

/** The essence of a receipt: id, state, effect, err. */
function summary(given: Partial<ShortMessage<Buffer>>, by = settings): unknown[] | string {
  const read = delivered(given, by);
  if (read.kind !== "receipt") return read.kind;
  const { carrierMessageIds, state, effect, carrierCode } = read.receipt;
  return [carrierMessageIds[0], state, effect, carrierCode];
}

const good = ["0123456789", "DELIVRD", "delivered", "000"];

function ofText(text: string): ReturnType<typeof summary> {
  return summary({ shortMessage: Buffer.from(text, "latin1") });
}

const texts: [string, string, unknown][] = [
  ["in the standard form", TEXT, good],
  ["in capitals", TEXT.toUpperCase(), good],
  ["in small letters", TEXT.toLowerCase(), ["0123456789", "delivrd", "delivered", "000"]],
  ["with keys in another order", "stat:DELIVRD err:000 id:0123456789 text:x", good],
  ["with its text first", "text:Hello id:0123456789 stat:DELIVRD err:000", good],
  ["without sub, dlvrd and dates", "id:0123456789 stat:DELIVRD err:000", good],
  ["with spaces after the colons", "id: 0123456789 sub: 001 stat: DELIVRD err: 000 text: x", good],
  ["with dates of 15 digits", TEXT.replaceAll("2611150930", "261115093000123"), good],
  ["with keys nobody knows", `msg_id:9 ref:7 ${TEXT} foo:bar`, good],
  ["with commas between its keys", "id:0123456789,stat:DELIVRD,err:000", good],
  ["with semicolons between its keys", "id:0123456789;stat:DELIVRD;err:000", good],
  ["with a NUL at its end", `${TEXT.slice(0, -11)}\0`, good],
  ["with the bare word for the state", "id:0123456789 sub:001 DELIVRD err:000 text:x", good],
  ["with letters for err", TEXT.replace("err:000", "err:E1a"), [...good.slice(0, 3), "E1a"]],
  ["with an err of one digit", TEXT.replace("err:000", "err:5"), [...good.slice(0, 3), "5"]],
  ["with an empty err", TEXT.replace("err:000", "err:"), [...good.slice(0, 3), null]],
  ["without err", TEXT.replace("err:000 ", ""), [...good.slice(0, 3), null]],
  [
    "with a UUID for its id",
    TEXT.replace("0123456789", "0a3f-11-AB"),
    ["0a3f-11-AB", ...good.slice(1)],
  ],
  [
    "with 64 hex digits for its id",
    TEXT.replace("0123456789", "a".repeat(64)),
    ["a".repeat(64), ...good.slice(1)],
  ],
  ["without an id", TEXT.replace("id:0123456789 ", ""), "unreadable"],
  ["without a state", "id:0123456789 err:000", ["0123456789", "UNKNOWN", "none", "000"]],
  [
    "whose text plays a state that the carrier did not send",
    "id:0123456789 err:000 text:stat:UNDELIV",
    ["0123456789", "UNKNOWN", "none", "000"],
  ],
  [
    "with a text that plays a receipt",
    "id:0123456789 stat:DELIVRD err:000 text:id:6 stat:UNDELIV",
    good,
  ],
];

for (const [what, text, expected] of texts) {
  test(`a receipt ${what} is understood`, () => assert.deepEqual(ofText(text), expected));
}

const id = { tag: tag.receiptedMessageId, value: Buffer.from("0123456789\0") };
const state = (value: number) => ({ tag: tag.messageState, value: Buffer.of(value) });
const NOTHING = Buffer.alloc(0);

const others: [string, Partial<ShortMessage<Buffer>>, unknown][] = [
  [
    "in TLVs alone",
    { shortMessage: NOTHING, tlvs: encodeTlvs([id, state(2)]) },
    ["0123456789", "DELIVRD", "delivered", null],
  ],
  [
    "in TLVs without the NUL",
    {
      shortMessage: NOTHING,
      tlvs: encodeTlvs([{ ...id, value: Buffer.from("0123456789") }, state(5)]),
    },
    ["0123456789", "UNDELIV", "undelivered", null],
  ],
  [
    "with a network error of 0, which says nothing, beside the text's own",
    {
      shortMessage: Buffer.from(TEXT.replace("err:000", "err:011")),
      tlvs: encodeTlvs([{ tag: tag.networkErrorCode, value: Buffer.of(3, 0, 0) }]),
    },
    [...good.slice(0, 3), "011"],
  ],
  [
    "in message_payload",
    {
      shortMessage: NOTHING,
      tlvs: encodeTlvs([{ tag: tag.messagePayload, value: Buffer.from(TEXT) }]),
    },
    good,
  ],
  [
    "in a message_payload that claims too many octets",
    {
      shortMessage: NOTHING,
      tlvs: encodeTlvs([{ tag: tag.messagePayload, value: Buffer.from(`${TEXT}....`) }]).subarray(
        0,
        -4,
      ),
    },
    good,
  ],
  [
    "whose state is a zero, which leaves it to the text",
    { tlvs: encodeTlvs([id, state(0)]) },
    good,
  ],
  [
    "whose state is a zero and whose text names none, as scheduled",
    { shortMessage: NOTHING, tlvs: encodeTlvs([id, state(0)]) },
    ["0123456789", "SCHEDULED", "none", null],
  ],
  [
    "with esm_class 0, by its TLVs though its state is a zero",
    { esmClass: 0, shortMessage: NOTHING, tlvs: encodeTlvs([id, state(0)]) },
    ["0123456789", "SCHEDULED", "none", null],
  ],
  [
    "whose state is a number that the protocol does not define, which leaves it to the text",
    { tlvs: encodeTlvs([id, state(9)]) },
    good,
  ],
  [
    "whose state is such a number and whose text names none, by the number",
    { shortMessage: NOTHING, tlvs: encodeTlvs([id, state(9)]) },
    ["0123456789", "9", "none", null],
  ],
  [
    "whose state TLV has no octets",
    { tlvs: encodeTlvs([id, { tag: tag.messageState, value: NOTHING }]) },
    good,
  ],
  [
    "whose TLVs and text contradict each other, by its TLVs",
    { tlvs: encodeTlvs([{ ...id, value: Buffer.from("77\0") }, state(8)]) },
    ["77", "REJECTD", "rejected", "000"],
  ],
  [
    "with a network error code",
    {
      tlvs: encodeTlvs([{ tag: tag.networkErrorCode, value: Buffer.of(3, 0, 11) }]),
    },
    ["0123456789", "DELIVRD", "delivered", "011"],
  ],
  ["with a user data header", { esmClass: 0x44, shortMessage: udh(TEXT) }, good],
  ["that claims a header past its end", { esmClass: 0x44, shortMessage: Buffer.from(TEXT) }, good],
  ["with esm_class 0x84", { esmClass: 0x84 }, good],
  ["with esm_class 0, by its id and state", { esmClass: 0 }, good],
  [
    "with esm_class 0, by its TLVs",
    { esmClass: 0, shortMessage: NOTHING, tlvs: encodeTlvs([id, state(2)]) },
    ["0123456789", "DELIVRD", "delivered", null],
  ],
  ["whose ASCII is labelled UCS-2", { dataCoding: 8 }, good],
  ["in UCS-2", { dataCoding: 8, shortMessage: ucs2(TEXT) }, good],
  [
    "in UCS-2 after a byte order mark",
    { dataCoding: 8, shortMessage: ucs2(`\ufeff${TEXT}`) },
    good,
  ],
  [
    "in UCS-2 with the bare word for the state",
    { dataCoding: 8, shortMessage: ucs2("id:0123456789 DELIVRD err:000") },
    good,
  ],
  [
    "in UCS-2 of odd length",
    { dataCoding: 8, shortMessage: Buffer.concat([ucs2(TEXT), Buffer.of(0)]) },
    good,
  ],
  [
    "that is only intermediate, and changes nothing though it says delivered",
    { esmClass: 0x20 },
    ["0123456789", "DELIVRD", "none", "000"],
  ],
  ["that is marked and empty", { esmClass: 0x44, shortMessage: NOTHING }, "unreadable"],
];

for (const [what, given, expected] of others) {
  test(`a receipt ${what} is understood`, () => assert.deepEqual(summary(given), expected));
}

test("a text from a handset is not a receipt, even if it has an id or a state", () => {
  for (const text of ["Hello", "id:5 call me", "what stat: is this", "id:5 DELIVRD", ""]) {
    assert.equal(summary({ esmClass: 0, shortMessage: Buffer.from(text) }), "inbound_text");
  }
});

const effects: [string, string, string | null][] = [
  ["DELIVRD", "delivered", null],
  ["UNDELIV", "undelivered", "RECIPIENT_UNREACHABLE"],
  ["EXPIRED", "undelivered", "EXPIRED"],
  ["DELETED", "undelivered", "UNKNOWN"],
  ["REJECTD", "rejected", "REJECTED_BY_CARRIER"],
  ["ENROUTE", "none", null],
  ["ACCEPTD", "none", null],
  ["BUFFRED", "none", null],
  ["SCHEDULED", "none", null],
  ["UNKNOWN", "none", null],
  ["GIBBRSH", "none", null],
];

for (const [word, effect, errorCode] of effects) {
  test(`${word} has the effect ${effect} and the error ${errorCode}`, () => {
    const read = delivered({ shortMessage: Buffer.from(TEXT.replace("DELIVRD", word)) });

    assert.partialDeepStrictEqual(read, {
      kind: "receipt",
      receipt: { state: word, effect, errorCode },
    });
  });
}

test("the carrier's settings define what its own words and its err mean", () => {
  const by = smppSettings({
    receipt_states: { failed: "undelivered" },
    error_codes: { "011": "RECIPIENT_UNKNOWN" },
  });
  const text = TEXT.replace("DELIVRD", "Failed").replace("err:000", "err:011");

  const read = delivered({ shortMessage: Buffer.from(text) }, by);
  const besideTlv = delivered(
    { shortMessage: Buffer.from(text), tlvs: encodeTlvs([state(2)]) },
    by,
  );

  const meant = { effect: "undelivered", errorCode: "RECIPIENT_UNKNOWN" };
  assert.partialDeepStrictEqual(read, {
    kind: "receipt",
    isStateKnown: true,
    receipt: { state: "Failed", ...meant },
  });
  assert.partialDeepStrictEqual(besideTlv, { receipt: meant });
});

test("a number that the carrier's settings define counts before the text beside it", () => {
  const by = smppSettings({ receipt_states: { "9": "undelivered" } });

  const read = summary({ tlvs: encodeTlvs([id, state(9)]) }, by);

  assert.deepEqual(read, ["0123456789", "9", "undelivered", "000"]);
});

test("the sender of a receipt is the recipient of its message, without a plus", () => {
  const read = delivered({ source: { ton: 1, npi: 1, address: "+4915112345678" } });

  assert.partialDeepStrictEqual(read, { receipt: { recipient: "4915112345678" } });
});

test("keys in any order, with any others between them, give the same receipt", () => {
  const word = fc.stringMatching(/^[A-Za-z0-9]{1,12}$/);
  const foreign = fc
    .tuple(fc.stringMatching(/^[a-z]{5,9}$/), word)
    .map(([key, value]) => `${key}:${value}`);
  const parts = fc.record({ id: word, stat: word, err: fc.option(word, { nil: undefined }) });
  fc.assert(
    fc.property(
      parts,
      fc.array(foreign, { maxLength: 4 }),
      fc.nat(),
      fc.boolean(),
      (given, more, seed, hasSpace) => {
        const keys = Object.entries(given).filter(([, value]) => value !== undefined);
        const pairs = [
          ...keys.map(([key, value]) => `${key}:${hasSpace ? " " : ""}${value}`),
          ...more,
        ];
        const shuffled = pairs.toSorted(
          (a, b) => ((a.length * 31 + seed) % 7) - ((b.length * 17 + seed) % 7),
        );

        assert.deepEqual({ ...readReceiptText(shuffled.join(" ")) }, { ...given });
      },
    ),
  );
});

test("a field that no table can hold is cut, repaired or makes the receipt unreadable", () => {
  const halfPair = Buffer.from("id:7\ud800 stat:DELIVRD", "utf16le").swap16();

  assert.equal(ofText(`id:${"7".repeat(256)} stat:DELIVRD`), "unreadable");
  assert.deepEqual(ofText(`id:7 stat:DELIVRD err:${"9".repeat(300)}`)[3], "9".repeat(64));
  assert.deepEqual(summary({ shortMessage: halfPair }), ["7\ufffd", "DELIVRD", "delivered", null]);
});

test("a state or a code cut within a character is still a text that a table can hold", () => {
  const long = `${"A".repeat(63)}\u{1f600}`;
  const cut = `${"A".repeat(63)}\ufffd`;

  const read = summary({ shortMessage: ucs2(`id:7 stat:${long} err:${long}`) });

  assert.deepEqual(read, ["7", cut, "none", cut]);
});

test("no octets make the receipt reader throw", () => {
  const octets = fc.uint8Array({ maxLength: 80 }).map((given) => Buffer.from(given));
  fc.assert(
    fc.property(
      octets,
      octets,
      fc.integer({ min: 0, max: 255 }),
      (shortMessage, tlvs, esmClass) => {
        delivered({ shortMessage, tlvs, esmClass });
      },
    ),
    { numRuns: 1000 },
  );
});

function udh(text: string): Buffer {
  return Buffer.concat([Buffer.of(5, 0, 3, 7, 1, 1), Buffer.from(text)]);
}

function ucs2(text: string): Buffer {
  return Buffer.from(text, "utf16le").swap16();
}
