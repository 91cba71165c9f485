import assert from "node:assert/strict";
import { test } from "node:test";
import { countSegments } from "#contract/segments";
import { hasPlain, toPlain } from "./plain-characters.ts";

test("curly quotes and long dashes become plain, and the text fits the GSM alphabet", () => {
  const text = "“It’s here” – at last…";

  assert.equal(toPlain(text), '"It\'s here" - at last...');
  assert.equal(countSegments(text).encoding, "ucs2");
  assert.equal(countSegments(toPlain(text)).encoding, "gsm7");
});

test("a character without a plain equivalent stays as it is", () => {
  assert.equal(toPlain("Γειά 👋 €"), "Γειά 👋 €");
  assert.equal(hasPlain("👋"), false);
});
