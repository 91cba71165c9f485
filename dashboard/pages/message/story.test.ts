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

test("what a carrier did with a segment is told in words of its own", () => {
  const at = "2026-11-15T09:30:00.100Z";
  const of = { at, carrier: "acme", segment: 2 };
  const submission = { ...of, type: "submission", carrierMessageId: null } as const;
  const doubt = { ...of, type: "doubt", reason: "Lost." } as const;
  const history: HistoryEntry[] = [
    { ...submission, outcome: "accepted", carrierMessageId: "17", carrierCode: null },
    { ...submission, outcome: "refused_temporarily", carrierCode: "0x58" },
    { ...submission, outcome: "refused", carrierCode: "0x0B" },
    { ...submission, outcome: "unsent", carrierCode: null },
    { ...doubt, action: "resend" },
    { ...doubt, action: "fail" },
    { ...of, type: "receipt", state: "DELIVRD", carrierCode: "000", applied: true },
  ];

  const steps = tellStory(history, { segments: 3, credits: 3, creditsRefunded: 0 });

  assert.deepEqual(
    steps.map(({ title, lines }) => [title, ...lines]),
    [
      ["Segment 2 of 3 handed to acme", "Carrier message id 17"],
      [
        "acme refused segment 2 of 3 for now; it will be tried again",
        "Carrier code 0x58 (throttled)",
      ],
      ["acme refused segment 2 of 3 for good", "Carrier code 0x0B (invalid recipient)"],
      ["Segment 2 of 3 was not sent to acme"],
      [
        "In doubt: acme may or may not have segment 2 of 3",
        "Lost.",
        "Sent again, by the carrier's setting.",
      ],
      ["In doubt: acme may or may not have segment 2 of 3", "Lost.", "Not sent again."],
      ["acme reports DELIVRD for segment 2 of 3"],
    ],
  );
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

test("a message for later says when it is due until then, and one that is sent waits for nothing", () => {
  const waits = (status: "QUEUED" | "SENT", sendAt: string) =>
    tellWait({ message: { status, sendAt }, waitsFor: null }, "UTC");

  assert.equal(waits("QUEUED", "2999-11-15T09:30:00.000Z"), "Due at 15 Nov 2999, 09:30:00.");
  assert.equal(waits("QUEUED", "2020-11-15T09:30:00.000Z"), "Waiting for the send worker.");
  assert.equal(waits("SENT", "2999-11-15T09:30:00.000Z"), undefined);
});

test("the first step shows its day, and so does each after midnight in the reader's zone", () => {
  const steps = ["22:59:59.900", "23:00:00.100", "23:00:01.000"].map((clock) => ({
    at: `2026-11-15T${clock}Z`,
  }));
  const told = (zone: string) => steps.map((_step, index) => tellsDay(steps, index, zone));

  assert.deepEqual(told("Europe/Paris"), [true, true, false]);
  assert.deepEqual(told("UTC"), [true, false, false]);
});
