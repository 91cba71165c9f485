import { hash } from "node:crypto";

/** The sizes of SHA-256's block and digest, in bytes. */
const [BLOCK, DIGEST] = [64, 32];
const [INNER, OUTER] = [0x36, 0x5c];

/** An HMAC key: a block to hash before the data, and one to hash before the result. */
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
 * HMAC-SHA256 (RFC 2104) from two one-shot hashes. Node's own makes an object outside the heap each
 * time, which at four signatures per message cost more than all the hashing.
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
