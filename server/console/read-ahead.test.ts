import assert from "node:assert/strict";
import { test } from "node:test";
import { readAhead } from "./read-ahead.ts";

async function* linesUntil(failure: number, ended: string[] = []) {
  try {
    for (let n = 0; n < 5; n += 1) {
      if (n === failure) throw new Error(`line ${n}`);
      yield `${n}`;
    }
  } finally {
    ended.push("ended");
  }
}

test("a file whose first line fails is refused; a failure later in the file is reported", async () => {
  const told: string[] = [];
  const tell = (error: unknown) => void told.push(String(error));

  await assert.rejects(readAhead(linesUntil(1), tell), /line 1/);
  assert.deepEqual(told, []);
  const later = await readAhead(linesUntil(3), tell);
  await assert.rejects(Array.fromAsync(later), /line 3/);
  assert.deepEqual(told, ["Error: line 3"]);
});

test("a whole file is read to its end, and a reader who leaves ends the reading", async () => {
  const [told, ended]: [unknown[], string[]] = [[], []];
  const tell = (error: unknown) => void told.push(error);

  assert.deepEqual(await Array.fromAsync(await readAhead(linesUntil(9), tell)), [..."01234"]);
  for await (const line of await readAhead(linesUntil(9, ended), tell)) if (line === "1") break;
  assert.deepEqual([told, ended], [[], ["ended"]]);
});
