import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { type Records, startDnsServer } from "../../../test/support/dns-server.ts";
import { resolveBy, testEgress } from "../../../test/support/egress.ts";
import { type Attempt, poster } from "../post.ts";
import { connect } from "./connect.ts";
import { judgeUrl } from "./judge-url.ts";

// A canary listens on every address of this machine. No URL of these tables may reach it, neither
// through the judge at accept, nor through the worker, nor straight through `connect`.

let canary: { port: number; connections: string[]; close(): Promise<void> };

before(async () => {
  const connections: string[] = [];
  const server = createServer((socket) => {
    connections.push(socket.remoteAddress ?? "unknown");
    socket.destroy();
  });
  server.listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  canary = { port, connections, close: () => server[Symbol.asyncDispose]() };
});

after(() => canary.close());

/** Hosts that are refused at accept: loopback, private, metadata and reserved in every spelling. */
const literals = [
  [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
  ],
  [
    "0x7F.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.0.0.01",
    "017700000001",
    "0x7f.0.0.0x1",
    "00000177.0.0.1",
  ],
  ["①②⑦.0.0.1", "１２７.０.０.１", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "%31%32%37.0.0.1"],
  ["127.0.0.%31", "0", "0.0.0.0", "0x0", "00", "0.0.0.0.", "0.1.2.3"],
  ["localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost.", "%6c%6f%63%61lhost"],
  ["local\u00adhost", "ｌｏｃａｌｈｏｓｔ", "loc\u200balhost"],
  [
    "10.0.0.1",
    "10.1",
    "0xa000001",
    "012.0.0.1",
    "167772161",
    "172.16.0.1",
    "172.31.255.255",
    "2886729729",
  ],
  ["192.168.0.1", "192.168.1", "3232235521", "0xc0a80001", "100.64.0.1", "100.127.255.255"],
  [
    "169.254.169.254",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "0xa9.254.0251.254",
  ],
  [
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
  ],
  [
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "4294967295",
  ],
  ["[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[::]", "[0::0]", "[::127.0.0.1]", "[::7f00:1]"],
  [
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:10.0.0.1]",
  ],
  [
    "[::ffff:0.0.0.0]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b::10.0.0.1]",
  ],
  [
    "[64:ff9b:1::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:7f00:1::]",
  ],
  [
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2001:db8::1]",
    "[2001:10::1]",
    "[2001:2::1]",
    "[3fff::1]",
  ],
  ["[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[fdff::1]", "[fe80::1]", "[febf::1]", "[fec0::1]"],
  [
    "[ff02::1]",
    "[ff0e::1]",
    "[100::1]",
    "[5f00::1]",
    "[4000::1]",
    "[2a00:1450::5efe:7f00:1]",
    "[2a00::200:5efe:a00:1]",
  ],
].flat();

/** Names that mean no good, as a name server tells them. */
const zone: Record<string, Records> = {
  "loopback.example": ["127.0.0.1"],
  "loopback6.example": ["::1"],
  "private.example": ["10.0.0.1"],
  "shared.example": ["100.64.0.1"],
  "metadata.example": ["169.254.169.254"],
  "metadata6.example": ["fd00:ec2::254"],
  "any.example": ["0.0.0.0"],
  "any6.example": ["::"],
  "mapped.example": ["::ffff:127.0.0.1"],
  "nat64.example": ["64:ff9b::7f00:1"],
  "compatible.example": ["::7f00:1"],
  "sixtofour.example": ["2002:7f00:1::"],
  "multicast.example": ["224.0.0.1"],
  "broadcast.example": ["255.255.255.255"],
  "mixed.example": ["8.8.8.8", "127.0.0.1"],
  "mixed6.example": ["8.8.8.8", "::1"],
  "mixed-last.example": ["8.8.8.8", "8.8.4.4", "1.1.1.1", "10.0.0.1"],
  "127.0.0.1.nip.example": ["127.0.0.1"],
  "chain.example": ["CNAME chain2.example", "127.0.0.1"],
  "xn--bcher-kva.example": ["127.0.0.1"],
};

test("no spelling of a forbidden address is accepted, posted to or connected to", async () => {
  assert.ok(literals.length >= 110, `${literals.length} literals`);
  const egress = testEgress({ allowCidrs: [] });
  const worker = poster({ ...egress, showPrivateAnswers: true });
  for (const host of literals) {
    for (const scheme of ["http", "https"]) {
      const url = `${scheme}://${host}:${canary.port}/hook`;
      const verdict = judgeUrl(url, egress.policy);
      assert.equal(verdict.allowed ? "allowed" : verdict.code, "CALLBACK_URL_FORBIDDEN", url);
      const attempt = await worker.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });
      assert.equal(attempt.outcome.kind, "forbidden", url);
    }
    const hostname = new URL(`http://${host}`).hostname.replaceAll(/[[\]]|\.$/g, "");
    const target = {
      allowed: true,
      secure: false,
      hostname,
      port: canary.port,
      origin: "",
    } as const;
    const connected = await connect(target, egress.clock.monotonicMs() + 1_000, egress);
    assert.ok("failure" in connected && connected.failure.kind === "forbidden", host);
  }
  await worker.close();

  assert.deepEqual(canary.connections, []);
});

test("a name that resolves to a forbidden address is refused at every connection", async () => {
  await using dns = await startDnsServer(zone);
  const egress = testEgress({ allowCidrs: [], resolve: resolveBy(dns.address) });
  const worker = poster({ ...egress, showPrivateAnswers: true });
  for (const name of Object.keys(zone)) {
    const url = `http://${name}:${canary.port}/hook`;
    assert.equal(judgeUrl(url, egress.policy).allowed, true, url);
    const attempt = await worker.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });
    assert.equal(attempt.outcome.kind, "forbidden", url);
  }
  await worker.close();

  assert.deepEqual(canary.connections, []);
});

test("accepting a name asks nobody", async () => {
  await using dns = await startDnsServer(zone);
  const egress = testEgress({ resolve: resolveBy(dns.address) });

  for (const name of Object.keys(zone)) judgeUrl(`https://${name}/`, egress.policy);

  assert.deepEqual(dns.asked, []);
});

test("with one private address allowed exactly that one is called, and metadata stays refused", async () => {
  await using receiver = await startReceiver("127.0.0.2");
  await using dns = await startDnsServer({
    "allowed.example": ["127.0.0.2"],
    "neighbour.example": ["127.0.0.1"],
    "both.example": ["127.0.0.2", "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
  });
  const egress = testEgress({
    allowCidrs: ["127.0.0.2/32", "169.254.0.0/16"],
    resolve: resolveBy(dns.address),
  });
  const worker = poster({ ...egress, showPrivateAnswers: true });
  const kinds: Record<string, string> = {};
  for (const host of [
    "allowed.example",
    "neighbour.example",
    "both.example",
    "metadata.example",
    "127.0.0.2",
    "127.0.0.1",
    "169.254.169.254",
  ]) {
    const attempt = await post(worker, `http://${host}:${receiver.port}/hook`);
    kinds[host] = attempt.outcome.kind;
  }
  await worker.close();

  assert.deepEqual(kinds, {
    "allowed.example": "answered",
    "neighbour.example": "forbidden",
    "both.example": "forbidden",
    "metadata.example": "forbidden",
    "127.0.0.2": "answered",
    "127.0.0.1": "forbidden",
    "169.254.169.254": "forbidden",
  });
});

test("a name that changes its address between connections is judged at each of them", async () => {
  await using receiver = await startReceiver("127.0.0.2");
  await using dns = await startDnsServer({
    "rebind.example": alternating("127.0.0.2", "127.0.0.1"),
  });
  const egress = testEgress({
    allowCidrs: ["127.0.0.2/32"],
    resolve: resolveBy(dns.address, ["A"]),
  });
  const kinds = [];
  for (let n = 0; n < 4; n += 1) {
    const worker = poster({ ...egress, showPrivateAnswers: true });
    const attempt = await post(worker, `http://rebind.example:${receiver.port}/hook`);
    kinds.push(attempt.outcome.kind);
    await worker.close();
  }

  assert.deepEqual(kinds, ["answered", "forbidden", "answered", "forbidden"]);
  assert.deepEqual(receiver.localAddresses, ["127.0.0.2", "127.0.0.2"]);
});

function post(worker: ReturnType<typeof poster>, url: string): Promise<Attempt> {
  return worker.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });
}

function alternating(...addresses: string[]): () => string[] {
  let asked = 0;
  return () => [addresses[asked++ % addresses.length] ?? ""];
}

/** Notes on which of its addresses it was called. */
async function startReceiver(host: string) {
  const localAddresses: string[] = [];
  const server = createServer((socket) => {
    localAddresses.push(socket.localAddress ?? "unknown");
    socket.on("error", () => {});
    socket.once("data", () => socket.end("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"));
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, localAddresses, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
