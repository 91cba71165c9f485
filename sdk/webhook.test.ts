import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { verifyWebhook, type WebhookHeaders, WebhookVerificationError } from "./index.ts";
import { readVectors } from "./webhook-vectors.ts";

const vectors = readVectors();
const delivered = vectors.valid.find(({ secrets }) => secrets.length === 2);
assert.ok(delivered);
const { body, headers, timestamp } = delivered;
const [secret = "", previousSecret = ""] = delivered.secrets;
const now = new Date(timestamp * 1000);
const otherSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

function pick(...names: string[]): Record<string, string> {
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => wanted.has(name.toLowerCase()));
  return Object.fromEntries(kept);
}

function later(seconds: number): Date {
  return new Date(now.getTime() + seconds * 1000);
}

function reasonOf(
  given: WebhookHeaders,
  options: { body?: string; secret?: string; at?: Date; requireTimestamp?: boolean } = {},
): string {
  const { at = now, requireTimestamp = false } = options;
  try {
    verifyWebhook(options.body ?? body, given, options.secret ?? secret, {
      now: at,
      requireTimestamp,
    });
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
  return "verified";
}

test("a delivery with all headers verifies under the new and under the previous secret", () => {
  assert.deepEqual(verifyWebhook(body, headers, secret, { now }), JSON.parse(body));
  assert.deepEqual(
    verifyWebhook(Buffer.from(body), headers, previousSecret, { now }),
    JSON.parse(body),
  );
  const octets = new TextEncoder().encode(body).buffer;
  assert.deepEqual(verifyWebhook(octets, headers, secret, { now }), JSON.parse(body));
  assert.equal(reasonOf(headers, { secret: otherSecret }), "signature_mismatch");
});

test("X-SMS-Signature alone is enough, under either secret while both are valid", () => {
  assert.equal(reasonOf(pick("X-SMS-Signature")), "verified");
  const both = pick("X-SMS-Signature", "X-SMS-Signature-Previous");
  assert.equal(reasonOf(both, { secret: previousSecret }), "verified");
  assert.equal(reasonOf(pick("X-SMS-Signature"), { secret: previousSecret }), "signature_mismatch");
});

test("the published vectors verify where they should, and only there", () => {
  for (const { name, secrets, body, headers } of vectors.valid) {
    assert.doesNotThrow(() => verifyWebhook(body, headers, secrets, { now }), name);
  }
  for (const { name, secrets, body, headers } of vectors.invalid) {
    for (const [header, value] of Object.entries(headers)) {
      const given = header.startsWith("webhook-") ? headers : { [header]: value };
      assert.throws(
        () => verifyWebhook(body, given, secrets, { now }),
        WebhookVerificationError,
        `${name}: ${header}`,
      );
    }
  }
});

test("one of several secrets is enough, whichever the receiver still holds", () => {
  const list = [otherSecret, previousSecret];
  assert.doesNotThrow(() => verifyWebhook(body, headers, list, { now }));
  assert.doesNotThrow(() => verifyWebhook(body, pick("X-SMS-Signature"), [otherSecret, secret]));
});

test("a request is too old or too new beyond five minutes, and not before", () => {
  assert.equal(reasonOf(headers, { at: later(300) }), "verified");
  assert.equal(reasonOf(headers, { at: later(-300) }), "verified");
  assert.equal(reasonOf(headers, { at: later(301) }), "timestamp_outside_tolerance");
  assert.equal(reasonOf(headers, { at: later(-301) }), "timestamp_outside_tolerance");
});

test("the receiver may choose how old a request may be", () => {
  const [strict, at] = [{ toleranceSeconds: 10 }, later(11)];
  assert.doesNotThrow(() => verifyWebhook(body, headers, secret, { ...strict, now: later(10) }));
  assert.throws(() => verifyWebhook(body, headers, secret, { ...strict, now: at }), {
    reason: "timestamp_outside_tolerance",
  });
  assert.doesNotThrow(() =>
    verifyWebhook(body, headers, secret, { toleranceSeconds: 3600, now: later(3600) }),
  );
});

test("a time that is no number is refused, whoever signed it", () => {
  const given = { "webhook-id": "id", "webhook-timestamp": "yesterday" };
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = createHmac("sha256", key).update(`id.yesterday.${body}`).digest("base64");

  const reason = reasonOf({ ...given, "webhook-signature": `v1,${signed}` });

  assert.equal(reason, "timestamp_outside_tolerance");
});

test("unless told otherwise, a request is as old as it is now", () => {
  const present = new Date();
  const given = {
    "webhook-id": "id",
    "webhook-timestamp": String(Math.floor(present.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign("id", present, body),
  };

  assert.deepEqual(verifyWebhook(body, given, secret), JSON.parse(body));
  assert.throws(() => verifyWebhook(body, headers, secret), {
    reason: "timestamp_outside_tolerance",
  });
});

test("removing the signature that covers the time does not make an old request pass", () => {
  const withoutSignature = pick("X-SMS-Signature", "webhook-id", "webhook-timestamp");
  const withoutTime = pick("X-SMS-Signature", "webhook-id", "webhook-signature");
  assert.equal(reasonOf(withoutSignature, { at: later(3600) }), "signature_missing");
  assert.equal(reasonOf(withoutTime, { at: later(3600) }), "timestamp_missing");
  const withoutId = pick("X-SMS-Signature", "webhook-timestamp", "webhook-signature");
  assert.equal(reasonOf(withoutId), "timestamp_missing");
  assert.equal(reasonOf(pick("X-SMS-Signature"), { requireTimestamp: true }), "timestamp_missing");
});

test("no signature, or one that is not a signature, is refused", () => {
  assert.equal(reasonOf({}), "signature_missing");
  assert.throws(() => verifyWebhook(body, {}, secret), {
    message: "The webhook-signature or X-SMS-Signature header is missing.",
  });
  for (const junk of ["", "zz", "4fff", `${headers["X-SMS-Signature"]}00`, "é".repeat(64)]) {
    assert.equal(reasonOf({ "x-sms-signature": junk }), "signature_mismatch", junk);
  }
  for (const junk of ["v1", "v1,", "v2,zPsa3ok26q3SPggGDxFQ3LD3Uq3GuycAZGBk+xrrtBI=", " "]) {
    const given = { ...headers, "webhook-signature": junk };
    assert.equal(reasonOf(given), "signature_mismatch", junk);
  }
});

test("a body with any one octet changed, or serialized anew, is refused by both schemes", () => {
  const rewritten = JSON.stringify(JSON.parse(body), null, 1);
  for (const given of [headers, pick("X-SMS-Signature", "X-SMS-Signature-Previous")]) {
    assert.equal(reasonOf(given, { body: rewritten }), "signature_mismatch");
    fc.assert(
      fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const octets = Buffer.from(body);
        octets[place] = (octets[place] ?? 0) ^ change;
        assert.throws(
          () => verifyWebhook(octets, given, secret, { now }),
          WebhookVerificationError,
        );
      }),
    );
  }
});

test("headers are found in Node's form, in fetch's and in any case", () => {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  assert.equal(reasonOf(Object.fromEntries(lower) as WebhookHeaders), "verified");
  assert.equal(reasonOf(new Headers(headers)), "verified");
  const lists = Object.entries(headers).map(([name, value]) => [name, [value]]);
  assert.equal(reasonOf(Object.fromEntries(lists) as WebhookHeaders), "verified");
});

test("a mistake in the receiver's own setup is not reported as a forged request", () => {
  const bodyParsed = JSON.parse(body) as string;
  assert.throws(() => verifyWebhook(bodyParsed, headers, secret), TypeError);
  assert.throws(() => verifyWebhook(body, headers, undefined as unknown as string), TypeError);
  assert.throws(() => verifyWebhook(body, headers, []), TypeError);
  assert.throws(() => verifyWebhook(body, headers, ""), TypeError);
  assert.throws(() => verifyWebhook(body, headers, `${secret}\n`), TypeError);
});

test("a signed body that is not JSON is refused as such", () => {
  const signature = createHmac("sha256", secret).update("rubbish").digest("hex");
  assert.equal(reasonOf({ "x-sms-signature": signature }, { body: "rubbish" }), "body_unreadable");
});

test("what a Standard Webhooks library signs verifies here, and both agree on the vectors", () => {
  fc.assert(
    fc.property(fc.json(), fc.uuid(), (payload, id) => {
      const key = `whsec_${randomBytes(32).toString("base64")}`;
      const signature = new Webhook(key).sign(id, now, payload);
      const given = {
        "webhook-id": id,
        "webhook-timestamp": String(now.getTime() / 1000),
        "webhook-signature": signature,
      };
      assert.deepEqual(verifyWebhook(payload, given, key, { now }), JSON.parse(payload));
    }),
  );
  const theirs = new Webhook(secret).sign(headers["webhook-id"] ?? "", now, body);
  assert.equal(headers["webhook-signature"]?.split(" ")[0], theirs);
});
