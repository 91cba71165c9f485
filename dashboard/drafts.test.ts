import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { draftOf } from "./drafts.ts";

const FORM = { text: "", credits: 0, scopes: ["a"], metadata: null };
const draft = draftOf("user", "form");
afterEach(() => sessionStorage.clear());

/** Keeps text where a draft is, as another script or an earlier version may do. */
function alter(text: string): void {
  draft.keep({});
  sessionStorage.setItem(sessionStorage.key(0) ?? "", text);
}

test("a draft gives back what was typed, and a typed number as the field takes it", () => {
  const typed = { text: "Hello", credits: 7, scopes: [], metadata: { order: "1" } };

  draft.keep(typed);

  assert.deepEqual(draft.read(FORM), typed);
  draft.keep({ text: 7, credits: "7 or" });
  assert.deepEqual(draft.read(FORM), { text: "7", credits: "7 or" });
});

test("an altered draft gives back only what fits its form", () => {
  for (const text of ["", "{", "null", "7", "[]", '["text"]', '{"other":"x","__proto__":{}}']) {
    alter(text);
    assert.deepEqual(draft.read(FORM), {}, text);
  }
  for (const wrong of [null, true, {}, [7]]) {
    alter(JSON.stringify({ text: wrong, credits: wrong, scopes: wrong, metadata: "x" }));
    assert.deepEqual(draft.read(FORM), {}, JSON.stringify(wrong));
  }
  for (const metadata of [[], ["x"], { order: 1 }, 7]) {
    alter(JSON.stringify({ text: "kept", metadata }));
    assert.deepEqual(draft.read(FORM), { text: "kept" });
  }
});
