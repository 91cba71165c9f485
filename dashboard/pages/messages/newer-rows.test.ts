import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConsoleMessage, Status } from "#contract";
import { newerRows } from "./newer-rows.ts";

function row(messageId: string, status: Status, version: number): ConsoleMessage {
  return { message: { messageId, status }, version } as ConsoleMessage;
}

test("a row becomes what was read of it, unless that is older than what it shows", () => {
  const shown = [row("a", "QUEUED", 1), row("b", "DELIVERED", 3), row("c", "SENT", 2)];
  const read = new Map([
    ["a", row("a", "SENT", 2)],
    ["b", row("b", "SENT", 2)],
  ]);

  const statuses = newerRows(shown, read).map(({ message }) => message.status);

  assert.deepEqual(statuses, ["SENT", "DELIVERED", "SENT"]);
});
