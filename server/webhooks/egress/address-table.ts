import { BlockList, isIP } from "node:net";

/** No setting opens these: link-local, metadata services, multicast, and unassigned ranges. */
const NEVER_IPV4 = [
  "0.0.0.0/8",
  "100.100.100.200/32", // Alibaba Cloud's metadata service, within the shared range
  "168.63.129.16/32", // Azure's platform services, a public address that only its guests can reach
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** Exceptions within the only two IPv6 ranges that may be called: 2000::/3 and the private one. */
const NEVER_IPV6 = [
  // Metadata services within the private range.
  "fd00:ec2::/32", // AWS, with the credentials of its pods
  "fd20:ce::254/128", // Google Cloud
  "fd00:c1::a9fe:a9fe/128", // Oracle Cloud
  "fd00:42::42/128", // Scaleway
  "fd00:a9fe:a9fe::1/128", // Akamai, formerly Linode
  "fd00:100::100:200/128", // Alibaba Cloud
  "2001::/23", // Teredo and other protocols that carry an IPv4 address inside
  "2001:db8::/32",
  "2002::/16", // 6to4
  "3fff::/20",
];

/** Ranges that a setting can open: loopback, private and CGNAT addresses. */
export const PRIVATE = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "::1/128",
  "fc00::/7",
];

/**
 * Whether allowing the range, `address/prefix`, opens anything: it lies within a private range or
 * contains one, and is not part of a range that nothing opens.
 */
export function opensPrivate(cidr: string): boolean {
  const isClosed = NEVER.some((range) => holds(range, cidr));
  return !isClosed && PRIVATE.some((range) => holds(range, cidr) || holds(cidr, range));
}

/** Whether `narrower` lies entirely within `wider`. */
function holds(wider: string, narrower: string): boolean {
  const [base = "", bits = ""] = wider.split("/");
  const [address = "", prefix = ""] = narrower.split("/");
  const isNarrower = isIP(base) === isIP(address) && Number(prefix) >= Number(bits);
  return isNarrower && ranges([wider]).check(address, familyOf(base));
}

const NEVER = [...NEVER_IPV4, ...NEVER_IPV6];
export const neverRanges = ranges(NEVER);
export const privateRanges = ranges(PRIVATE);
/** All publicly assigned IPv6; addresses outside it are never called. */
export const globalIpv6Range = ranges(["2000::/3"]);

/** One list of ranges, each `address/prefix`. */
export function ranges(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", prefix] = cidr.split("/");
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

export function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}
