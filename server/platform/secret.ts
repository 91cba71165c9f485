import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { Unfit } from "./embedded-postgres/unfit.ts";

/** A value that never prints: logs, errors and JSON show `[secret]`. `reveal` is easy to find. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}

/** The file in the data folder for a `SECRET_KEY` that was generated. */
export const KEY_FILE = "secret.key";

export type SecretBox = {
  /** `context` says what the secret belongs to. A ciphertext moved elsewhere does not open. */
  seal(plain: string, context: string): Buffer;
  open(sealed: Buffer, context: string): string;
  /** The same secret, sealed with the current key; null if it already is. */
  reseal(sealed: Buffer, context: string): Buffer | null;
};

const FORMAT = 1;
const KEY_ID_OCTETS = 4;
const NONCE_OCTETS = 12;
const TAG_OCTETS = 16;
const HEADER_OCTETS = 1 + KEY_ID_OCTETS + NONCE_OCTETS + TAG_OCTETS;

/**
 * Secrets at rest: AES-256-GCM under a key derived from `SECRET_KEY`. Layout: format, key id,
 * nonce, tag, ciphertext. The key id distinguishes a wrong `SECRET_KEY` from a damaged value. While
 * the key is being changed, values sealed with the previous key open too.
 */
export function secretBox(secretKey: Buffer, previousKey?: Buffer): SecretBox {
  const present = sealingKey(secretKey);
  const known = [present, ...(previousKey ? [sealingKey(previousKey)] : [])];
  const keyOf = (sealed: Buffer) =>
    sealed[0] === FORMAT
      ? known.find(({ id }) => sealed.subarray(1, 1 + KEY_ID_OCTETS).equals(id))
      : undefined;

  function seal(plain: string, context: string): Buffer {
    const nonce = randomBytes(NONCE_OCTETS);
    const cipher = createCipheriv("aes-256-gcm", present.key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
    return Buffer.concat([Buffer.of(FORMAT), present.id, nonce, cipher.getAuthTag(), sealed]);
  }

  function open(sealed: Buffer, context: string): string {
    const [idEnd, nonceEnd] = [1 + KEY_ID_OCTETS, 1 + KEY_ID_OCTETS + NONCE_OCTETS];
    const own = keyOf(sealed);
    if (!own) {
      throw new Unfit(
        "A stored secret was sealed with another SECRET_KEY. Set that one as SECRET_KEY_PREVIOUS beside the present one, and run: npx posthorn secrets reseal",
      );
    }
    const decipher = createDecipheriv("aes-256-gcm", own.key, sealed.subarray(idEnd, nonceEnd))
      .setAAD(Buffer.from(context))
      .setAuthTag(sealed.subarray(nonceEnd, HEADER_OCTETS));
    return Buffer.concat([
      decipher.update(sealed.subarray(HEADER_OCTETS)),
      decipher.final(),
    ]).toString();
  }

  return {
    seal,
    open,
    reseal: (sealed, context) =>
      keyOf(sealed) === present ? null : seal(open(sealed, context), context),
  };
}

function sealingKey(secretKey: Buffer): { key: Buffer; id: Buffer } {
  const key = deriveKey(secretKey, "posthorn secrets at rest");
  return { key, id: hash("sha256", key, "buffer").subarray(0, KEY_ID_OCTETS) };
}

/** Derives a key for one purpose from `SECRET_KEY`. */
export function deriveKey(secretKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secretKey, "", purpose, 32));
}
