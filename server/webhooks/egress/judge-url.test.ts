import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { blockedPorts } from "./blocked-ports.ts";
import { judgeUrl } from "./judge-url.ts";
import { egressPolicy } from "./policy.ts";

function strict() {
  return egressPolicy({ allowCidrs: [], allowHttp: false, ownPorts: [] });
}

function embedded() {
  return egressPolicy({
    allowCidrs: ["127.0.0.0/8", "::1/128"],
    allowHttp: true,
    ownPorts: [8080, 5432],
  });
}

function codeOf(raw: string, policy = strict()): string {
  const verdict = judgeUrl(raw, policy);
  return verdict.allowed ? "allowed" : verdict.code;
}

function said(raw: string, policy = strict()): string {
  const verdict = judgeUrl(raw, policy);
  return verdict.allowed ? "allowed" : verdict.message;
}

test("an ordinary https URL is allowed and taken apart", () => {
  assert.deepEqual(judgeUrl("https://Hooks.Example.com:8443/sms?x=1", strict()), {
    allowed: true,
    secure: true,
    hostname: "hooks.example.com",
    port: 8443,
    origin: "https://hooks.example.com:8443",
  });
});

test("a URL that the parser would forgive is refused as invalid", () => {
  const urls = [
    "",
    "hooks.example.com/sms",
    "//hooks.example.com/sms",
    "https:hooks.example.com",
    "https:/hooks.example.com",
    "https:///hooks.example.com",
    "https://",
    "https://?x",
    "https://:443/",
    " https://hooks.example.com/",
    "https://hooks.example.com/ ",
    "https://hooks.example.com/a b",
    "https://hooks.example.com/\u00a0",
    "ht\ttps://hooks.example.com/",
    "https://hooks.example\t.com/",
    "https://hooks.example.com/\n",
    "https://hooks.example.com/\0",
    "https:\\\\hooks.example.com/",
    "https://hooks.example.com\\@evil.example/",
    "https://hooks.example.com/\\",
    "https://hooks.example.com/#",
    "https://hooks.example.com/#x",
    "https://hooks.example.com#@evil.example/",
    "https://user@hooks.example.com/",
    "https://user:password@hooks.example.com/",
    "https://@hooks.example.com/",
    "https://hooks..example.com/",
    "https://.example.com/",
    "https://hooks.example.com../",
    `https://${"a".repeat(64)}.example.com/`,
    `https://${"a.".repeat(127)}example.com/`,
    "https://hooks.example.com:99999/",
    "https://hooks.example.com:port/",
    "https://256.1.1.1/",
    "https://1.2.3.4.5/",
    "https://[::1/",
    "https://[::1%25lo]/",
    "https://exa<mple.com/",
    "https://xn--\u00fc/",
    "https://hooks.example.com/\ud800",
    "ftp://hooks.example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_x",
    "javascript:alert(1)",
    "data:text/plain,x",
    "ws://hooks.example.com/",
    `https://hooks.example.com/${"a".repeat(2048 - "https://hooks.example.com/".length + 1)}`,
  ];
  // The origin that most of them share is already known: that must not let the rest through.
  const policy = strict();
  assert.equal(judgeUrl("https://hooks.example.com/", policy).allowed, true);
  for (const url of urls) {
    assert.equal(codeOf(url, policy), "CALLBACK_URL_INVALID", JSON.stringify(url));
  }
});

test("odd but sound URLs are allowed", () => {
  const urls = [
    "https://hooks.example.com",
    "https://hooks.example.com?x=1",
    "https://hooks.example.com/@me",
    "https://hooks.example.com/a%20b?c=%23",
    "https://hooks.example.com/\u00fcber",
    "https://b\u00fccher.example/",
    "HTTPS://HOOKS.EXAMPLE.COM/",
    "https://hooks.example.com./",
    "https://my_host.example.com/",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    `https://hooks.example.com/${"a".repeat(2048 - "https://hooks.example.com/".length)}`,
  ];
  for (const url of urls) assert.equal(codeOf(url), "allowed", url);
});

test("a refusal says what to do about it", () => {
  assert.match(said("https://me:secret@hooks.example.com/"), /verify X-SMS-Signature instead/);
  assert.match(said("https://hooks.example.com/#x"), /remove everything from the #/);
  assert.match(said("https://hooks.example.com/a b"), /percent-encode/);
  assert.match(said("http://hooks.example.com/"), /use https:\/\/.*WEBHOOK_ALLOW_HTTP/);
  assert.match(said("https://10.0.0.1/"), /WEBHOOK_ALLOW_CIDRS/);
  assert.match(said("https://169.254.169.254/"), /never called; use a public one/);
  assert.match(said("https://hooks.example.com:25/"), /use another port/);
  assert.match(said("http://localhost:8080/", embedded()), /belongs to this service/);
  assert.doesNotMatch(said("https://me:secret@hooks.example.com/"), /secret/);
});

test("http is called only if the operator allows it", () => {
  assert.equal(codeOf("http://hooks.example.com/"), "CALLBACK_URL_FORBIDDEN");
  assert.equal(codeOf("http://hooks.example.com/", embedded()), "allowed");
});

test("the blocked ports are those that browsers block, and 0", () => {
  const browsers: { badPortsSet: Set<string> } = createRequire(import.meta.url)(
    "undici/lib/web/fetch/constants.js",
  );

  const theirs = new Set([...browsers.badPortsSet].map(Number)).add(0);

  assert.deepEqual(new Set(blockedPorts), theirs);
  for (const port of theirs) {
    assert.equal(
      codeOf(`https://hooks.example.com:${port}/`),
      "CALLBACK_URL_FORBIDDEN",
      String(port),
    );
  }
});

test("our own ports are refused on every private address, and on no public one", () => {
  for (const host of [
    "127.0.0.1",
    "127.9.9.9",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "localhost",
    "a.localhost",
  ]) {
    assert.equal(codeOf(`http://${host}:8080/`, embedded()), "CALLBACK_URL_FORBIDDEN", host);
    assert.equal(codeOf(`http://${host}:5432/`, embedded()), "CALLBACK_URL_FORBIDDEN", host);
    assert.equal(codeOf(`http://${host}:8081/`, embedded()), "allowed", host);
  }
  assert.equal(codeOf("http://hooks.example.com:8080/", embedded()), "allowed");
});

test("a verdict is the same when asked for again, whatever path follows", () => {
  const path = fc.webPath();
  const host = fc.constantFrom(
    "https://hooks.example.com",
    "https://127.1",
    "http://x.example",
    "https://a@b",
  );
  fc.assert(
    fc.property(host, path, fc.webQueryParameters(), (start, somePath, query) => {
      const policy = strict();
      const first = judgeUrl(start, policy);

      assert.deepEqual(judgeUrl(`${start}${somePath}?${query}`, policy), first);
      assert.deepEqual(judgeUrl(`${start}${somePath}?${query}`, strict()), first);
    }),
    { numRuns: 40 },
  );
});

test("no string makes the judge throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.webUrl()), (raw) => {
      judgeUrl(raw, strict());
      judgeUrl(`https://${raw}`, strict());
    }),
  );
});

test("endless new origins do not make the memory of verdicts grow without end", () => {
  const policy = strict();

  for (let n = 0; n < 10_000; n += 1) judgeUrl(`https://host${n}.example/`, policy);

  assert.ok(policy.verdicts.size <= 4096);
});
