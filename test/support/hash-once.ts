import crypto, { argon2 } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { callbackify, promisify } from "node:util";

const derive = promisify(argon2);
const derived = new Map<string, Promise<Buffer>>();

/**
 * The same password with the same salt has the same hash, so it is computed once per process.
 * Otherwise the tests would mostly be hashing.
 */
function deriveOnce(...given: Parameters<typeof derive>): Promise<Buffer> {
  const key = JSON.stringify(given);
  const hash = derived.get(key) ?? derive(...given);
  derived.set(key, hash);
  return hash;
}

Object.assign(crypto, { argon2: callbackify(deriveOnce) });
syncBuiltinESMExports();
