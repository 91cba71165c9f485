import { hash } from "node:crypto";
import { remembering } from "#platform/light";

/**
 * The key of the lane that a delivery runs in: one account's way to one scheme, host and port. 48 bits
 * stand for the account, so that no account's failures close a host to another; only 16 for the host, so
 * that a new host name per message cannot make lanes without end. Signed, as PostgreSQL's bigint is.
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

/** The lanes of an account lie side by side: the lowest and the highest of them. */
export function lanesOf(accountId: string): { first: bigint; last: bigint } {
  const first = accountOf(hostKeyOf(accountId, "")) << 16n;
  return { first, last: first + 0xffffn };
}

/** The account's part of a host key. */
export function accountOf(key: bigint): bigint {
  return key >> 16n;
}
