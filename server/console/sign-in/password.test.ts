import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutdated, judgePassword, passwords, TooManyHashes } from "./password.ts";

test("a password verifies against its own hash and no other", async () => {
  const { hash, verify } = passwords();
  const stored = await hash("correct horse battery");

  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.equal(await verify("correct horse battery", stored), true);
  assert.equal(await verify("correct horse batterz", stored), false);
});

test("the same password written with other code points is the same password", async () => {
  const { hash, verify } = passwords();
  const stored = await hash("caf\u00E9 au lait 12");

  assert.equal(await verify("cafe\u0301 au lait 12", stored), true);
});

test("an unknown user costs one hash, like a known one", async () => {
  const derived: number[] = [];
  const { hash, verify } = passwords((password, _salt, { memory }) => {
    derived.push(memory);
    return Promise.resolve(Buffer.alloc(32, password));
  });
  const stored = await hash("some password");
  derived.length = 0;

  assert.equal(await verify("wrong", stored), false);
  assert.equal(await verify("wrong", undefined), false);

  assert.deepEqual(derived, [19_456, 19_456]);
});

test("two passwords are hashed at once, twenty wait, and the next is turned away", async () => {
  let running = 0;
  let most = 0;
  const open: (() => void)[] = [];
  const { hash } = passwords(() => {
    running += 1;
    most = Math.max(most, running);
    return new Promise((resolve) => {
      open.push(() => {
        running -= 1;
        resolve(Buffer.alloc(32));
      });
    });
  });

  const tries = Array.from({ length: 23 }, () =>
    hash("x").then(
      () => "hashed",
      (error: unknown) => error,
    ),
  );
  assert.ok((await tries[22]) instanceof TooManyHashes);
  while (open.length > 0) {
    open.shift()?.();
    await new Promise(setImmediate);
  }

  assert.deepEqual(new Set(await Promise.all(tries.slice(0, 22))), new Set(["hashed"]));
  assert.equal(most, 2);
});

test("a hash with weaker parameters is recognised as out of date", async () => {
  const stored = await passwords().hash("correct horse battery");

  assert.equal(isOutdated(stored), false);
  assert.equal(isOutdated(stored.replace("t=2", "t=1")), true);
});

test("a new password has 12 to 128 characters and is not a common one", () => {
  const judge = (password: string) =>
    judgePassword(password, "ada.lovelace@example.com").length === 0;

  for (const bad of [
    "elevenchars",
    "x".repeat(129),
    "aaaaaaaaaaaaaa",
    "password1234",
    "P@ssw0rd2026!",
    "passwordpassword",
    "123456789012",
    "qwertyuiop123",
    "abcdefghijklm",
    "ada.lovelace@example.com",
    "AdaLovelace12",
    "letmeinletmein",
    "1234-5678-9012",
    "password-password",
  ])
    assert.equal(judge(bad), false, bad);
  for (const good of [
    "violet tram 88 ladder",
    "correct horse battery staple",
    "test-password-123",
    "ÜberraschendeKatze",
    "k9#mWq2!xTzL",
    "xkqjvmwzhbgp",
  ])
    assert.equal(judge(good), true, good);
});
