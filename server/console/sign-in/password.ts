import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { PASSWORD_LENGTH } from "#contract/words";
import { narrowGate } from "#platform";
import { isCommonPassword } from "./common-passwords.ts";

type Parameters = { memory: number; passes: number; parallelism: number };

/** 19 MiB and two passes: the minimum that OWASP recommends for argon2id. */
const PARAMETERS: Parameters = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_OCTETS = 16;
const HASH_OCTETS = 32;

/** Too many passwords are waiting to be hashed. */
export class TooManyHashes extends Error {
  override name = "TooManyHashes";
}

export type Passwords = {
  /** A PHC string, the only form in which a password is kept. */
  hash(password: string): Promise<string>;
  /** Takes as long for an unknown user, whose hash is undefined, as for a known one. */
  verify(password: string, hash: string | undefined): Promise<boolean>;
};

/** Limits of running and waiting hashes: each takes a core and 19 MiB for a while. */
const MAX_RUNNING = 2;
const MAX_WAITING = 20;

/** Hashing behind a gate: strangers can trigger hashing, but only a few at once. */
export function passwords(derive = deriveHash): Passwords {
  const gate = narrowGate(MAX_RUNNING, MAX_WAITING);
  const through = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const leave = await gate.enter();
    if (!leave) throw new TooManyHashes("Too many passwords are waiting to be hashed.");
    try {
      return await work();
    } finally {
      leave();
    }
  };
  return {
    hash: (password) => through(() => makeHash(password, derive)),
    verify: (password, hash) => through(() => isRight(password, hash ?? UNKNOWN_USER, derive)),
  };
}

/** What is wrong with a new password, in words; empty if it is fine. */
export function judgePassword(password: string, email: string): string[] {
  const plain = password.normalize("NFKC");
  const length = [...plain].length;
  const { min, max } = PASSWORD_LENGTH;
  if (length < min) return [`The password must have at least ${min} characters.`];
  if (length > max) return [`The password must have at most ${max} characters.`];
  if (!plain.isWellFormed()) return ["The password contains half of a character."];
  if (isCommonPassword(plain, email))
    return ["This password is easy to guess. Use several unrelated words."];
  return [];
}

/** Whether a hash was made with parameters other than today's. */
export function isOutdated(hash: string): boolean {
  const read = parse(hash);
  return !read || !equal(read.parameters, PARAMETERS) || read.hash.length !== HASH_OCTETS;
}

async function makeHash(password: string, derive: typeof deriveHash): Promise<string> {
  const salt = randomBytes(SALT_OCTETS);
  const hash = await derive(password, salt, PARAMETERS);
  return format({ parameters: PARAMETERS, salt, hash });
}

async function isRight(
  password: string,
  stored: string,
  derive: typeof deriveHash,
): Promise<boolean> {
  const read = parse(stored);
  if (!read) throw new Error("A stored password is not an argon2id PHC string.");
  const hash = await derive(password, read.salt, read.parameters);
  return hash.length === read.hash.length && timingSafeEqual(hash, read.hash);
}

function deriveHash(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
  const message = Buffer.from(password.normalize("NFKC"));
  return new Promise((resolve, reject) => {
    argon2(
      "argon2id",
      { message, nonce: salt, tagLength: HASH_OCTETS, ...parameters },
      (error, hash) => (error ? reject(error) : resolve(hash)),
    );
  });
}

type Read = { parameters: Parameters; salt: Buffer; hash: Buffer };
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parse(text: string): Read | undefined {
  const [, memory, passes, parallelism, salt, hash] = PHC.exec(text) ?? [];
  if (!salt || !hash) return undefined;
  return {
    parameters: {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
    },
    salt: Buffer.from(salt, "base64"),
    hash: Buffer.from(hash, "base64"),
  };
}

function format({ parameters: { memory, passes, parallelism }, salt, hash }: Read): string {
  const base64 = (octets: Buffer) => octets.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;
}

function equal(a: Parameters, b: Parameters): boolean {
  return a.memory === b.memory && a.passes === b.passes && a.parallelism === b.parallelism;
}

/** The hash of no password; checking against it costs as much as against any other. */
const UNKNOWN_USER = format({
  parameters: PARAMETERS,
  salt: randomBytes(SALT_OCTETS),
  hash: randomBytes(HASH_OCTETS),
});
