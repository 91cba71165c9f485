import { isIP } from "node:net";
import { ipv6Groups } from "#platform/light";
import { familyOf, globalIpv6Range, neverRanges, privateRanges } from "./address-table.ts";
import type { EgressPolicy } from "./policy.ts";

/** "allowed" is a private address that the operator named; "public" needs no permission. */
type AddressVerdict = "public" | "allowed" | "forbidden";

type AddressTier = "public" | "private" | "never";

/** Whether we may connect to `ip`. Anything that is not plainly an address is forbidden. */
export function judgeAddress(ip: string, policy: EgressPolicy): AddressVerdict {
  const address = unwrap(ip);
  const tier = tierOf(address);
  if (tier === "public") return "public";
  const isAllowed = tier === "private" && policy.allowed.check(address, familyOf(address));
  return isAllowed ? "allowed" : "forbidden";
}

/** The tier of the address that is really reached: the inner one, if an IPv4 address is mapped. */
export function addressTier(ip: string): AddressTier {
  return tierOf(unwrap(ip));
}

function tierOf(address: string): AddressTier {
  // A zone (fe80::1%eth0) names an interface of this machine; no receiver on the internet has one.
  if (isIP(address) === 0 || address.includes("%")) return "never";
  const family = familyOf(address);
  if (neverRanges.check(address, family)) return "never";
  if (privateRanges.check(address, family)) return "private";
  if (family === "ipv4") return "public";
  return globalIpv6Range.check(address, family) && !isIsatap(address) ? "public" : "never";
}

/** The IPv4 address inside `::ffff:a.b.c.d` and NAT64's `64:ff9b::a.b.c.d`; otherwise `ip`. */
export function unwrap(ip: string): string {
  if (isIP(ip) !== 6 || ip.includes("%")) return ip;
  const groups = ipv6Groups(ip);
  const front = groups.slice(0, 6).join(":");
  if (front !== MAPPED && front !== NAT64) return ip;
  const [high = 0, low = 0] = groups.slice(6);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** The first six groups of each form, in decimal as `ipv6Groups` gives them. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff].join(":");
const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0].join(":");

/** ISATAP hides an IPv4 address behind 0:5efe or 200:5efe under any prefix. */
function isIsatap(address: string): boolean {
  const [, , , , fifth = 0, sixth] = ipv6Groups(address);
  return (fifth & ~0x200) === 0 && sixth === 0x5efe;
}
