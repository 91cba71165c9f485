import { remembering } from "#platform";
import { type HmacKey, hmacKey, hmacSha256 } from "./hmac.ts";

export type Signable = {
  /** Stays the same over attempts and replays. */
  eventId: string;
  /** When this attempt is made. */
  timestampSeconds: number;
  /** The stored bytes, exactly as sent. */
  body: Buffer;
  /** The account's live secrets, the newest first; at most two while a rotation overlaps. */
  secrets: readonly string[];
};

/**
 * The headers that prove a webhook's origin. One secret, two keys: `X-SMS-Signature` uses the whole
 * secret string, so that three lines of code verify it; `webhook-signature` uses the bytes that its
 * base64 part decodes to, as Standard Webhooks libraries do.
 */
export function signatureHeaders(signable: Signable): Record<string, string> {
  const { eventId, timestampSeconds, body, secrets } = signable;
  const [secret, previous] = secrets;
  if (secret === undefined) throw new Error(`Event ${eventId} has no secret to be signed with.`);
  const headers: Record<string, string> = {
    "X-SMS-Signature": bodySignature(secret, body),
    "webhook-id": eventId,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": secrets.map((each) => standardSignature(each, signable)).join(" "),
  };
  if (previous !== undefined) headers["X-SMS-Signature-Previous"] = bodySignature(previous, body);
  return headers;
}

function bodySignature(secret: string, body: Buffer): string {
  return hmacSha256(keysOf(secret).whole, [body], "hex");
}

function standardSignature(secret: string, { eventId, timestampSeconds, body }: Signable): string {
  const head = Buffer.from(`${eventId}.${timestampSeconds}.`);
  return `v1,${hmacSha256(keysOf(secret).decoded, [head, body], "base64")}`;
}

type Keys = { whole: HmacKey; decoded: HmacKey };

const PREFIX = "whsec_";

/** Making the keys again for each webhook cost as much as hashing it. */
const keysOf = remembering(1_000, (secret: string): Keys => {
  if (!secret.startsWith(PREFIX))
    throw new Error(`A signing secret does not begin with ${PREFIX}.`);
  const decoded = hmacKey(Buffer.from(secret.slice(PREFIX.length), "base64"));
  return { whole: hmacKey(Buffer.from(secret)), decoded };
});
