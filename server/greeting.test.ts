import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { readConfig } from "./config.ts";
import { greeting } from "./greeting.ts";

const publicUrl = "http://127.0.0.1:8080";
const read = (given: Record<string, string>) => readConfig(given, tmpdir());

test("a newcomer is told what runs where, how to set it up, and that loopback and plain http may be called", () => {
  const config = read({ DATA_DIR: "/srv/posthorn" });
  const setup = `${publicUrl}/setup#token=x`;

  const lines = greeting(config, { isEmbedded: true, publicUrl, setup }).split("\n");

  assert.match(lines[0] ?? "", /^Posthorn \d+\.\d+\.\d+ is running\.$/);
  assert.deepEqual(lines.slice(1), [
    "  Dashboard  http://127.0.0.1:8080",
    "  API        http://127.0.0.1:8080/v1",
    "  Reference  http://127.0.0.1:8080/docs",
    "  Database   embedded PostgreSQL in /srv/posthorn",
    "  Webhooks   loopback addresses are allowed (WEBHOOK_ALLOW_CIDRS)",
    "  Webhooks   plain http is allowed (WEBHOOK_ALLOW_HTTP)",
    "",
    "To set up this installation, open this one-time link:",
    "  http://127.0.0.1:8080/setup#token=x",
    "",
    "Stop with Ctrl+C.",
    "",
  ]);
});

test("a node names only what it serves", () => {
  const config = read({ ROLES: "sender,webhooks" });

  const said = greeting(config, { isEmbedded: false, publicUrl, setup: undefined });

  assert.doesNotMatch(said, /Dashboard|API|Webhooks/);
  assert.match(said, /Database {3}PostgreSQL at DATABASE_URL/);
});

test("the networks that the operator opens to webhooks are named, and nothing if there are none", () => {
  const said = (cidrs: string, isEmbedded: boolean) =>
    greeting(read({ WEBHOOK_ALLOW_CIDRS: cidrs }), { isEmbedded, publicUrl, setup: undefined });

  for (const isEmbedded of [true, false]) {
    assert.match(
      said("10.1.0.0/16, ::1", isEmbedded),
      /^ {2}Webhooks {3}addresses in 10\.1\.0\.0\/16, ::1\/128 are allowed \(WEBHOOK_ALLOW_CIDRS\)$/m,
    );
    assert.doesNotMatch(said("", isEmbedded), /WEBHOOK_ALLOW_CIDRS/);
  }
});

test("an operator whose service listens at every address is told to set PUBLIC_URL", () => {
  const said = (given: Record<string, string>) =>
    greeting(read(given), { isEmbedded: true, publicUrl, setup: undefined });

  assert.match(said({ HOST: "0.0.0.0" }), /set PUBLIC_URL/);
  assert.doesNotMatch(said({ HOST: "0.0.0.0", PUBLIC_URL: "https://sms.example" }), /PUBLIC_URL/);
  assert.doesNotMatch(said({}), /PUBLIC_URL/);
});
