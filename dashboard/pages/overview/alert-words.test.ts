import assert from "node:assert/strict";
import { test } from "node:test";
import { alertInWords } from "./alert-words.ts";

test("alerts of one kind are one sentence, which names three of them and counts the others", () => {
  const down = (...names: string[]) =>
    alertInWords(
      "carrier_down",
      names.map((subject) => ({ subject, count: null })),
    );

  assert.equal(down("acme"), "The carrier acme is down.");
  assert.equal(down("a", "b", "c"), "Carriers down: a, b, c.");
  assert.equal(down("a", "b", "c", "d"), "Carriers down: a, b, c and 1 more.");
});

test("a failing receiver is named as in the list of receivers", () => {
  const failing = (subject: string) => alertInWords("receiver_failing", [{ subject, count: null }]);

  assert.match(failing("https://a.example.com:8443"), /^a\.example\.com:8443 is failing;/);
  assert.match(failing("http://10.0.0.1:3000"), /^http:\/\/10\.0\.0\.1:3000 is failing;/);
});

test("if the service counts, its count is shown", () => {
  const exhausted = (count: number) =>
    alertInWords("deliveries_exhausted", [{ subject: null, count }]);

  assert.equal(exhausted(1), "A webhook delivery is exhausted.");
  assert.equal(exhausted(1_234), "1,234 webhook deliveries are exhausted.");
});
