import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createServer } from "node:tls";
import { systemClock } from "#platform";
import { selfSigned, slowToVerify } from "../../test/support/certificates.ts";
import { testEgress } from "../../test/support/egress.ts";
import { startRawServer } from "../../test/support/raw-server.ts";
import { systemEgress } from "./egress/system-egress.ts";
import { outcomeClass } from "./outcome.ts";
import { servicePoster } from "./service-poster.ts";
import { threadedPoster } from "./threaded-poster.ts";

const { policy } = testEgress();

function postTo(url: string) {
  return { hostKey: 1n, url, headers: { "X-SMS-Event": "message.sent" }, body: Buffer.from("{}") };
}

test("no TLS handshake is made in the thread that answers requests", async () => {
  await using secure = createServer(selfSigned(["localhost"])).on("tlsClientError", () => {});
  await once(secure.listen(0, "127.0.0.1"), "listening");
  const { port } = secure.address() as AddressInfo;
  await using plain = await startRawServer((socket) => socket.end("HTTP/1.1 204 None\r\n\r\n"));
  const sender = servicePoster(systemEgress(policy, systemClock));
  const ports: (number | undefined)[] = [];
  const note = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once("connect", () => ports.push(socket.remotePort));
  };
  subscribe("net.client.socket", note);

  const classes = [];
  for (const url of [`HTTPS://localhost:${port}/`, `http://127.0.0.1:${plain.port}/`])
    classes.push(outcomeClass((await sender.post(postTo(url))).outcome));
  unsubscribe("net.client.socket", note);
  await sender.close();

  assert.deepEqual(classes, ["tls_certificate_untrusted", null]);
  assert.deepEqual(ports, [plain.port]);
});

test("certificates that are slow to verify hold up no reliable receiver", async () => {
  await using hostile = await startRawServer(() => {}, { tls: slowToVerify() });
  await using other = await startRawServer(() => {}, { tls: selfSigned(["localhost"]) });
  const sender = servicePoster(systemEgress(policy, systemClock));
  const call = (isReliable: boolean, { port } = other) =>
    sender.post({ ...postTo(`https://localhost:${port}/`), isReliable });
  await Promise.all([call(true), call(false)]);
  const ended: string[] = [];

  const slow = call(false, hostile).then(() => ended.push("strange"));
  for (let n = 0; n < 5; n += 1) {
    await call(true);
    ended.push("reliable");
  }
  await slow;
  await sender.close();

  assert.deepEqual(ended, [...Array<string>(5).fill("reliable"), "strange"]);
});

test("an attempt in the thread is reported as it was made: request, answer and times", async () => {
  let seen = "";
  await using server = await startRawServer((socket) => {
    socket.on("data", (data) => {
      seen += data.toString();
      socket.write("HTTP/1.1 200 OK\r\nX-Own: 1\r\nContent-Length: 2\r\n\r\nok");
    });
  });
  const sender = threadedPoster(policy);

  const attempt = await sender.post(postTo(`http://127.0.0.1:${server.port}/hook`));
  await sender.close();

  assert.match(
    seen,
    /^POST \/hook HTTP\/1\.1\r\n[^]*X-SMS-Event: message\.sent\r\n[^]*\r\n\r\n\{\}$/,
  );
  assert.partialDeepStrictEqual(attempt, {
    outcome: { kind: "answered", status: 200 },
    answer: { headers: { "x-own": "1" }, body: Buffer.from("ok") },
    address: "127.0.0.1",
  });
});

test("an attempt that the thread cannot make throws, and the next one is made", async () => {
  await using server = await startRawServer((socket) => socket.end("HTTP/1.1 204 None\r\n\r\n"));
  const sender = threadedPoster(policy);
  const post = postTo(`http://127.0.0.1:${server.port}/`);

  await assert.rejects(sender.post({ ...post, headers: { "X-A": "a\nb" } }), /cannot be sent/);
  const attempt = await sender.post(post);
  await sender.close();

  assert.equal(outcomeClass(attempt.outcome), null);
});

const LOADED_BY_THREAD = `
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      console.log(url);
      return next(url, context);
    },
  });
  await import("./server/webhooks/post-thread.ts");`;

test("the thread loads no package: each thread would load its own, and its first webhook would wait", () => {
  const cwd = join(import.meta.dirname, "../..");
  const args = ["--input-type=module", "--eval", LOADED_BY_THREAD];
  const loaded = execFileSync(process.execPath, args, { cwd, encoding: "utf8" }).split("\n");

  assert.ok(loaded.some((url) => url.endsWith("/server/webhooks/exchange.ts")));
  const packages = loaded.filter((url) => url.includes("/node_modules/"));
  assert.deepEqual(packages, []);
});

test("what ended the thread is reported with the attempts that it took along", async () => {
  const failing = threadedPoster(
    policy,
    new URL("data:text/javascript,throw new Error('No room')"),
  );

  const { outcome } = await failing.post(postTo("http://127.0.0.1:1/"));

  assert.match(outcome.kind === "our_fault" ? outcome.detail : "", /has ended: No room/);
});

test("attempts whose thread ends do not count, and neither do those after the close", async () => {
  const dying = threadedPoster(policy, new URL("data:text/javascript,process.exit(1)"));
  const first = await dying.post(postTo("http://127.0.0.1:1/"));
  const second = await dying.post(postTo("http://127.0.0.1:1/"));
  await using silent = await startRawServer((socket) => socket.resume());
  const sender = threadedPoster(policy);
  const open = sender.post(postTo(`http://127.0.0.1:${silent.port}/`));
  await sender.close();
  const late = sender.post(postTo("http://127.0.0.1:1/"));

  const kinds = [first, second, await open, await late].map(({ outcome }) => outcome.kind);
  assert.deepEqual(kinds, ["our_fault", "our_fault", "our_fault", "our_fault"]);
});
