import assert from "node:assert/strict";
import { test } from "node:test";
import { newerRows } from "./newer-rows.ts";

type Row = { id: string; status: string; version: number };
const kind = { idOf: ({ id }: Row) => id, versionOf: ({ version }: Row) => version };

function row(id: string, status: string, version: number): Row {
  return { id, status, version };
}

test("a row takes on what was read of it, unless that is older than what it shows", () => {
  const shown = [row("a", "QUEUED", 1), row("b", "DELIVERED", 3), row("c", "SENT", 2)];
  const read = new Map([
    ["a", row("a", "SENT", 2)],
    ["b", row("b", "SENT", 2)],
    ["c", row("c", "FAILED", 2)],
  ]);

  const statuses = newerRows(shown, read, kind).map(({ status }) => status);

  assert.deepEqual(statuses, ["SENT", "DELIVERED", "FAILED"]);
});
