import { hash } from "node:crypto";

/** Octets of SHA-256's block and of what it makes. */
const [BLOCK, DIGEST] = [64, 32];
const [INNER, OUTER] = [0x36, 0x5c];

/**
 * HMAC-SHA256 (RFC 2104) out of two one-shot hashes. The library's own makes an object outside the
 * heap for each, which at four signatures a message cost more than all the hashing.
 */
export function hmacSha256(key: Buffer, data: Buffer, encoding: "hex" | "base64"): string {
  const short = key.length > BLOCK ? hash("sha256", key, "buffer") : key;
  const inner = Buffer.allocUnsafe(BLOCK + data.length).fill(INNER, 0, BLOCK);
  const outer = Buffer.allocUnsafe(BLOCK + DIGEST).fill(OUTER, 0, BLOCK);
  for (let n = 0; n < short.length; n += 1) {
    const octet = short[n] as number;
    inner[n] = octet ^ INNER;
    outer[n] = octet ^ OUTER;
  }
  data.copy(inner, BLOCK);
  outer.write(hash("sha256", inner, "latin1"), BLOCK, "latin1");
  return hash("sha256", outer, encoding);
}
