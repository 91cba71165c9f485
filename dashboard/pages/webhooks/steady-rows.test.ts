import assert from "node:assert/strict";
import { test } from "node:test";
import type { WebhookDelivery } from "#contract";
import { steadyRows } from "./steady-rows.ts";

function rowsOf(ids: string, state = "waiting"): WebhookDelivery[] {
  return [...ids].map((deliveryId) => ({ deliveryId, state }) as WebhookDelivery);
}

function shownAfter(shown: string, answer: string, nextCursor: string | null = null): string {
  const rows = steadyRows(rowsOf(shown), { data: rowsOf(answer, "delivered"), nextCursor });
  return rows.map((row) => row.deliveryId + (row.state === "waiting" ? "?" : "")).join("");
}

test("rows change in their places, new ones wait, and those that left are gone", () => {
  assert.equal(shownAfter("fdb", "fdb"), "fdb");
  assert.equal(shownAfter("fdb", "hgfedb"), "fdb");
  assert.equal(shownAfter("fdb", "fb"), "fb");
});

test("what comes behind the last row moves none, so it is shown", () => {
  assert.equal(shownAfter("fdb", "fcba", "more"), "fba");
});

test("rows that new ones drove off the page stay as they were", () => {
  assert.equal(shownAfter("fdb", "hgf", "more"), "fd?b?");
  assert.equal(shownAfter("fdb", "jih", "more"), "f?d?b?");
});

test("where no shown row is left, those that are there come at once", () => {
  assert.equal(shownAfter("fdb", "hg"), "hg");
  assert.equal(shownAfter("", "hg"), "hg");
  assert.equal(shownAfter("fdb", ""), "");
});
