import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "#platform";
import { pager } from "./pager.ts";

test("a page that found nothing leads on from where the look ended, and back to where it began", async () => {
  const [first, looked] = [2, 1].map((n) => `01900000-0000-7000-8000-00000000000${n}`);
  const asked: Page["position"][] = [];
  const { list } = pager(Buffer.alloc(32));
  const page = (cursor: string | null | undefined, found: string[]) =>
    list(cursor ? { cursor } : {}, {
      boundTo: "all",
      idOf: (id: string) => id,
      async browse({ position }) {
        asked.push(position);
        return { rows: found, lookedUntil: found[0] ?? looked ?? null };
      },
    });

  const { cursors: begun } = await page(null, [first ?? ""]);
  const { cursors: empty } = await page(begun.nextCursor, []);
  await page(empty.nextCursor, []);
  await page(empty.previousCursor, []);

  assert.deepEqual(asked, [
    null,
    { direction: "older", id: first },
    { direction: "older", id: looked },
    { direction: "newer", id: first },
  ]);
});
