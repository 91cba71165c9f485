import { isIPv6 } from "node:net";
import { type Clock, ipv6Groups, keepNewest } from "#platform";

export type FailedAuthentications = {
  perMinute: number;
  /** Counts a failure. Returns the seconds to wait if the address has used up its allowance. */
  count(address: string): number | undefined;
};

/** The most addresses that are remembered. The least recently seen are forgotten first. */
const MAX_ADDRESSES = 10_000;

/** Allowed failures per minute and address. Valid keys are not counted, so nobody is locked out. */
export function failedAuthentications(perMinute: number, clock: Clock): FailedAuthentications {
  const seen = new Map<string, { tokens: number; at: number }>();
  return {
    perMinute,
    count(address) {
      const network = networkOf(address);
      const now = clock.monotonicMs();
      const last = seen.get(network) ?? { tokens: perMinute, at: now };
      const tokens = Math.min(perMinute, last.tokens + ((now - last.at) * perMinute) / 60_000);
      const isAllowed = tokens >= 1;
      seen.delete(network);
      seen.set(network, { tokens: isAllowed ? tokens - 1 : tokens, at: now });
      keepNewest(seen, MAX_ADDRESSES);
      return isAllowed ? undefined : Math.max(1, Math.ceil(((1 - tokens) * 60) / perMinute));
    },
  };
}

/** The network that an address stands for: an IPv6 subscriber usually holds a whole /64. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  if (/^::ffff:/i.test(address)) return address.slice(7);
  return ipv6Groups(address)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":");
}
