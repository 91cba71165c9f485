import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionProblem } from "./connection-problem.ts";

const failed = (code: string, message = "") => Object.assign(new Error(message), { code });

test("a failed connection is described in plain words, with its code behind them", () => {
  const told = ["ECONNRESET", "ECONNREFUSED", "ENOTFOUND", "CERT_HAS_EXPIRED"].map((code) =>
    connectionProblem(failed(code, `connect ${code} 127.0.0.1:2775`)),
  );

  assert.deepEqual(told, [
    "the carrier reset the connection (ECONNRESET)",
    "the carrier refused the connection (ECONNREFUSED)",
    "nobody knows the carrier's host name (ENOTFOUND)",
    "the carrier's certificate has expired (CERT_HAS_EXPIRED)",
  ]);
});

test("a failure of a host with several addresses, which has no message, is described by its code", () => {
  const several = Object.assign(new AggregateError([failed("ECONNREFUSED")]), {
    code: "ECONNREFUSED",
  });

  assert.equal(connectionProblem(several), "the carrier refused the connection (ECONNREFUSED)");
});

test("an error without words of its own keeps its code, or failing that its message", () => {
  const tls = connectionProblem(failed("ERR_SSL_WRONG_VERSION_NUMBER", "C0E1:error:0A00010B:SSL"));
  const pem = connectionProblem(failed("ERR_OSSL_PEM_NO_START_LINE"));

  assert.equal(tls, "no TLS connection came about (ERR_SSL_WRONG_VERSION_NUMBER)");
  assert.equal(pem, "a certificate or key cannot be read (ERR_OSSL_PEM_NO_START_LINE)");
  assert.equal(connectionProblem(failed("EWEIRD")), "the connection failed (EWEIRD)");
  assert.equal(connectionProblem(failed("toString")), "the connection failed (toString)");
  assert.equal(connectionProblem(new Error("odd")), "the connection failed: odd");
  assert.equal(connectionProblem(undefined), "the connection failed: undefined");
});
