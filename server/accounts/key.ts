import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const PATTERN = /^sms_[0-9A-Za-z]{36}$/;

/** `sms_`, 30 random characters (178 bits) and their CRC-32, which reveals a damaged key. */
export function makeKey(): string {
  const secret = randomBase62(SECRET_LENGTH);
  return `sms_${secret}${checksum(secret)}`;
}

/** Whether a string can be a key at all, so that garbage never reaches the database. */
export function isWellFormed(key: string): boolean {
  return (
    PATTERN.test(key) && checksum(key.slice(4, 4 + SECRET_LENGTH)) === key.slice(4 + SECRET_LENGTH)
  );
}

/** With 178 random bits a slow hash would add nothing, and would let strangers burn our CPU. */
export function hashKey(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

/** The part of a key that may be stored and shown: its first 8 characters. */
export function keyPrefix(key: string): string {
  return key.slice(0, 8);
}

export function maskKey(prefix: string): string {
  return `${prefix}${"•".repeat(8)}`;
}

function checksum(secret: string): string {
  let rest = crc32(secret);
  let digits = "";
  for (let n = 0; n < CHECKSUM_LENGTH; n += 1) {
    digits = ALPHABET.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Bytes above the largest multiple of 62 are dropped, so each character is equally likely. */
function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const octet of randomBytes(length)) {
      if (octet < 248 && text.length < length) text += ALPHABET.charAt(octet % 62);
    }
  }
  return text;
}
