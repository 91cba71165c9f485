import assert from "node:assert/strict";
import { test } from "node:test";
import { narrowGate } from "./narrow-gate.ts";

test("a place that is left goes to the next in line, and not to a newcomer as well", async () => {
  const gate = narrowGate(1, 1);
  const leave = await gate.enter();
  const second = gate.enter();
  const refused = gate.enter();

  leave?.();
  const third = gate.enter();

  assert.equal(refused, undefined);
  assert.equal(await Promise.race([third, Promise.resolve("waits")]), "waits");
  (await second)?.();
  (await third)?.();
  assert.ok(gate.isEmpty());
});
