import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeEmail, plainEmail } from "./users.ts";

test("an e-mail is the same in any case and form of its letters", () => {
  for (const written of [" Ada@Example.com", "\uFF21da@example.com"])
    assert.equal(plainEmail(written), "ada@example.com");
  assert.equal(plainEmail("e\u0301mile@example.com"), "\u00E9mile@example.com");
});

test("an e-mail has one @, at most 254 characters, and none that cannot be seen", () => {
  const long = (length: number) => "@example.com".padStart(length, "a");

  for (const good of ["ada@example.com", "\u00E9mile+x@localhost", long(254)])
    assert.deepEqual(judgeEmail(good), [], good);
  for (const bad of ["ada", "ada@", "a@b@c", "a b@c.de", "a@c.", "ada\u200B@c.de", long(255)])
    assert.equal(judgeEmail(bad).length, 1, bad);
});
