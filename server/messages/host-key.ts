import { hash } from "node:crypto";
import { remembering } from "#platform/light";

/**
 * The key of a delivery's lane: one account, scheme, host and port. The account gets 48 bits, so
 * that no account's failures block a host for another. The host gets only 16, so that a new host
 * name per message cannot create endless lanes. Signed, like PostgreSQL's bigint.
 */
export function hostKeyOf(accountId: string, url: string): bigint {
  return keyOf(`${accountId} ${url}`);
}

/** Asked for at every change of status, mostly with the same few addresses. */
const keyOf = remembering(1_000, (asked: string): bigint => {
  const space = asked.indexOf(" ");
  const [accountId, url] = [asked.slice(0, space), asked.slice(space + 1)];
  const account = hash("sha256", accountId, "buffer").subarray(0, 6);
  const origin = hash("sha256", URL.parse(url)?.origin ?? url, "buffer").subarray(0, 2);
  return Buffer.concat([account, origin]).readBigInt64BE();
});

/** The lowest and highest lane of an account; its lanes are contiguous. */
export function lanesOf(accountId: string): { first: bigint; last: bigint } {
  const first = accountOf(hostKeyOf(accountId, "")) << 16n;
  return { first, last: first + 0xffffn };
}

/** The account's part of a host key. */
export function accountOf(key: bigint): bigint {
  return key >> 16n;
}
