import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { inOrderPerMessage } from "./in-order.ts";

test("work of one message runs in order, that of others in parallel, never more than 32 at once", async () => {
  const messages = fc.array(fc.oneof(fc.nat(2), fc.nat(40)), { maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(messages, fc.scheduler(), async (added, scheduler) => {
      const queue = inOrderPerMessage();
      const done = new Map<number, number[]>();
      let [running, most] = [0, 0];
      const all = (async () => {
        for (const [n, message] of added.entries()) {
          if (n % 2 === 1) await scheduler.schedule(Promise.resolve());
          queue.add(String(message), async () => {
            running += 1;
            most = Math.max(most, running);
            await scheduler.schedule(Promise.resolve());
            running -= 1;
            done.set(message, [...(done.get(message) ?? []), n]);
          });
        }
        return queue.idle();
      })();

      await scheduler.waitFor(all);

      assert.ok(most <= 32);
      assert.equal(queue.size(), 0);
      assert.equal([...done.values()].flat().length, added.length);
      for (const order of done.values())
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
        );
    }),
    { numRuns: 100 },
  );
});
