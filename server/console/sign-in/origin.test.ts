import assert from "node:assert/strict";
import { test } from "node:test";
import { isOwnOrigin } from "./origin.ts";

const OWN = "https://sms.example.com";

test("a write is ours if the browser says same-origin, or else if Origin is our address", () => {
  const cases: [Record<string, string>, boolean][] = [
    [{ "sec-fetch-site": "same-origin" }, true],
    [{ "sec-fetch-site": "same-origin", origin: "https://evil.example" }, true],
    [{ "sec-fetch-site": "same-site", origin: OWN }, false],
    [{ "sec-fetch-site": "cross-site", origin: OWN }, false],
    [{ "sec-fetch-site": "none" }, false],
    [{ origin: OWN }, true],
    [{ origin: "http://sms.example.com" }, false],
    [{ origin: "null" }, false],
    [{ host: "sms.example.com" }, false],
  ];

  for (const [headers, expected] of cases)
    assert.equal(isOwnOrigin(headers, OWN), expected, JSON.stringify(headers));
});

test("a path in the public address does not count", () => {
  assert.equal(isOwnOrigin({ origin: OWN }, `${OWN}/posthorn`), true);
});
