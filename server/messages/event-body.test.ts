import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import Schema from "typebox/schema";
import { webhookBodies } from "#contract";
import { anyCharacter } from "../../test/support/any-character.ts";
import { foreignText, eventBody, type StatusChange } from "./event-body.ts";

const message = {
  messageId: "01936f2a-7c00-7000-8000-000000000001",
  recipient: "447700900123",
  at: new Date("2026-11-15T09:30:00.123Z"),
};

const unreachable = {
  code: "RECIPIENT_UNREACHABLE",
  carrierCode: "001",
} as const;

const expired = {
  code: "EXPIRED",
  carrierCode: null,
} as const;

const changes: Record<string, StatusChange> = {
  "message.sent": { ...message, status: "SENT" },
  "message.delivered": { ...message, status: "DELIVERED" },
  "message.undelivered": { ...message, status: "UNDELIVERED", error: unreachable },
  "message.failed": { ...message, status: "FAILED", error: expired },
};

test("the bodies are those shown in the API description, with their fields in the same order", () => {
  for (const [event, schema] of Object.entries(webhookBodies)) {
    const body = JSON.parse(String(eventBody(changes[event] as StatusChange))) as object;

    assert.ok(Schema.Compile(schema).Check(body), event);
    assert.deepEqual(Object.keys(body), Object.keys(schema.properties));
  }
});

for (const [event, change] of Object.entries(changes)) {
  test(`the octets of ${event} are those that receivers sign against`, () => {
    const golden = readFileSync(new URL(`golden/${event}.body`, import.meta.url));

    assert.deepEqual(eventBody(change), golden);
  });
}

test("a carrier's text is passed on without control characters and within 200 characters", () => {
  const noisy = `a\0b\r\nc\u007f\u0085${"😀".repeat(300)}`;

  const told = foreignText(noisy);

  assert.equal(told, `abc${"😀".repeat(197)}`);
});

test("whatever a carrier writes, the body is UTF-8 JSON of at most 4 KiB", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 2_000 }), (carrierCode) => {
      const error = { ...unreachable, carrierCode };
      const body = eventBody({ ...message, status: "FAILED", error });

      assert.ok(body.length <= 4_096);
      assert.equal(JSON.parse(body.toString()).status, "FAILED");
    }),
  );
});
