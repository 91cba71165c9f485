import { hash, randomInt } from "node:crypto";

const COUNT = 10;
const LENGTH = 16;
/** Without letters and digits that are taken for each other. */
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

/** As people type it: in any case, with spaces or dashes anywhere. */
export function plainCode(code: string): string {
  return code
    .normalize("NFKC")
    .replaceAll(/[\s\p{Pd}]/gu, "")
    .toLowerCase();
}

/**
 * Too many codes to be searched for in a copy of the table, so no slow hash is needed; nor a key,
 * with whose change they would all be lost. With the user's id nobody searches for all users at once.
 */
export function hashRecoveryCode(code: string, userId: string): Buffer {
  return hash("sha256", `${userId} ${plainCode(code)}`, "buffer");
}
