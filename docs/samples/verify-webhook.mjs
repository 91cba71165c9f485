import { createHmac, timingSafeEqual } from "node:crypto";

/** Whether the request came from Posthorn within five minutes. `rawBody` is a Buffer. */
export function verifyWebhook(rawBody, headers, secret) {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  const isRecent = Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;
  if (!id || !timestamp || !isRecent) return false;

  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(rawBody);
  const expected = `v1,${hmac.digest("base64")}`;
  // Two signatures while the secret is being rotated; one that matches is enough.
  const given = (headers["webhook-signature"] ?? "").split(" ");
  return given.some((signature) => isEqual(signature, expected));
}

/**
 * The short way: X-SMS-Signature covers the body alone, so an old request passes, too. Try
 * X-SMS-Signature-Previous where it does not match: while the secret is being rotated, the old one made that.
 */
export function verifyBody(rawBody, signature, secret) {
  const expected = createHmac("sha256", secret).update(rawBody).digest("hex");
  return isEqual(signature ?? "", expected);
}

function isEqual(given, expected) {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
