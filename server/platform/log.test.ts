import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseUnavailable } from "./unavailable.ts";
import { createLog } from "./log.ts";

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  write(createLog("debug", { write: (line: string) => void lines.push(line) }));
  return lines.join("");
}

test("an error of the database is logged without the row that failed", () => {
  const error = Object.assign(new Error("new row violates check constraint"), {
    code: "23514",
    constraint: "ended_is_known",
    detail: "Failing row contains (Hello, 4915112345678).",
    parameters: ["4915112345678"],
  });

  const line = logged((log) => log.error({ error }, "it failed"));

  assert.doesNotMatch(line, /Hello|4915112345678/);
  const told = { type: "Error", code: "23514", constraint: "ended_is_known" };
  assert.partialDeepStrictEqual(JSON.parse(line), {
    level: "error",
    msg: "it failed",
    error: told,
  });
});

test("an error is logged with what caused it", () => {
  const error = new Error("outer", { cause: new Error("inner") });

  assert.match(
    logged((log) => log.warn({ error }, "it failed")),
    /caused by: Error: inner/,
  );
});

test("an absent database is logged in one short line", () => {
  const cause = new Error("connect ECONNREFUSED 127.0.0.1:5432");
  const error = new DatabaseUnavailable(cause.message, { cause });

  const line = JSON.parse(logged((log) => log.error({ error }, "it failed")));

  assert.deepEqual(line.error, { type: "DatabaseUnavailable", message: cause.message });
});

test("keys and signing secrets are cut out, wherever they appear", () => {
  const key = `sms_${"Ab3".repeat(12)}`;
  const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

  const line = logged((log) =>
    log.info({ url: `/?a=${key}`, nested: { deep: [secret] } }, `the key ${key} was used`),
  );

  assert.ok(!line.includes(key) && !line.includes(secret), line);
  assert.match(line, /the key \[secret\] was used/);
});

test("text written by others cannot steer the terminal that shows the log, and keeps its meaning", () => {
  const steering = "\u001B[2J\u009B31m\u007F\u202Ered";

  const line = logged((log) => log.info({ serviceType: steering }, "received deliver_sm"));

  assert.match(line, /^[^\p{Cc}\u202A-\u202E\u2066-\u2069]+\n$/u);
  assert.equal((JSON.parse(line) as { serviceType: string }).serviceType, steering);
});
