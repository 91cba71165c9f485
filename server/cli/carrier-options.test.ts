import assert from "node:assert/strict";
import { test } from "node:test";
import {
  carrierOptions,
  nameArgument,
  settingWithDefault,
  smscAddress,
} from "./carrier-options.ts";

const addresses: [string, { host: string; port: string }][] = [
  ["smsc.example.com", { host: "smsc.example.com", port: "2775" }],
  ["smsc.example.com:1", { host: "smsc.example.com", port: "1" }],
  ["192.0.2.7:65535", { host: "192.0.2.7", port: "65535" }],
  ["[2001:db8::7]:3550", { host: "2001:db8::7", port: "3550" }],
  ["[::1]", { host: "::1", port: "2775" }],
];

for (const [given, expected] of addresses) {
  test(`${given} is the address of an SMSC`, () => {
    assert.deepEqual(smscAddress(given), expected);
  });
}

for (const given of ["", "smsc:0", "smsc:65536", "smsc:", "::1", "2001:db8::7:3550", "a b:1"]) {
  test(`${JSON.stringify(given)} is no address of an SMSC`, () => {
    assert.throws(() => smscAddress(given), /must be HOST:PORT/);
  });
}

test("a carrier's name has at most 60 characters, as people count them", () => {
  assert.equal(nameArgument.read(["🐦".repeat(60)]), "🐦".repeat(60));
  assert.throws(() => nameArgument.read(["a".repeat(61)]), /at most 60 characters, not 61/);
});

test("only an option that may be left out can be reset to its default", () => {
  assert.equal(settingWithDefault("receipt-id"), "receipt_id");
  for (const option of ["system-id", "host", "windw"])
    assert.throws(() => settingWithDefault(option), /must be an option of carrier add/);
});

test("a map that is given as text is kept as the map that it means", () => {
  const codes = carrierOptions["error_codes"];

  assert.deepEqual(codes?.read(['{"011": "BLOCKED"}']), { "011": "BLOCKED" });
  assert.throws(() => codes?.read(['{"011": "WRONG"}']), /has wrong entries: 011 must be one of/);
});
