import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { webhookHeaderMeanings } from "#contract";
import { systemClock } from "#platform";
import type { ClaimedDelivery } from "./deliveries.ts";
import { requestOf } from "./delivery-request.ts";
import { webhookHeaders } from "./headers.ts";
import { signatureHeaders } from "./sign.ts";

type Vector = {
  name: string;
  secrets: string[];
  webhookId: string;
  timestamp: number;
  body: string;
  headers: Record<string, string>;
};

const vectors: { valid: Vector[]; invalid: Vector[] } = JSON.parse(
  readFileSync(new URL("../../docs/webhook-vectors.json", import.meta.url), "utf8"),
);

const [NEW, OLD] = [
  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  "whsec_//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=",
];

function sign({ secrets, webhookId, timestamp, body }: Vector): Record<string, string> {
  return signatureHeaders({
    eventId: webhookId,
    timestampSeconds: timestamp,
    body: Buffer.from(body),
    secrets,
  });
}

for (const vector of vectors.valid) {
  test(`the published vector holds: ${vector.name}`, () => {
    const { webhookId, timestamp, headers } = vector;

    assert.deepEqual(sign(vector), {
      ...headers,
      "webhook-id": webhookId,
      "webhook-timestamp": String(timestamp),
    });
  });
}

for (const vector of vectors.invalid) {
  test(`a signature made wrongly does not pass for ours: ${vector.name}`, () => {
    const made = sign(vector);

    for (const [name, value] of Object.entries(vector.headers)) assert.notEqual(made[name], value);
  });
}

test("a Standard Webhooks library verifies a webhook, and rejects it with one octet changed", () => {
  const body = Buffer.from('{"event":"message.sent"}');
  const timestampSeconds = Math.floor(systemClock.now().getTime() / 1_000);
  const eventId = "01936f2a-7c00-7000-8000-0000000000aa";
  for (const secrets of [[NEW], [NEW, OLD]]) {
    const headers = signatureHeaders({ eventId, timestampSeconds, body, secrets });
    for (const secret of secrets) {
      const library = new Webhook(secret);
      assert.deepEqual(library.verify(body, headers), { event: "message.sent" });
      assert.throws(() => library.verify(`${body.toString()} `, headers), /No matching signature/);
    }
  }
});

test("three lines of code verify a webhook, with the secret as it was shown", () => {
  const body = Buffer.from('{"event":"message.sent"}');

  const headers = signatureHeaders({ eventId: "x", timestampSeconds: 1, body, secrets: [NEW] });

  assert.equal(headers["X-SMS-Signature"], createHmac("sha256", NEW).update(body).digest("hex"));
});

test("the previous signature is sent only while two secrets are valid", () => {
  const signable = { eventId: "x", timestampSeconds: 1, body: Buffer.from("{}") };

  assert.ok(!("X-SMS-Signature-Previous" in signatureHeaders({ ...signable, secrets: [NEW] })));
  assert.ok("X-SMS-Signature-Previous" in signatureHeaders({ ...signable, secrets: [NEW, OLD] }));
});

test("nothing is signed without a secret, or with one of another form", () => {
  const signable = { eventId: "x", timestampSeconds: 1, body: Buffer.from("{}") };

  assert.throws(() => signatureHeaders({ ...signable, secrets: [] }), /no secret/);
  assert.throws(
    () => signatureHeaders({ ...signable, secrets: ["AAEC"] }),
    /does not begin with whsec_/,
  );
});

test("a secret whose overlap ends while a webhook waits for its slot does not sign it", () => {
  const until = new Date("2026-11-15T09:30:00.000Z");
  const delivery = {
    messageId: "01936f2a-7c00-7000-8000-0000000000aa",
    sequence: 2,
    status: "SENT",
    body: Buffer.from("{}"),
    secrets: { current: NEW, previous: { secret: OLD, until } },
  } as ClaimedDelivery;
  const isSignedByOld = (now: Date) =>
    "X-SMS-Signature-Previous" in requestOf(delivery, now, "test").headers;

  assert.ok(isSignedByOld(new Date(until.getTime() - 1)));
  assert.ok(!isSignedByOld(until));
});

const request = {
  event: "message.delivered",
  attempt: 2,
  sequence: 3,
  eventId: "01936f2a-7c00-7000-8000-0000000000aa",
  timestampSeconds: 1794735000,
  body: Buffer.from("{}"),
  secrets: [NEW],
} as const;

test("a webhook carries every promised header, and a test event is marked as one", () => {
  const headers = webhookHeaders(request, "1.2.3");

  assert.partialDeepStrictEqual(headers, {
    "Content-Type": "application/json",
    "User-Agent": "Posthorn/1.2.3",
    "Accept-Encoding": "identity",
    "X-SMS-Event": "message.delivered",
    "X-SMS-Attempt": "2",
    "X-SMS-Sequence": "3",
    "webhook-id": "01936f2a-7c00-7000-8000-0000000000aa",
    "webhook-timestamp": "1794735000",
  });
  assert.ok(!("X-SMS-Test" in headers));
  assert.equal(webhookHeaders({ ...request, isTest: true }, "1.2.3")["X-SMS-Test"], "true");
});

test("the API description names every header of a webhook except those of any request", () => {
  const sent = webhookHeaders({ ...request, secrets: [NEW, OLD], isTest: true }, "1.2.3");

  const ours = Object.keys(sent).filter((name) => /^(?:x-sms|webhook)-/i.test(name));
  assert.deepEqual(ours.toSorted(), Object.keys(webhookHeaderMeanings).toSorted());
});
