import assert from "node:assert/strict";
import { test } from "node:test";
import { browserOf } from "./browser-name.ts";

test("a session is named by its browser and system", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
  const safari =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Mobile Safari/604.1";

  const edge = chrome.replace("X11; Linux x86_64", "Linux; Android 16") + " EdgA/153.0.0.0";

  assert.equal(browserOf(chrome), "Chrome on Linux");
  assert.equal(browserOf(edge), "Edge on Android");
  assert.equal(browserOf(safari), "Safari on iOS");
  assert.equal(browserOf("curl/8.9"), undefined);
  assert.equal(browserOf(null), undefined);
});
