import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEntry, Message } from "#contract";
import { storyOf } from "./watch-message.ts";

const at = (second: number) => `2026-11-15T09:30:0${second}.000Z`;

const message: Message = {
  messageId: "019a85c2-5b00-7abc-8def-0123456789ab",
  recipient: "4915112345678",
  sender: null,
  text: "Hello",
  status: "DELIVERED",
  encoding: "gsm7",
  segments: 1,
  credits: 1,
  creditsRefunded: 0,
  reference: null,
  metadata: null,
  callbackUrl: null,
  error: null,
  createdAt: at(0),
  sendAt: null,
  expiresAt: at(9),
  sentAt: at(2),
  deliveredAt: at(2),
  updatedAt: at(2),
};
const submission: HistoryEntry = {
  type: "submission",
  at: at(2),
  carrier: "acme",
  segment: 1,
  outcome: "accepted",
  carrierMessageId: "17",
  carrierCode: null,
};
const receipt: HistoryEntry = {
  type: "receipt",
  at: at(2),
  carrier: "acme",
  segment: 1,
  state: "DELIVRD",
  carrierCode: "000",
  applied: true,
};

test("every status is told in its place, even one that came and went between two looks", () => {
  assert.deepEqual(storyOf(message, [submission, receipt]), [
    `${at(0)}  QUEUED`,
    `${at(2)}    segment 1 to acme: accepted`,
    `${at(2)}  SENT`,
    `${at(2)}    receipt for segment 1 from acme: DELIVRD`,
    `${at(2)}  DELIVERED`,
  ]);
});

test("a receipt that overtook the answer is told first, and a failure with its reason", () => {
  const error = { code: "BLOCKED", message: "Blocked.", carrierCode: null } as const;
  const failed = { ...message, status: "FAILED", sentAt: at(2), updatedAt: at(3), error } as const;

  const story = storyOf(failed, [{ ...receipt, at: at(1), state: "REJECTD" }, submission]);

  assert.deepEqual(story, [
    `${at(0)}  QUEUED`,
    `${at(1)}    receipt for segment 1 from acme: REJECTD`,
    `${at(2)}    segment 1 to acme: accepted`,
    `${at(2)}  SENT`,
    `${at(3)}  FAILED: BLOCKED, Blocked.`,
  ]);
});
