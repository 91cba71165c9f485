import { createHmac, randomInt } from "node:crypto";

const COUNT = 10;
const LENGTH = 12;
/** Without letters and digits that are taken for each other. */
const ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz";

/** Ten codes of 59 bits, in groups of four. */
export function makeRecoveryCodes(): string[] {
  return Array.from({ length: COUNT }, () => {
    const letters = Array.from({ length: LENGTH }, () =>
      ALPHABET.charAt(randomInt(ALPHABET.length)),
    );
    return letters.join("").replaceAll(/(.{4})(?=.)/g, "$1-");
  });
}

/** As people type it: in any case, with spaces or dashes anywhere. */
export function plainCode(code: string): string {
  return code
    .normalize("NFKC")
    .replaceAll(/[\s\p{Pd}]/gu, "")
    .toLowerCase();
}

/** Keyed, so that a copy of the table alone cannot be searched for codes. */
export function hashRecoveryCode(code: string, key: Buffer): Buffer {
  return createHmac("sha256", key).update(plainCode(code)).digest();
}
