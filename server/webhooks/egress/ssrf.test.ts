import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { startCanary } from "../../../test/support/canary.ts";
import { startDnsServer } from "../../../test/support/dns-server.ts";
import { resolveBy, testEgress } from "../../../test/support/egress.ts";
import { hostileHosts, hostileZone } from "../../../test/support/hostile-hosts.ts";
import { type Attempt, poster } from "../post.ts";
import { connect } from "./connect.ts";
import { judgeUrl } from "./judge-url.ts";

// A canary listens on every address of this machine. No URL of these tables may reach it: not
// through the judge at accept, not through the worker, and not directly through `connect`.

let canary: Awaited<ReturnType<typeof startCanary>>;

before(async () => {
  canary = await startCanary();
});

after(() => canary[Symbol.asyncDispose]());

test("no spelling of a forbidden address is accepted, posted to or connected to", async () => {
  assert.ok(hostileHosts.length >= 110, `${hostileHosts.length} hosts`);
  const egress = testEgress({ allowCidrs: [] });
  const worker = poster(egress);
  for (const host of hostileHosts) {
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
    const connected = await connect(target, egress.clock.monotonicMs() + 30_000, egress);
    assert.ok("failure" in connected && connected.failure.kind === "forbidden", host);
  }
  await worker.close();

  assert.deepEqual(canary.connections, []);
});

test("a name that resolves to a forbidden address is refused at every connection", async () => {
  await using dns = await startDnsServer(hostileZone);
  const egress = testEgress({ allowCidrs: [], resolve: resolveBy(dns.address) });
  const worker = poster(egress);
  for (const name of Object.keys(hostileZone)) {
    const url = `http://${name}:${canary.port}/hook`;
    assert.equal(judgeUrl(url, egress.policy).allowed, true, url);
    const attempt = await worker.post({ hostKey: 1n, url, headers: {}, body: Buffer.from("{}") });
    assert.equal(attempt.outcome.kind, "forbidden", url);
  }
  await worker.close();

  assert.deepEqual(canary.connections, []);
});

test("accepting a name asks no resolver", async () => {
  await using dns = await startDnsServer(hostileZone);
  const egress = testEgress({ resolve: resolveBy(dns.address) });

  for (const name of Object.keys(hostileZone)) judgeUrl(`https://${name}/`, egress.policy);

  assert.deepEqual(dns.asked, []);
});

test("if one private address is allowed, exactly that one is called, and metadata stays refused", async () => {
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
  const worker = poster(egress);
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
    const worker = poster(egress);
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

/** Records on which of its addresses it was called. */
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
