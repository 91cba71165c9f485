import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryEntry } from "#contract";
import { tellsDay, tellStory, tellWait } from "./story.ts";

const queued: HistoryEntry = {
  type: "status",
  at: "2026-11-15T09:30:00.000Z",
  sequence: 1,
  event: "message.queued",
  status: "QUEUED",
  error: null,
  webhook: null,
};

test("each step shows the time since the one before", () => {
  const steps = tellStory([queued, { ...queued, at: "2026-11-15T09:30:02.500Z", status: "SENT" }], {
    segments: 1,
    credits: 1,
    creditsRefunded: 0,
  });

  assert.deepEqual(
    steps.map(({ sinceMs }) => sinceMs),
    [undefined, 2_500],
  );
});

test("segments are named only if there are several", () => {
  const submission: HistoryEntry = {
    type: "submission",
    at: "2026-11-15T09:30:00.100Z",
    carrier: "simulator",
    segment: 2,
    outcome: "accepted",
    carrierMessageId: "17",
    carrierCode: null,
  };
  const title = (segments: number) =>
    tellStory([submission], { segments, credits: segments, creditsRefunded: 0 })[0]?.title;

  assert.equal(title(3), "Segment 2 of 3 handed to simulator");
  assert.equal(title(1), "Handed to simulator");
});

test("a late receipt says that it changed nothing", () => {
  const receipt: HistoryEntry = {
    type: "receipt",
    at: "2026-11-15T09:31:00.000Z",
    carrier: "simulator",
    segment: 1,
    state: "DELIVRD",
    carrierCode: "000",
    applied: false,
  };

  const [step] = tellStory([receipt], { segments: 1, credits: 1, creditsRefunded: 0 });

  assert.equal(step?.title, "simulator reports DELIVRD");
  assert.equal(step?.tone, "quiet");
  assert.deepEqual(step?.lines, ["Kept, changed nothing."]);
});

test("a failure shows its code, the carrier's own, the refund and the webhook's attempts", () => {
  const [step] = tellStory(
    [
      {
        ...queued,
        event: "message.failed",
        status: "FAILED",
        error: { code: "REJECTED_BY_CARRIER", message: "Refused.", carrierCode: "0x0B" },
        webhook: {
          eventId: "e1",
          state: "delivered",
          attempts: [
            { attempt: 1, at: queued.at, durationMs: 30, httpStatus: 500, error: "http_500" },
            { attempt: 2, at: queued.at, durationMs: 41, httpStatus: 200, error: null },
          ],
        },
      },
    ],
    { segments: 2, credits: 2, creditsRefunded: 2 },
  );

  assert.equal(step?.title, "FAILED, 2 credits refunded");
  assert.deepEqual(step?.lines, [
    "REJECTED_BY_CARRIER: Refused.",
    "Carrier code 0x0B (invalid recipient)",
  ]);
  assert.equal(step?.webhook?.title, "Webhook message.failed: Delivered, 2 attempts");
  assert.deepEqual(
    step?.webhook?.attempts.map(({ httpStatus }) => httpStatus),
    [500, 200],
  );
});

test("an unfinished webhook is described in the words of the webhooks page", () => {
  const tell = (attempts: number) => {
    const attempt = { attempt: 1, at: queued.at, durationMs: 2, httpStatus: null, error: "dns" };
    const webhook = {
      eventId: "e1",
      state: "pending" as const,
      attempts: Array.from({ length: attempts }, () => attempt),
    };
    const about = { segments: 1, credits: 1, creditsRefunded: 0 };
    return tellStory([{ ...queued, webhook }], about)[0]?.webhook?.title;
  };

  assert.equal(tell(0), "Webhook message.queued: Waiting, 0 attempts");
  assert.equal(tell(1), "Webhook message.queued: Retrying, 1 attempt");
});

test("a waiting message names the carrier it waits for, and says why that takes nothing", () => {
  const message = { status: "QUEUED", sendAt: null } as const;
  const told = (away: "down" | "paused" | null) =>
    tellWait({ message, waitsFor: { carrier: "acme", away } }, "UTC");

  assert.equal(told(null), "Waiting for the send worker to hand it to acme.");
  assert.match(told("down") ?? "", /^Waiting for acme, which is down\./);
  assert.match(told("paused") ?? "", /^Waiting for acme, which the operator has paused\./);
});

test("the first step shows its day, and so does each after midnight in the reader's zone", () => {
  const steps = ["22:59:59.900", "23:00:00.100", "23:00:01.000"].map((clock) => ({
    at: `2026-11-15T${clock}Z`,
  }));
  const told = (zone: string) => steps.map((_step, index) => tellsDay(steps, index, zone));

  assert.deepEqual(told("Europe/Paris"), [true, true, false]);
  assert.deepEqual(told("UTC"), [true, false, false]);
});
