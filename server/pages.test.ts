import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { test } from "node:test";
import { buildPages } from "./pages.ts";

const built = buildPages(new AbortController().signal);

test("the pages are built outside the service, and their folder is returned", async () => {
  assert.ok((await readdir(await built)).includes("index.html"));
});

test("any user can enter the folder of the pages, whoever built them", async () => {
  assert.equal((await stat(await built)).mode & 0o777, 0o755);
});

test("a service that stops does not wait for its pages to be built", async () => {
  const stopping = new AbortController();

  const pages = buildPages(stopping.signal);
  stopping.abort();

  await assert.rejects(pages, { name: "AbortError" });
});
