import { hash } from "node:crypto";

/** Octets of SHA-256's block and of what it makes. */
const [BLOCK, DIGEST] = [64, 32];
const [INNER, OUTER] = [0x36, 0x5c];

/** A key as HMAC wants it: a block to hash before the data, and one before what comes of that. */
export type HmacKey = { readonly inner: Buffer; readonly outer: Buffer };

export function hmacKey(key: Buffer): HmacKey {
  const short = key.length > BLOCK ? hash("sha256", key, "buffer") : key;
  const inner = Buffer.alloc(BLOCK, INNER);
  const outer = Buffer.alloc(BLOCK, OUTER);
  for (let n = 0; n < short.length; n += 1) {
    const octet = short[n] as number;
    inner[n] = octet ^ INNER;
    outer[n] = octet ^ OUTER;
  }
  return { inner, outer };
}

/**
 * HMAC-SHA256 (RFC 2104) out of two one-shot hashes. The library's own makes an object outside the
 * heap for each, which at four signatures a message cost more than all the hashing.
 */
export function hmacSha256(
  { inner, outer }: HmacKey,
  data: readonly Buffer[],
  encoding: "hex" | "base64",
): string {
  const first = hash("sha256", Buffer.concat([inner, ...data]), "latin1");
  const last = Buffer.allocUnsafe(BLOCK + DIGEST);
  outer.copy(last);
  last.write(first, BLOCK, "latin1");
  return hash("sha256", last, encoding);
}
