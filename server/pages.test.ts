import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { test } from "node:test";
import { buildPages } from "./pages.ts";

const built = buildPages(new AbortController().signal);

test("the pages are built outside of the service, and their folder is answered", async () => {
  assert.ok((await readdir(await built)).includes("index.html"));
});

test("whoever serves the pages can enter their folder, whoever built them", async () => {
  assert.equal((await stat(await built)).mode & 0o777, 0o755);
});

test("a service that stops does not wait for its pages", async () => {
  const stopping = new AbortController();

  const pages = buildPages(stopping.signal);
  stopping.abort();

  await assert.rejects(pages, { name: "AbortError" });
});
