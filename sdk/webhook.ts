import { createHmac, type Hmac, timingSafeEqual } from "node:crypto";
import type { DeliveredEvent, FailedEvent, SentEvent, UndeliveredEvent } from "./model.ts";

/** The body of a webhook; `event` tells the kinds apart. */
export type WebhookEvent = SentEvent | DeliveredEvent | UndeliveredEvent | FailedEvent;

/** Headers as Node, Express, Fastify or `fetch` give them. */
export type WebhookHeaders =
  | Record<string, string | string[] | undefined>
  | { get(name: string): string | null };

export type VerifyOptions = {
  /** How far the sender's clock may be from ours. Default: 300. */
  toleranceSeconds?: number;
  /**
   * Refuse a request without `webhook-id`, `webhook-timestamp` and `webhook-signature`. Without
   * them only the body is signed, so an old request could be replayed to you. Default: false.
   */
  requireTimestamp?: boolean;
  /** Instead of the current time. */
  now?: Date;
};

/** As a framework provides it: text, a `Buffer`, or the result of `await request.arrayBuffer()`. */
export type RawBody = string | Uint8Array | ArrayBuffer;

export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly reason:
    | "signature_missing"
    | "signature_mismatch"
    | "timestamp_missing"
    | "timestamp_outside_tolerance"
    | "body_unreadable";

  constructor(reason: WebhookVerificationError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Verifies that a request came from the service and returns its event; if not, it throws: answer
 * 401. `rawBody` is the body as it arrived, before any JSON parser. While a secret is being rotated,
 * both the old and the new one verify; you can also pass several.
 */
export function verifyWebhook(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: string | string[],
  options: VerifyOptions = {},
): WebhookEvent {
  const body = readBody(rawBody);
  const secrets = readSecrets(secret);
  const header = (name: string) => readHeader(headers, name);
  // A request that names a time must prove it: removing one signature must not bypass that.
  const namesTime = STANDARD_HEADERS.some((name) => header(name) !== null);
  if (namesTime || options.requireTimestamp) verifyStandard(body, header, secrets, options);
  else verifyBodyOnly(body, header, secrets);
  return parseEvent(body);
}

type Header = (name: string) => string | null;

const STANDARD_HEADERS = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/** Standard Webhooks: signs the id and the time too. Its key is the secret's 32 bytes. */
function verifyStandard(body: Buffer, header: Header, secrets: string[], options: VerifyOptions) {
  const [id, timestamp, signature] = STANDARD_HEADERS.map(header);
  if (!id || !timestamp) {
    throw new WebhookVerificationError(
      "timestamp_missing",
      "The webhook-id or webhook-timestamp header is missing.",
    );
  }
  if (!signature) throw missing("webhook-signature");

  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  requireMatch(
    secrets.map((secret) => `v1,${hmac(keyOf(secret), content).digest("base64")}`),
    signature.split(" "),
  );
  judgeTime(timestamp, options);
}

function judgeTime(timestamp: string, { toleranceSeconds = 300, now = new Date() }: VerifyOptions) {
  const distance = Math.abs(now.getTime() / 1000 - Number(timestamp));
  // If it is no number, NaN compares as false, so it is outside too.
  if (distance <= toleranceSeconds) return;
  throw new WebhookVerificationError(
    "timestamp_outside_tolerance",
    `The webhook-timestamp is more than ${toleranceSeconds} seconds from now.`,
  );
}

/** X-SMS-Signature: signs the body alone. Its key is the whole secret string, `whsec_` included. */
function verifyBodyOnly(body: Buffer, header: Header, secrets: string[]) {
  const given = [header("x-sms-signature"), header("x-sms-signature-previous")];
  const signatures = given.filter((each) => each !== null);
  if (signatures.length === 0) throw missing("webhook-signature or X-SMS-Signature");
  requireMatch(
    secrets.map((secret) => hmac(secret, body).digest("hex")),
    signatures,
  );
}

function hmac(key: string | Buffer, content: Buffer): Hmac {
  return createHmac("sha256", key).update(content);
}

/** Compares every pair in full, so that timing reveals nothing. */
function requireMatch(expected: string[], given: string[]): void {
  let matches = false;
  for (const one of expected.map((each) => Buffer.from(each))) {
    for (const other of given.map((each) => Buffer.from(each))) {
      if (one.length === other.length && timingSafeEqual(one, other)) matches = true;
    }
  }
  if (matches) return;
  throw new WebhookVerificationError(
    "signature_mismatch",
    "No signature matches. Is this the raw body, and the signing secret of this account?",
  );
}

function missing(name: string): WebhookVerificationError {
  return new WebhookVerificationError("signature_missing", `The ${name} header is missing.`);
}

function readBody(rawBody: RawBody): Buffer {
  if (typeof rawBody === "string") return Buffer.from(rawBody, "utf8");
  if (rawBody instanceof Uint8Array) return Buffer.from(rawBody);
  if (rawBody instanceof ArrayBuffer) return Buffer.from(rawBody);
  throw new TypeError("rawBody must be the body as it arrived, not an object parsed from it.");
}

const PREFIX = "whsec_";
/** Anchored: with a trailing newline, one scheme would verify and the other would not. */
const SECRET = /^whsec_[\w+/-]+={0,2}$/;

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), "base64");
}

/** A missing secret is a fault of the receiver's setup and must not look like a forged request. */
function readSecrets(secret: string | string[]): string[] {
  const secrets = [secret].flat();
  const areSecrets = secrets.every((each) => typeof each === "string" && SECRET.test(each));
  if (secrets.length > 0 && areSecrets) return secrets;
  throw new TypeError("secret must be the account's signing secret, whsec_…, or a list of them.");
}

function readHeader(headers: WebhookHeaders, name: string): string | null {
  if (typeof headers["get"] === "function") return (headers as Headers).get(name);
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const value: unknown = Array.isArray(found) ? found[0] : found;
  return typeof value === "string" ? value : null;
}

function parseEvent(body: Buffer): WebhookEvent {
  try {
    return JSON.parse(body.toString("utf8")) as WebhookEvent;
  } catch {
    throw new WebhookVerificationError("body_unreadable", "The body is not JSON.");
  }
}
