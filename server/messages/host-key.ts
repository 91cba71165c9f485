import { hash } from "node:crypto";

/**
 * The lane a delivery runs in: one account's way to one scheme, host and port. 48 bits stand for the
 * account, so that no account's failures close a host to another; only 16 for the host, so that a new
 * host name per message cannot make lanes without end. Signed, as PostgreSQL's bigint is.
 */
export function hostKey(accountId: string, url: string): bigint {
  const asked = `${accountId} ${url}`;
  const known = recent.get(asked);
  if (known !== undefined) return known;
  if (recent.size >= MAX_RECENT) recent.clear();
  const key = computeKey(accountId, url);
  recent.set(asked, key);
  return key;
}

/** Asked for at every change of status, mostly with the same few addresses. */
const recent = new Map<string, bigint>();
const MAX_RECENT = 1_000;

function computeKey(accountId: string, url: string): bigint {
  const account = hash("sha256", accountId, "buffer").subarray(0, 6);
  const origin = hash("sha256", URL.parse(url)?.origin ?? url, "buffer").subarray(0, 2);
  return Buffer.concat([account, origin]).readBigInt64BE();
}

/** The account's part of a host key. */
export function accountOf(key: bigint): bigint {
  return key >> 16n;
}
