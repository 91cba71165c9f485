import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionCookie } from "./session-cookie.ts";

const key = Buffer.alloc(32, 1);
const valueOf = (header: string) => header.split(";")[0] ?? "";

test("an issued cookie is read back, even beside other cookies", () => {
  const cookie = sessionCookie({ key, isSecure: false });
  const { header, tokenHash } = cookie.issue();

  assert.deepEqual(cookie.read(`theme=dark; ${valueOf(header)}; x=1`), tokenHash);
});

test("a cookie that was changed, or signed with another key, is no session", () => {
  const cookie = sessionCookie({ key, isSecure: false });
  const [name = "", value = ""] = valueOf(cookie.issue().header).split("=");
  const changed = Buffer.from(value, "base64url");
  changed[5] = (changed[5] ?? 0) ^ 1;
  const foreign = sessionCookie({ key: Buffer.alloc(32, 2), isSecure: false }).issue();

  assert.equal(cookie.read(`${name}=${changed.toString("base64url")}`), undefined);
  assert.equal(cookie.read(`${name}=${value.slice(0, -4)}`), undefined);
  assert.equal(cookie.read(`${name}=`), undefined);
  assert.equal(cookie.read(undefined), undefined);
  assert.equal(cookie.read(valueOf(foreign.header)), undefined);
});

test("on https the cookie is Secure and bound to the host; on plain http it is neither", () => {
  const secure = sessionCookie({ key, isSecure: true }).issue().header;
  const plain = sessionCookie({ key, isSecure: false }).issue().header;

  assert.match(
    secure,
    /^__Host-posthorn_session=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/,
  );
  assert.match(plain, /^posthorn_session=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
});
