import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { actionInWords, type DetailLine, detailsInWords } from "./audit-details.ts";

const ACME = "01a1df38-09ab-7251-8135-d5aea10c989f";
const telling = { zone: "Europe/Paris", names: new Map([[ACME, "acme"]]) };

/** The lines of the page, as strings. */
function told(details: Record<string, unknown>, action = "thing.changed"): string[] {
  return detailsInWords({ action, details }, telling).map(shown);
}

function shown({ name, before, value, depth }: DetailLine): string {
  const change = before === undefined ? "" : `${before} → `;
  return `${"  ".repeat(depth)}${name}:${value === undefined ? "" : ` ${change}${value}`}`;
}

test("only changes are shown, from what to what", () => {
  const details = {
    before: { rate: 50, window: 5, tls: { ca: "a", verify: true } },
    after: { rate: 100, window: 5, tls: { ca: "a", verify: false } },
  };

  assert.deepEqual(told(details), ["rate: 50 → 100", "tls:", "  verify: yes → no"]);
});

test("a change of one thing has that thing's name", () => {
  assert.deepEqual(told({ before: null, after: 5 }, "price.set"), [
    "credits per segment: none → 5",
  ]);
  assert.deepEqual(told({ before: "viewer", after: "owner" }, "member.role_changed"), [
    "role: viewer → owner",
  ]);
  assert.deepEqual(told({ before: [ACME] }, "route.removed"), ["carriers: acme → none"]);
  assert.deepEqual(told({ before: 1, after: 2 }), ["change: 1 → 2"]);
  assert.deepEqual(told({ before: null, after: { rate: 5 } }), ["rate: none → 5"]);
});

test("lists are shown with commas, settings line by line, and null is left out", () => {
  const details = {
    name: "Web shop",
    scopes: ["messages:send", "messages:read"],
    paused: null,
    settings: { host: "127.0.0.1", port: 42029, in_doubt: "resend", tls_key: "[secret]" },
    passwordChanged: true,
  };

  assert.deepEqual(told(details), [
    "name: Web shop",
    "scopes: messages:send, messages:read",
    "settings:",
    "  host: 127.0.0.1",
    "  port: 42029",
    "  in doubt: resend",
    "  tls key: not shown",
    "password changed: yes",
  ]);
});

test("numbers and times are shown as on every page, and a key that never expires says so", () => {
  const expiresAt = "2026-11-15T09:30:00.000Z";

  assert.deepEqual(told({ amount: 1_000, expiresAt }), [
    "amount: 1,000",
    "expires at: 15 Nov 2026, 10:30:00",
  ]);
  assert.deepEqual(told({ expiresAt: null }), ["expires at: never"]);
  assert.deepEqual(told({ isOperator: false, note: "", list: [] }), [
    "operator: no",
    "note: empty",
    "list: none",
  ]);
});

test("a long list shows its first ten and how many more there are", () => {
  const ids = Array.from({ length: 25 }, (_, n) => `d${n}`);

  assert.deepEqual(told({ deliveryIds: ids }), [
    "delivery ids: d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, and 15 more",
  ]);
});

test("whatever an entry holds, no line of it is JSON", () => {
  // Letters only, so that any bracket or quote would be ours.
  const letters = fc.stringMatching(/^[a-z]{0,5}$/);
  const { details } = fc.letrec((tie) => ({
    value: fc.oneof(
      letters,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      tie("list"),
      tie("details"),
    ),
    list: fc.array(tie("value"), { maxLength: 3 }),
    details: fc.dictionary(fc.oneof(letters, fc.constantFrom("before", "after")), tie("value"), {
      maxKeys: 4,
    }),
  }));

  fc.assert(
    fc.property(details, (any) => {
      for (const line of told(any as Record<string, unknown>))
        assert.doesNotMatch(line, /[[\]{}"]/);
    }),
  );
});

test("an action is described in words", () => {
  assert.equal(actionInWords("member.role_changed"), "Member role changed");
});
