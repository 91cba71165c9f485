import { hash, randomInt } from "node:crypto";

const COUNT = 10;
const LENGTH = 16;
/** Without letters and digits that are easily confused. */
const ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz";

/** Ten codes of 79 bits, in groups of four. */
export function makeRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => {
    const letters = Array.from({ length: LENGTH }, () =>
      ALPHABET.charAt(randomInt(ALPHABET.length)),
    );
    return letters.join("").replaceAll(/(.{4})(?=.)/g, "$1-");
  });
}

/** Normalizes a code as people type it: any case, with spaces or dashes anywhere. */
export function plainCode(code: string): string {
  return code
    .normalize("NFKC")
    .replaceAll(/[\s\p{Pd}]/gu, "")
    .toLowerCase();
}

/**
 * A copied table cannot be searched for so many possible codes, so a fast hash is enough. It uses
 * no key, as changing that would void all codes. The user's id makes each user a separate search.
 */
export function hashRecoveryCode(code: string, userId: string): Buffer {
  return hash("sha256", `${userId} ${plainCode(code)}`, "buffer");
}
