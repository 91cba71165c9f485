import assert from "node:assert/strict";
import { test } from "node:test";
import { runStorm } from "./storm.ts";

test("a storm of kills, cuts and hostile peers loses nothing, duplicates nothing and hides nothing", async () => {
  const { figures, violations } = await runStorm({
    seed: 20_261_115,
    forMs: 6_000,
    clients: 6,
    calmMs: 400,
    opening: ["service killed"],
    names: [
      "PostgreSQL killed",
      "database connections ended",
      "link cut",
      "link refused",
      "link delayed",
      "link loses answers",
      "SMSC answers strangely",
      "SMSC drops its links",
      "receiver answers strangely",
      "overload burst",
    ],
  });

  assert.deepEqual(violations, []);
  assert.ok(Number(figures["messages"]) > 0, "something was accepted at all");
});
