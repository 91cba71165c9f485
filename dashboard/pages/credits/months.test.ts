import assert from "node:assert/strict";
import { test } from "node:test";
import { ledgerMonths } from "./months.ts";

const now = Date.parse("2026-02-15T12:00:00Z");

test("the ledger has every month since the account was created, the newest first", () => {
  const months = ledgerMonths("2024-12-31T23:59:59Z", undefined, now);

  assert.equal(months.length, 15);
  assert.deepEqual(months.slice(0, 3), ["2026-02", "2026-01", "2025-12"]);
  assert.equal(months.at(-1), "2024-12");
});

test("the chosen month is among them, whatever is known of the account", () => {
  assert.deepEqual(ledgerMonths("2026-01-31T10:00:00Z", "2024-01", now), [
    "2026-02",
    "2026-01",
    "2024-01",
  ]);
  assert.deepEqual(ledgerMonths(undefined, "2026-02", now), ["2026-02"]);
});
