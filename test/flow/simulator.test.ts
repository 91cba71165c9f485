import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { HistoryEntry } from "#contract";
import { type SendingWorld, startSending } from "../support/sending.ts";

let world: SendingWorld;
before(async () => {
  world = await startSending();
});
after(() => world[Symbol.asyncDispose]());

type Story = { ending: string; end: string; code?: string; refunded?: number; history: string[] };

/** The simulator's endings, as status changes, submissions, doubts and receipts. */
const stories: Story[] = [
  {
    ending: "5678",
    end: "DELIVERED",
    history: ["QUEUED", "accepted", "SENT", "DELIVRD", "DELIVERED"],
  },
  {
    ending: "0001",
    end: "UNDELIVERED",
    code: "RECIPIENT_UNREACHABLE",
    history: ["QUEUED", "accepted", "SENT", "UNDELIV", "UNDELIVERED"],
  },
  {
    ending: "0002",
    end: "FAILED",
    code: "REJECTED_BY_CARRIER",
    refunded: 1,
    history: ["QUEUED", "refused", "FAILED"],
  },
  {
    ending: "0003",
    end: "DELIVERED",
    history: [
      "QUEUED",
      "refused_temporarily",
      "refused_temporarily",
      "accepted",
      "SENT",
      "DELIVRD",
      "DELIVERED",
    ],
  },
  { ending: "0004", end: "SENT", history: ["QUEUED", "accepted", "SENT"] },
  {
    ending: "0006",
    end: "DELIVERED",
    history: ["QUEUED", "DELIVRD", "accepted", "SENT", "DELIVERED"],
  },
  {
    ending: "0007",
    end: "FAILED",
    code: "REJECTED_BY_CARRIER",
    refunded: 1,
    history: ["QUEUED", "accepted", "SENT", "REJECTD", "FAILED"],
  },
  {
    ending: "0008",
    end: "DELIVERED",
    history: ["QUEUED", "doubt resend", "accepted", "SENT", "DELIVRD", "DELIVERED"],
  },
];

for (const { ending, end, code, refunded = 0, history } of stories) {
  test(`a recipient that ends in ${ending} is ${end}, and the history shows how`, async () => {
    const { messageId } = await world.send({ recipient: `491511234${ending}`, text: "Hello" });

    const message = await world.reached(messageId, end);

    assert.equal(message.error?.code ?? null, code ?? null);
    assert.equal(message.creditsRefunded, refunded);
    assert.deepEqual((await world.history(messageId)).map(tell), history);
  });
}

test("SENT is never later than DELIVERED, even if the receipt comes first", async () => {
  const { messageId } = await world.send({ recipient: "4915112340006", text: "Hello" });

  const message = await world.reached(messageId, "DELIVERED");

  assert.ok(
    message.sentAt !== null &&
      message.deliveredAt !== null &&
      message.sentAt <= message.deliveredAt,
  );
});

test("a message of several segments is delivered once every segment is", async () => {
  const { messageId } = await world.send({
    recipient: "4915112345678",
    text: "Grüße 😀 ".repeat(30),
  });

  const message = await world.reached(messageId, "DELIVERED");

  const segments = (await world.history(messageId)).filter(({ type }) => type === "submission");
  assert.equal(segments.length, message.segments);
  assert.ok(message.segments > 2);
});

function tell(entry: HistoryEntry): string {
  switch (entry.type) {
    case "status":
      return entry.status;
    case "submission":
      return entry.outcome;
    case "doubt":
      return `doubt ${entry.action}`;
    case "receipt":
      return entry.state;
  }
}
