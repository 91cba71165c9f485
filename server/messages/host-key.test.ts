import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { accountOf, hostKeyOf } from "./host-key.ts";

const [ONE, OTHER] = [
  "01936f2a-7c00-7000-8000-000000000001",
  "01936f2a-7c00-7000-8000-000000000002",
];

test("one account's URLs at one origin share a lane, whatever their path", () => {
  const key = hostKeyOf(ONE, "https://hooks.example.com/a");

  assert.equal(hostKeyOf(ONE, "https://hooks.example.com:443/b?c"), key);
  assert.equal(hostKeyOf(ONE, "https://HOOKS.example.com"), key);
});

test("scheme, host, port and account each make a lane of their own", () => {
  const keys = [
    hostKeyOf(ONE, "https://hooks.example.com/"),
    hostKeyOf(ONE, "http://hooks.example.com/"),
    hostKeyOf(ONE, "https://hooks.example.com:8443/"),
    hostKeyOf(ONE, "https://hooks.example.org/"),
    hostKeyOf(OTHER, "https://hooks.example.com/"),
  ];

  assert.equal(new Set(keys).size, keys.length);
});

test("endless host names make at most 65,536 lanes for one account, and none for another", () => {
  fc.assert(
    fc.property(fc.domain(), fc.string(), (name, rubbish) => {
      const url = `https://${name}/`;
      assert.equal(accountOf(hostKeyOf(ONE, url)), accountOf(hostKeyOf(ONE, rubbish)));
      assert.notEqual(accountOf(hostKeyOf(ONE, url)), accountOf(hostKeyOf(OTHER, url)));
    }),
  );
});

test("a key fits PostgreSQL's bigint and never changes: rows are found by it", () => {
  const key = hostKeyOf(ONE, "https://hooks.example.com/");

  assert.equal(BigInt.asIntN(64, key), key);
  assert.equal(key, KNOWN);
});

const KNOWN = 3365166976310080645n;
