import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { addressTier, judgeAddress } from "./address.ts";
import { egressPolicy } from "./policy.ts";

const nothingAllowed = egressPolicy({ allowCidrs: [], allowHttp: true, ownPorts: [] });
const everythingAllowed = egressPolicy({
  allowCidrs: ["0.0.0.0/0", "::/0"],
  allowHttp: true,
  ownPorts: [],
});

/** The first and last address of each range, and the neighbours just outside. */
const never = [
  ["0.0.0.0", "0.255.255.255"],
  ["100.100.100.200", "100.100.100.200"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.255"],
  ["fd00:ec2::", "fd00:ec2:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42"],
  ["fd00:a9fe:a9fe::1", "fd00:100::100:200"],
  ["::", "::"],
  ["::2", "::fffe:ffff:ffff"],
  ["64:ff9b:1::", "64:ff9b:1:ffff::ffff"],
  ["100::", "1fff:ffff::"],
  ["2001::", "2001:1ff:ffff::"],
  ["2001:db8::", "2001:db8:ffff::1"],
  ["2002::", "2002:ffff::1"],
  ["3fff::", "3fff:fff::1"],
  ["4000::", "fbff:ffff::"],
  ["fe00::", "fe80::1"],
  ["fec0::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2a00:1450:4001:800:0:5efe:808:808", "2a00:1450:4001:800:200:5efe:808:808"],
].flat();

const privates = [
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["::1", "0:0:0:0:0:0:0:1"],
  ["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
].flat();

const publics = [
  ["1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
  [
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
  ],
  ["172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255"],
  [
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
  ],
  ["198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "8.8.8.8"],
  ["2000::1", "2001:200::1", "2001:db7:ffff::", "2001:db9::", "2003::1", "3ffe:ffff::1"],
  ["3fff:1000::1", "2606:4700:4700::1111", "2a00:1450:4001:800::200e"],
].flat();

test("link-local, metadata, multicast and reserved addresses are never called, whatever is allowed", () => {
  for (const ip of never) {
    assert.equal(addressTier(ip), "never", ip);
    assert.equal(judgeAddress(ip, everythingAllowed), "forbidden", ip);
  }
});

test("private addresses are called only if the operator allows them", () => {
  for (const ip of privates) {
    assert.equal(judgeAddress(ip, nothingAllowed), "forbidden", ip);
    assert.equal(judgeAddress(ip, everythingAllowed), "allowed", ip);
  }
});

test("public addresses need no permission", () => {
  for (const ip of publics) assert.equal(judgeAddress(ip, nothingAllowed), "public", ip);
});

test("an allowed range opens exactly itself", () => {
  const policy = egressPolicy({
    allowCidrs: ["10.1.0.0/16", "fd12::/32", "::1/128"],
    allowHttp: true,
    ownPorts: [],
  });

  const verdicts = ["10.1.0.0", "10.1.255.255", "fd12::9", "::1"].map((ip) =>
    judgeAddress(ip, policy),
  );
  const others = ["10.0.255.255", "10.2.0.0", "fd13::9", "127.0.0.1"].map((ip) =>
    judgeAddress(ip, policy),
  );

  assert.deepEqual(new Set(verdicts), new Set(["allowed"]));
  assert.deepEqual(new Set(others), new Set(["forbidden"]));
});

test("anything that is not plainly an address is forbidden", () => {
  for (const ip of [
    "",
    "localhost",
    "127.1",
    "0x7f000001",
    "[::1]",
    "::1%lo",
    "2a00::1%eth0",
    "1.2.3.4 ",
  ]) {
    assert.equal(judgeAddress(ip, everythingAllowed), "forbidden", ip);
  }
});

test("an IPv4 address mapped into IPv6 or behind NAT64 is judged as itself, in every spelling", () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.boolean(), (ip, isAllowed) => {
      const policy = isAllowed ? everythingAllowed : nothingAllowed;
      const [a = 0, b = 0, c = 0, d = 0] = ip.split(".").map(Number);
      const [high, low] = [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16));
      const spellings = [
        `::ffff:${ip}`,
        `::FFFF:${ip}`,
        `::ffff:${high}:${low}`,
        `0:0:0:0:0:ffff:${ip}`,
        `0000::0000:ffff:${high}:${low}`,
        `64:ff9b::${ip}`,
        `64:ff9b::${high}:${low}`,
        `0064:FF9B:0:0:0:0:${high}:${low}`,
      ];

      const expected = judgeAddress(ip, policy);
      for (const spelling of spellings)
        assert.equal(judgeAddress(spelling, policy), expected, spelling);
    }),
  );
});

test("every other form that embeds an IPv4 address is forbidden, even around a public one", () => {
  for (const ip of [
    "::8.8.8.8",
    "2002:808:808::1",
    "2001:0:808:808::1",
    "64:ff9b:1::808:808",
    "::ffff:0:8.8.8.8",
  ]) {
    assert.equal(judgeAddress(ip, everythingAllowed), "forbidden", ip);
  }
});
