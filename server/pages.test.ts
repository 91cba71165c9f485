import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";
import { buildPages } from "./pages.ts";

test("the pages are built outside of the service, and their folder is answered", async () => {
  const folder = await buildPages(new AbortController().signal);

  assert.ok((await readdir(folder)).includes("index.html"));
});

test("a service that stops does not wait for its pages", async () => {
  const stopping = new AbortController();

  const pages = buildPages(stopping.signal);
  stopping.abort();

  await assert.rejects(pages, { name: "AbortError" });
});
