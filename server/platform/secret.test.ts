import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import { deriveKey, Secret, secretBox } from "./secret.ts";

const KEY = Buffer.alloc(32, 1);

test("a secret is never printed, however it is written out", () => {
  const secret = new Secret("whsec_hidden");

  const written = [
    String(secret),
    secret.toString(),
    JSON.stringify({ secret }),
    inspect({ secret }),
    inspect(secret, { showHidden: true }),
    Object.entries(secret).join(","),
  ].join(" ");
  assert.doesNotMatch(written, /hidden/);
  assert.match(written, /\[secret\]/);
  assert.equal(secret.reveal(), "whsec_hidden");
});

test("a sealed value opens again with the same key and context", () => {
  const box = secretBox(KEY);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string(), (plain, context) => {
      assert.equal(secretBox(KEY).open(box.seal(plain, context), context), plain);
    }),
  );
});

test("what an earlier version sealed still opens", () => {
  const sealed = "01104fcea174a283205c5e8658fd33b8e797927d2c78eb1045597d8ac64202d205946a958b42aa";

  assert.equal(secretBox(KEY).open(Buffer.from(sealed, "hex"), "place"), "secret");
});

test("sealing twice gives two ciphertexts", () => {
  const box = secretBox(KEY);

  assert.notDeepEqual(box.seal("same", "place"), box.seal("same", "place"));
});

test("a ciphertext moved elsewhere, or with any bit changed, does not open", () => {
  const box = secretBox(KEY);
  const sealed = box.seal("secret", "account 1");
  assert.throws(() => box.open(sealed, "account 2"));
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.throws(() => box.open(changed, "account 1"), `bit ${bit}`);
  }
  for (let length = 0; length < sealed.length; length += 1) {
    assert.throws(() => box.open(sealed.subarray(0, length), "account 1"));
  }
});

test("a wrong SECRET_KEY is named as such", () => {
  const sealed = secretBox(KEY).seal("secret", "place");

  assert.throws(
    () => secretBox(Buffer.alloc(32, 2)).open(sealed, "place"),
    /^Unfit: .*another SECRET_KEY/,
  );
});

test("keys for different purposes differ, and are the same each time", () => {
  assert.deepEqual(deriveKey(KEY, "cursors"), deriveKey(KEY, "cursors"));
  assert.notDeepEqual(deriveKey(KEY, "cursors"), deriveKey(KEY, "cookies"));
  assert.equal(deriveKey(KEY, "cursors").length, 32);
});

test("while the key is being changed, values of either key open, and those of the old one are sealed anew", () => {
  const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const sealed = secretBox(oldKey).seal("secret", "place");
  const changing = secretBox(newKey, oldKey);

  const anew = changing.reseal(sealed, "place") ?? assert.fail("it was not sealed anew");

  assert.equal(changing.open(sealed, "place"), "secret");
  assert.equal(secretBox(newKey).open(anew, "place"), "secret");
  assert.equal(changing.reseal(anew, "place"), null);
  assert.throws(() => changing.reseal(sealed, "elsewhere"));
});
