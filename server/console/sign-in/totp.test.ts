import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedStep, codeOf, makeSeed, otpauthUrl } from "./totp.ts";

/** The seed "12345678901234567890" of RFC 6238, appendix B, in base32. */
const RFC_SEED = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
const at = (seconds: number) => new Date(seconds * 1000);

test("codes are those of RFC 6238", () => {
  const vectors = [
    [59, "287082"],
    [1_111_111_109, "081804"],
    [1_234_567_890, "005924"],
    [20_000_000_000, "353130"],
  ] as const;

  for (const [seconds, code] of vectors) assert.equal(codeOf(RFC_SEED, at(seconds)), code);
});

test("a code is valid for one step before and after its own, and no longer", () => {
  const seed = makeSeed();
  const code = codeOf(seed, at(3_000));
  const isAccepted = (seconds: number) =>
    acceptedStep(code, { seed, lastStep: 0, now: at(seconds) }) !== undefined;

  assert.deepEqual([2_969, 2_970, 3_000, 3_059, 3_060].map(isAccepted), [
    false,
    true,
    true,
    true,
    false,
  ]);
});

test("an accepted code is not accepted again, nor is an earlier one", () => {
  const seed = makeSeed();
  const now = at(9_000);
  const lastStep = acceptedStep(codeOf(seed, now), { seed, lastStep: 0, now });

  assert.equal(lastStep, 300);
  assert.equal(acceptedStep(codeOf(seed, now), { seed, lastStep, now }), undefined);
  assert.equal(acceptedStep(codeOf(seed, at(8_970)), { seed, lastStep, now }), undefined);
  assert.equal(acceptedStep(codeOf(seed, at(9_030)), { seed, lastStep, now }), 301);
});

test("anything but six digits is no code", () => {
  for (const code of ["", "12345", "1234567", "12345a", "１２３４５６"])
    assert.equal(acceptedStep(code, { seed: RFC_SEED, lastStep: 0, now: at(59) }), undefined);
});

test("the address for the QR code names issuer, e-mail and seed", () => {
  const url = new URL(otpauthUrl(RFC_SEED, "ada+x@example.com"));

  assert.equal(decodeURIComponent(url.pathname), "/Posthorn:ada+x@example.com");
  assert.equal(url.searchParams.get("secret"), RFC_SEED);
  assert.equal(url.searchParams.get("issuer"), "Posthorn");
});
