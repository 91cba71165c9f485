import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const STEP_SECONDS = 30;
const SEED_OCTETS = 20;
/** The clocks of phones drift: the codes before and after the current one are valid too. */
const DRIFT_STEPS = 1;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The seed of a second factor, in the base32 that authenticators take. */
export function makeSeed(): string {
  return base32(randomBytes(SEED_OCTETS));
}

/** What authenticators read from a QR code (RFC 6238 with its usual parameters). */
export function otpauthUrl(seed: string, email: string): string {
  const label = encodeURIComponent(`Posthorn:${email}`);
  return `otpauth://totp/${label}?secret=${seed}&issuer=Posthorn&algorithm=SHA1&digits=6&period=${STEP_SECONDS}`;
}

/**
 * The time step of a code that is valid now and whose step is later than `lastStep`, so that no
 * code works twice. Undefined if it is wrong.
 */
export function acceptedStep(
  code: string,
  { seed, lastStep, now }: { seed: string; lastStep: number; now: Date },
): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined;
  const current = Math.floor(now.getTime() / 1000 / STEP_SECONDS);
  const key = fromBase32(seed);
  for (let step = current - DRIFT_STEPS; step <= current + DRIFT_STEPS; step += 1) {
    const isRight = timingSafeEqual(Buffer.from(codeAt(key, step)), Buffer.from(code));
    if (isRight && step > lastStep) return step;
  }
  return undefined;
}

export function codeOf(seed: string, now: Date): string {
  return codeAt(fromBase32(seed), Math.floor(now.getTime() / 1000 / STEP_SECONDS));
}

function codeAt(key: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

function base32(octets: Buffer): string {
  let bits = "";
  for (const octet of octets) bits += octet.toString(2).padStart(8, "0");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => ALPHABET.charAt(Number.parseInt(group.padEnd(5, "0"), 2)))
    .join("");
}

function fromBase32(text: string): Buffer {
  let bits = "";
  for (const letter of text) bits += ALPHABET.indexOf(letter).toString(2).padStart(5, "0");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((group) => Number.parseInt(group, 2)));
}
