import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, BlockList, createServer, type Server, type Socket } from "node:net";
import os from "node:os";
import { test } from "node:test";
import { testEgress } from "../../../test/support/egress.ts";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { connect, connectBudgets, type Egress } from "./connect.ts";
import { judgeUrl } from "./judge-url.ts";
import { systemResolve } from "./resolve.ts";

async function listen(
  host: string,
  port = 0,
): Promise<Server & AsyncDisposable & { port: number; seen: number }> {
  const server = createServer((socket) => {
    listening.seen += 1;
    socket.on("error", () => {}).resume();
    socket.on("end", () => socket.end());
  }).listen(port, host);
  await once(server, "listening");
  const listening = Object.assign(server, {
    port: (server.address() as AddressInfo).port,
    seen: 0,
  });
  return listening;
}

async function attempt(url: string, egress: Egress) {
  const target = judgeUrl(url, egress.policy);
  assert.ok(target.allowed);
  const connected = await connect(target, egress.clock.monotonicMs() + 5_000, egress);
  if ("socket" in connected) connected.socket.destroy();
  return connected;
}

test("a dead address of a name gives way to the next one", async () => {
  await using server = await listen("127.0.0.1");
  const egress = testEgress({ resolve: () => Promise.resolve(["127.0.0.2", "127.0.0.1"]) });

  const connected = await attempt(`http://hooks.example.com:${server.port}/`, egress);

  assert.ok("socket" in connected);
  assert.equal(connected.trace.address, "127.0.0.1");
});

test("dead addresses of one family do not keep the other family from being tried", async () => {
  await using server = await listen("127.0.0.1");
  const addresses = ["::1", "::1", "::1", "::1", "127.0.0.1"];
  const egress = testEgress({ resolve: () => Promise.resolve(addresses) });

  const connected = await attempt(`http://hooks.example.com:${server.port}/`, egress);

  assert.ok("socket" in connected);
});

test("one forbidden address among those of a name refuses them all, and none is called", async () => {
  await using server = await listen("127.0.0.1");
  const egress = testEgress({ resolve: () => Promise.resolve(["127.0.0.1", "10.0.0.1"]) });

  const connected = await attempt(`http://hooks.example.com:${server.port}/`, egress);

  assert.ok("failure" in connected);
  assert.deepEqual(connected.failure, {
    kind: "forbidden",
    detail: "hooks.example.com, which is 10.0.0.1, must not be called",
  });
  assert.equal(server.seen, 0);
});

test("names are looked up as absolute ones, so that no search domain applies", async () => {
  const asked: string[] = [];
  const egress = testEgress({
    resolve: (name) => {
      asked.push(name);
      return Promise.resolve([]);
    },
  });

  const connected = await attempt("http://intranet/", egress);

  assert.deepEqual(asked, ["intranet."]);
  assert.ok("failure" in connected && connected.failure.kind === "failed");
  assert.equal(connected.failure.class, "dns_not_found");
});

test("localhost is an allowed loopback address, and no resolver is asked", async () => {
  await using server = await listen("127.0.0.1");

  const connected = await attempt(`http://app.localhost:${server.port}/`, testEgress());

  assert.equal(connected.trace.address, "127.0.0.1");
});

test("a name that leads to our own port on this machine or a private one is forbidden", async () => {
  await using server = await listen("127.0.0.1");
  for (const ip of ["127.0.0.1", "10.255.255.1"]) {
    const egress = testEgress({
      ownPorts: [server.port],
      allowCidrs: ["127.0.0.0/8", "10.0.0.0/8"],
      resolve: () => Promise.resolve([ip]),
      budgets: { tcpMs: 20 },
    });

    const connected = await attempt(`http://hooks.example.com:${server.port}/`, egress);

    assert.ok("failure" in connected);
    assert.equal(connected.failure.kind, "forbidden");
  }
  assert.equal(server.seen, 0);
});

test("a lookup may take 2 s, a connection 3 s and its handshake 3 s", () => {
  assert.deepEqual(connectBudgets, { dnsMs: 2_000, tcpMs: 3_000, tlsMs: 3_000 });
});

test("a lookup that never ends fails as that, within its own budget", async () => {
  const egress = testEgress({ resolve: () => new Promise(() => {}), budgets: { dnsMs: 20 } });

  const connected = await attempt("http://hooks.example.com/", egress);

  assert.ok("failure" in connected && connected.failure.kind === "failed");
  assert.equal(connected.failure.class, "dns_timeout");
});

test("a lookup whose turn never came is our fault, unless other names of its account are slow", async () => {
  const clock = manualClock();
  const ask = () => new Promise<never>(() => {});
  const resolve = systemResolve({ clock, ask, maxAtOnce: 1 });
  const attempts = [1n, 1n, 2n].map((account, n) =>
    attempt(`http://hooks${n}.example.com/`, { ...testEgress({ resolve }), clock, account }),
  );

  clock.advance(connectBudgets.dnsMs);

  const failures = (await Promise.all(attempts)).map((each) => "failure" in each && each.failure);
  assert.deepEqual(failures, [
    { kind: "failed", class: "dns_timeout", detail: "hooks0.example.com" },
    { kind: "failed", class: "dns_timeout", detail: "hooks1.example.com" },
    { kind: "our_fault", detail: "other lookups held up that of hooks2.example.com" },
  ]);
});

test("the resolver's errors are told apart: no such name, no answer, nothing left here", async () => {
  const kinds = [];
  for (const code of ["ENOTFOUND", "ENODATA", "EAI_AGAIN", "ESERVFAIL", "EMFILE", "DNS_BUSY"]) {
    const egress = testEgress({
      resolve: () => Promise.reject(Object.assign(new Error("lookup"), { code })),
    });
    const connected = await attempt("http://hooks.example.com/", egress);
    assert.ok("failure" in connected);
    kinds.push("class" in connected.failure ? connected.failure.class : connected.failure.kind);
  }

  assert.deepEqual(kinds, [
    "dns_not_found",
    "dns_not_found",
    "dns_failed",
    "dns_failed",
    "our_fault",
    "our_fault",
  ]);
});

test("a refused connection says so", async () => {
  const server = await listen("127.0.0.1");
  await server[Symbol.asyncDispose]();

  const connected = await attempt(`http://127.0.0.1:${server.port}/`, testEgress());

  assert.ok("failure" in connected && connected.failure.kind === "failed");
  assert.equal(connected.failure.class, "connect_refused");
  assert.equal(connected.failure.detail, "ECONNREFUSED 127.0.0.1");
});

test("a refusal at one address counts, even if this machine cannot reach another", async () => {
  const server = await listen("127.0.0.1");
  await server[Symbol.asyncDispose]();
  const egress = testEgress({ resolve: () => Promise.resolve(["127.0.0.2", "127.0.0.1"]) });
  const unreachable = Object.assign(new Error(), { code: "ENETUNREACH" });
  const onFirst = (message: unknown) => {
    unsubscribe("net.client.socket", onFirst);
    process.nextTick(() => (message as { socket: Socket }).socket.destroy(unreachable));
  };
  subscribe("net.client.socket", onFirst);

  const connected = await attempt(`http://hooks.example.com:${server.port}/`, egress);

  assert.partialDeepStrictEqual(connected, {
    failure: { class: "connect_refused" },
    trace: { address: "127.0.0.1" },
  });
});

test("connecting gives up at the attempt's deadline, whatever the budgets say", async () => {
  const egress = testEgress({ resolve: () => new Promise(() => {}) });
  const target = judgeUrl("http://hooks.example.com/", egress.policy);
  assert.ok(target.allowed);

  const connected = await connect(target, egress.clock.monotonicMs() + 10, egress);

  assert.ok("failure" in connected);
});

test("the address at which a socket really ended up is judged as well", async () => {
  await using server = await listen("127.0.0.1");
  const egress = testEgress({ resolve: () => Promise.resolve(["127.0.0.1"]) });
  // Like a redirection on this machine: the address called is allowed, the one reached is not.
  let judged = 0;
  const allowed = Object.assign(new BlockList(), { check: () => (judged += 1) === 1 });

  const connected = await attempt(`http://hooks.example.com:${server.port}/`, {
    ...egress,
    policy: { ...egress.policy, allowed },
  });

  assert.ok("failure" in connected && connected.failure.kind === "forbidden");
});

test("a name with more addresses than any receiver has is not called", async () => {
  await using server = await listen("127.0.0.1");
  const classes = [];
  for (const count of [100, 101]) {
    const addresses = Array.from({ length: count }, () => "127.0.0.1");
    const egress = testEgress({ resolve: () => Promise.resolve(addresses) });
    const connected = await attempt(`http://hooks.example.com:${server.port}/`, egress);
    const failure = "failure" in connected ? connected.failure : null;
    classes.push(failure?.kind === "failed" ? failure.class : failure);
  }

  assert.deepEqual(classes, [null, "dns_failed"]);
  assert.equal(server.seen, 1);
});

test("however many addresses a name has, this machine's own are listed once to judge them", async (t) => {
  const { mock } = t.mock.method(os, "networkInterfaces", () => ({
    eth0: [{ address: "8.8.8.8" }],
  }));
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  const addresses = ["93.184.215.14", "93.184.215.15", "8.8.8.8"];
  const egress = testEgress({ resolve: () => Promise.resolve(addresses), ownPorts: [8443] });

  const connected = await attempt("https://hooks.example.com:8443/", egress);

  assert.ok("failure" in connected && connected.failure.kind === "forbidden");
  assert.equal(mock.callCount(), 1);
});

test("an address of this machine is not called at a port of ours, even if it is a public one", async (t) => {
  const address = "93.184.215.14";
  const { mock } = t.mock.method(os, "networkInterfaces", () => ({ eth0: [{ address }] }));
  mock.mockImplementationOnce(() => {
    throw new Error("this machine's addresses are hidden");
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
  const egress = testEgress({ resolve: () => Promise.resolve([address]), ownPorts: [8443] });

  // The first time they cannot be listed: that may pass.
  const kinds: string[] = [];
  for (const host of ["hooks.example.com", "hooks.example.com", `[::ffff:${address}]`]) {
    const connected = await attempt(`https://${host}:8443/`, egress);
    kinds.push("failure" in connected ? connected.failure.kind : "called");
  }
  assert.deepEqual(kinds, ["our_fault", "forbidden", "forbidden"]);
});
