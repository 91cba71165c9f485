import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import calculator from "sms-segments-calculator";
import { anyCharacter } from "../test/support/any-character.ts";
import {
  countSegments,
  encodeGsm7,
  encodeUcs2,
  nonGsmCharacters,
  SEGMENT_UNITS,
  splitText,
} from "./segments.ts";

/** 3GPP TS 23.038, section 6.2.1, as Unicode publishes it (GSM0338.TXT): septets 0x00 to 0x7F. */
const publishedDefault = `
  0040 00A3 0024 00A5 00E8 00E9 00F9 00EC 00F2 00C7 000A 00D8 00F8 000D 00C5 00E5
  0394 005F 03A6 0393 039B 03A9 03A0 03A8 03A3 0398 039E none 00C6 00E6 00DF 00C9
  0020 0021 0022 0023 00A4 0025 0026 0027 0028 0029 002A 002B 002C 002D 002E 002F
  0030 0031 0032 0033 0034 0035 0036 0037 0038 0039 003A 003B 003C 003D 003E 003F
  00A1 0041 0042 0043 0044 0045 0046 0047 0048 0049 004A 004B 004C 004D 004E 004F
  0050 0051 0052 0053 0054 0055 0056 0057 0058 0059 005A 00C4 00D6 00D1 00DC 00A7
  00BF 0061 0062 0063 0064 0065 0066 0067 0068 0069 006A 006B 006C 006D 006E 006F
  0070 0071 0072 0073 0074 0075 0076 0077 0078 0079 007A 00E4 00F6 00F1 00FC 00E0`
  .trim()
  .split(/\s+/);

/** Section 6.2.1.1, the extension table. */
const publishedExtension: Record<number, number> = {
  0x0a: 0x0c,
  0x14: 0x5e,
  0x28: 0x7b,
  0x29: 0x7d,
  0x2f: 0x5c,
  0x3c: 0x5b,
  0x3d: 0x7e,
  0x3e: 0x5d,
  0x40: 0x7c,
  0x65: 0x20ac,
};

const plain = publishedDefault
  .filter((hex) => hex !== "none")
  .map((hex) => String.fromCharCode(Number.parseInt(hex, 16)));
const extended = Object.values(publishedExtension).map((code) => String.fromCharCode(code));

const gsmText = fc.string({ unit: fc.constantFrom(...plain, ...extended), maxLength: 700 });
/** Long runs put surrogate pairs at every distance from a segment boundary. */
const awkwardText = fc
  .array(
    fc.tuple(
      fc.constantFrom("a", "€", "{", "é", "ą", "😀", "\r\n", "\ud83d", "\ude00"),
      fc.nat({ max: 160 }),
    ),
    { maxLength: 6 },
  )
  .map((runs) => runs.map(([unit, times]) => unit.repeat(times)).join(""));
const anyText = fc.oneof(gsmText, awkwardText, fc.string({ unit: anyCharacter, maxLength: 400 }));

test("every character of the published tables has its published septets", () => {
  for (const [septet, character] of publishedDefault.entries()) {
    if (character === "none") continue;
    const text = String.fromCharCode(Number.parseInt(character, 16));
    assert.deepEqual(encodeGsm7(text), Uint8Array.of(septet), JSON.stringify(text));
    assert.equal(countSegments(text).units, 1);
  }
  for (const [septet, code] of Object.entries(publishedExtension)) {
    const text = String.fromCharCode(code);
    assert.deepEqual(encodeGsm7(text), Uint8Array.of(0x1b, Number(septet)), JSON.stringify(text));
    assert.equal(countSegments(text).units, 2);
  }
});

test("no other UTF-16 unit counts as GSM 03.38, least of all the escape itself", () => {
  const published = new Set([...plain, ...extended]);
  for (let unit = 0; unit <= 0xffff; unit += 1) {
    const text = String.fromCharCode(unit);
    const isGsm = countSegments(text).encoding === "gsm7";
    assert.equal(isGsm, published.has(text), `U+${unit.toString(16)}`);
  }
});

const counts: [string, string, "gsm7" | "ucs2", number][] = [
  ["160 septets", "a".repeat(160), "gsm7", 1],
  ["161 septets", "a".repeat(161), "gsm7", 2],
  ["2 × 153 septets", "a".repeat(306), "gsm7", 2],
  ["2 × 153 septets and one", "a".repeat(307), "gsm7", 3],
  ["10 × 153 septets", "a".repeat(1530), "gsm7", 10],
  ["10 × 153 septets and one", "a".repeat(1531), "gsm7", 11],
  ["158 septets and an extension character", "a".repeat(158) + "€", "gsm7", 1],
  ["159 septets and an extension character", "a".repeat(159) + "€", "gsm7", 2],
  ["80 extension characters", "^{}~".repeat(20), "gsm7", 1],
  ["81 extension characters", "^{}~".repeat(20) + "|", "gsm7", 2],
  [
    "306 septets whose boundary falls into a pair",
    "a".repeat(152) + "€" + "a".repeat(152),
    "gsm7",
    3,
  ],
  [
    "305 septets whose boundary falls into a pair",
    "a".repeat(152) + "€" + "a".repeat(151),
    "gsm7",
    2,
  ],
  ["70 units", "ą".repeat(70), "ucs2", 1],
  ["71 units", "ą".repeat(71), "ucs2", 2],
  ["2 × 67 units", "ą".repeat(134), "ucs2", 2],
  ["2 × 67 units and one", "ą".repeat(135), "ucs2", 3],
  ["35 emoji", "😀".repeat(35), "ucs2", 1],
  ["36 emoji", "😀".repeat(36), "ucs2", 2],
  ["66 emoji, 33 to a segment", "😀".repeat(66), "ucs2", 2],
  ["67 emoji, which are 2 × 67 units", "😀".repeat(67), "ucs2", 3],
  ["a lower-case cedilla, which GSM does not have", "ç", "ucs2", 1],
  ["no text at all", "", "gsm7", 1],
];

for (const [name, text, encoding, segments] of counts) {
  test(`${name}: ${segments} in ${encoding}`, () => {
    assert.partialDeepStrictEqual(countSegments(text), { encoding, segments });
    assert.equal(splitText(text).parts.length, segments);
  });
}

test("a pair at the boundary moves whole into the next segment", () => {
  assert.deepEqual(splitText("a".repeat(152) + "€" + "b".repeat(20)).parts, [
    "a".repeat(152),
    "€" + "b".repeat(20),
  ]);
  // The first and the last surrogate pair, and one between.
  for (const pair of ["\u{10000}", "😀", "\u{10ffff}"]) {
    assert.deepEqual(splitText("a".repeat(66) + pair + "b".repeat(20)).parts, [
      "a".repeat(66),
      pair + "b".repeat(20),
    ]);
  }
});

test("the parts joined are the text again, and their number is the one counted", () => {
  fc.assert(
    fc.property(anyText, fc.constantFrom("auto", "ucs2"), (text, choice) => {
      const split = splitText(text, choice);

      assert.equal(split.parts.join(""), text);
      assert.equal(split.parts.length, split.segments);
      assert.deepEqual(countSegments(text, choice), {
        outcome: "counted",
        encoding: split.encoding,
        segments: split.segments,
        units: split.units,
      });
    }),
  );
});

test("every part fits, is as full as pairs allow, and none begins or ends inside a pair", () => {
  fc.assert(
    fc.property(anyText, fc.constantFrom("auto", "ucs2"), (text, choice) => {
      const { encoding, parts, unitsLeft } = splitText(text, choice);
      const { single, concatenated } = SEGMENT_UNITS[encoding];
      const room = parts.length === 1 ? single : concatenated;
      const sizes = parts.map((part) => unitsOnTheWire(part, encoding));

      assert.ok(sizes.every((size) => size <= room));
      assert.ok(sizes.slice(0, -1).every((size) => size >= room - 1));
      assert.equal(unitsLeft, room - (sizes.at(-1) ?? 0));
      for (const [n, part] of parts.slice(1).entries()) {
        assert.ok(!startsLow(part) || !endsHigh(parts[n] ?? ""));
      }
    }),
  );
});

test("a text is one segment exactly if it fits without the header", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const { encoding, segments, units } = countSegments(text);
      assert.equal(segments === 1, units <= SEGMENT_UNITS[encoding].single);
    }),
  );
});

test("gsm7 refuses a text that does not fit and names every character with its place", () => {
  assert.deepEqual(splitText("Zażółć €5 😀!", "gsm7"), {
    outcome: "not_gsm7",
    nonGsmCharacters: [
      { character: "ż", position: 2 },
      { character: "ó", position: 3 },
      { character: "ł", position: 4 },
      { character: "ć", position: 5 },
      { character: "😀", position: 10 },
    ],
  });
  assert.equal(splitText("Plain", "gsm7").outcome, "split");
  assert.equal(countSegments("😀", "gsm7").outcome, "not_gsm7");
});

test("a refused text names each wrong character once, at its first place, however often another comes before", () => {
  const text = `${"я".repeat(5000)}ж`;

  assert.equal(nonGsmCharacters(text).length, 5001);
  assert.deepEqual(countSegments(text, "gsm7"), {
    outcome: "not_gsm7",
    nonGsmCharacters: [
      { character: "я", position: 0 },
      { character: "ж", position: 5000 },
    ],
  });
});

test("at most a hundred different characters are named", () => {
  const text = Array.from({ length: 101 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join("");
  const counted = countSegments(text, "gsm7");

  assert.ok(counted.outcome === "not_gsm7");
  assert.equal(counted.nonGsmCharacters.length, 100);
  assert.equal(counted.nonGsmCharacters.at(-1)?.position, 99);
});

test("ucs2 is kept if it was asked for, even if gsm7 would do", () => {
  assert.partialDeepStrictEqual(splitText("a".repeat(71), "ucs2"), {
    encoding: "ucs2",
    segments: 2,
    units: 71,
  });
});

test("UCS-2 octets are UTF-16 with the high octet first", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.deepEqual(Buffer.from(encodeUcs2(text)), Buffer.from(text, "utf16le").swap16());
    }),
  );
});

test("GSM octets exist for a text exactly if no character is named as foreign", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      assert.equal(encodeGsm7(text) !== null, nonGsmCharacters(text).length === 0);
    }),
  );
});

/**
 * The published implementation keeps a whole grapheme in one segment, such as a family of emoji
 * joined by U+200D. The standard, and our promise, only keeps pairs together. So the two are
 * compared on texts whose graphemes are single code points, and differ by design on others.
 */
const comparableText = fc
  .array(fc.tuple(fc.constantFrom(...plain, ...extended, "ą", "я", "中", "😀", "𝄞"), fc.nat(90)), {
    maxLength: 14,
  })
  .map((runs) => runs.map(([unit, times]) => unit.repeat(times)).join(""));

test("encoding, segments and parts agree with a published implementation", () => {
  fc.assert(
    fc.property(fc.oneof(comparableText, gsmText), (text) => {
      const theirs = new calculator.SegmentedMessage(text);
      const ours = splitText(text);

      assert.equal(ours.encoding, theirs.getEncodingName() === "GSM-7" ? "gsm7" : "ucs2");
      assert.equal(ours.segments, theirs.segmentsCount);
      assert.deepEqual(ours.parts, theirs.segments.map(textOf));
      assert.deepEqual(
        nonGsmCharacters(text).map(({ character }) => character),
        theirs.getNonGsmCharacters(),
      );
    }),
    { numRuns: 300 },
  );
});

test("a joined emoji may be cut between its code points, unlike in the published implementation", () => {
  const family = "👨‍👩‍👧‍👦";
  const text = "a".repeat(60) + family;

  assert.deepEqual(splitText(text).parts.join(""), text);
  assert.equal(splitText(text).parts[0]?.length, 66);
  assert.equal(textOf(new calculator.SegmentedMessage(text).segments[0] ?? []).length, 60);
});

/** Its segments are arrays whose own `map` adds headers to the result; `Array.from` does not. */
function textOf(segment: Iterable<{ raw?: string }>): string {
  return Array.from(segment, ({ raw }) => raw ?? "").join("");
}

function unitsOnTheWire(part: string, encoding: "gsm7" | "ucs2"): number {
  return encoding === "gsm7"
    ? (encodeGsm7(part)?.length ?? Number.NaN)
    : encodeUcs2(part).length / 2;
}

function startsLow(part: string): boolean {
  return /^[\udc00-\udfff]/.test(part);
}

function endsHigh(part: string): boolean {
  return /[\ud800-\udbff]$/.test(part);
}
