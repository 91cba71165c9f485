import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createServer } from "node:tls";

import { startSmsc } from "#carriers";
import { Secret, systemClock } from "#platform";

import { type Authority, makeAuthority, selfSigned } from "../../../test/support/certificates.ts";
import { startRawServer } from "../../../test/support/raw-server.ts";
import { smppSettings } from "../../../test/support/smpp.ts";
import { dial } from "./connect.ts";
import { type BindTest, testBind } from "./test-bind.ts";

async function bindTo(
  server: { key: string; cert: string; ca?: string; requestCert?: boolean },
  given: Record<string, unknown>,
): Promise<BindTest> {
  await using smsc = await startSmsc({ tls: server });
  return await bindAt(smsc, { tls: true, ...given });
}

function bindAt({ port }: { port: number }, given: Record<string, unknown>): Promise<BindTest> {
  const settings = smppSettings({ port, ...given });
  return testBind({
    settings,
    password: new Secret("secret"),
    clock: systemClock,
    isHeld: async () => false,
  });
}

const authority: Authority = makeAuthority();
const server = authority.issue({ names: ["smsc.example", "127.0.0.1"] });

test("a certificate from an authority named in the carrier's settings is trusted", async () => {
  const { isBound, sentence } = await bindTo(server, { tls_ca: authority.cert });

  assert.ok(isBound, sentence);
});

test("the name in the certificate may be set apart from the host", async () => {
  for (const name of ["smsc.example", "192.0.2.7"]) {
    const named = authority.issue({ names: [name] });

    const wrong = await bindTo(named, { tls_ca: authority.cert });
    const right = await bindTo(named, { tls_ca: authority.cert, tls_server_name: name });

    assert.equal(wrong.isBound, false, "the certificate does not bear the address");
    assert.ok(right.isBound, right.sentence);
  }
});

test("the SMSC is told the name that is expected of it, for it may have several certificates", async () => {
  const asked: string[] = [];
  const listening = createServer({
    ...server,
    SNICallback(name, answer) {
      asked.push(name);
      answer(null);
    },
  }).listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  const { socket } = dial(
    smppSettings({ port, tls: true, tls_ca: authority.cert, tls_server_name: "smsc.example" }),
  );
  await once(socket, "secureConnect");
  socket.destroy();
  listening.close();

  assert.deepEqual(asked, ["smsc.example"]);
});

test("a certificate that nobody vouches for is refused, and the password is never sent", async () => {
  const { isBound, sentence } = await bindTo(selfSigned(["127.0.0.1"]), {});

  assert.equal(isBound, false);
  assert.match(sentence, /certificate is signed by itself alone/);
});

test("an expired certificate is refused", async () => {
  const expired = authority.issue({
    names: ["127.0.0.1"],
    notBefore: new Date("2020-01-01T00:00:00Z"),
    notAfter: new Date("2021-01-01T00:00:00Z"),
  });

  const { isBound, sentence } = await bindTo(expired, { tls_ca: authority.cert });

  assert.equal(isBound, false);
  assert.match(sentence, /expired/);
});

test("only an explicit setting lets an untrusted certificate pass", async () => {
  const { isBound, sentence } = await bindTo(selfSigned(["127.0.0.1"]), { tls_verify: "off" });

  assert.ok(isBound, sentence);
});

test("an SMSC that asks for our certificate gets it", async () => {
  const client = authority.issue({ names: ["posthorn.example"] });
  const asking = { ...server, ca: authority.cert, requestCert: true };
  const given = { tls_ca: authority.cert };

  const without = await bindTo(asking, given);
  const withIt = await bindTo(asking, { ...given, tls_cert: client.cert, tls_key: client.key });

  assert.equal(without.isBound, false);
  assert.ok(withIt.isBound, withIt.sentence);
});

test("TLS to a port that does not speak it points at the port and --tls", async () => {
  await using silent = await startRawServer(() => {});
  await using closing = await startRawServer(
    (socket) => void socket.once("data", () => socket.end()),
  );
  await using plain = await startSmsc();

  const told = await Promise.all(
    [silent, closing, plain].map((peer) => bindAt(peer, { tls: true, connect_timeout: "1s" })),
  );

  for (const { isBound, sentence } of told) {
    assert.equal(isBound, false);
    assert.match(sentence, /; perhaps the port speaks no TLS: check the port and --tls\.$/);
  }
});

test("SMPP without TLS to a port that speaks TLS, or that ends the connection, points at --tls", async () => {
  await using sealed = await startSmsc({ tls: server });
  await using closing = await startRawServer(
    (socket) => void socket.once("data", () => socket.end()),
  );

  const told = await Promise.all([sealed, closing].map((peer) => bindAt(peer, {})));

  for (const { isBound, sentence } of told) {
    assert.equal(isBound, false);
    assert.match(sentence, /the port speaks TLS: check the port and --tls\.$/);
  }
});

test("an answer to a bind that is not SMPP is reported as such", async () => {
  await using web = await startRawServer(
    (socket) => void socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
  );

  const { isBound, sentence } = await bindAt(web, {});

  assert.equal(isBound, false);
  assert.match(sentence, /: what answers there does not speak SMPP: check the port and --tls\.$/);
});
