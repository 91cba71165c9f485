import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { readConfig, WrongSettings } from "./config.ts";

const read = (given: Record<string, string>) => readConfig(given, tmpdir());
const key = (text: string) => Buffer.from(text.padEnd(32, ".").slice(0, 32)).toString("base64");

for (const [what, value, reason] of [
  ["nothing but zeros", Buffer.alloc(32).toString("base64"), "nothing but zeros"],
  ["changeme", key("changeme"), "the text of an example"],
  ["an example's words", key("please-CHANGE-ME-in-production"), "the text of an example"],
  ["a placeholder", key("<your secret key>"), "the text of an example"],
] as const) {
  test(`the start is refused with a SECRET_KEY of ${what}, and that is the reason given`, () => {
    assert.throws(
      () => read({ SECRET_KEY: value }),
      new RegExp(`SECRET_KEY: is ${reason}.*openssl rand -base64 32`),
    );
  });
}

test("a SECRET_KEY that somebody generated is accepted", () => {
  const value = randomBytes(32).toString("base64");

  assert.equal(read({ SECRET_KEY: value }).secretKey?.reveal(), value);
});

test("a start with an example's database password is refused, on one host or several", () => {
  for (const hosts of ["db", "one:5432,two:5432"]) {
    const url = `postgres://posthorn:changeme@${hosts}/posthorn`;
    assert.throws(
      () => read({ DATABASE_URL: url }),
      /DATABASE_URL: has the password of an example/,
    );
  }
});

test("a database password that was never filled in is called a placeholder", () => {
  const url = "postgres://posthorn:%3Cpassword%3E@db/posthorn";

  assert.throws(() => read({ DATABASE_URL: url }), /DATABASE_URL: has a placeholder/);
});

test("a wrong value is never repeated, because it may be half right", () => {
  const url = "postgres://posthorn:change-me@db/posthorn";

  assert.throws(
    () => read({ DATABASE_URL: url, SECRET_KEY: "bm90IGEga2V5" }),
    (error: unknown) =>
      error instanceof WrongSettings && !/change-me|bm90IGEga2V5/.test(error.message),
  );
});
