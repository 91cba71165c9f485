import assert from "node:assert/strict";
import { test } from "node:test";
import { DatabaseUnavailable, silentLog } from "#platform";
import { bareServer } from "../../test/support/bare-server.ts";
import { Problem } from "./problem.ts";
import { refuseOperations } from "./serve-operations.ts";

test("the log names what failed a route's last word, not what the client did wrong", async () => {
  const logged: unknown[] = [];
  const away = new DatabaseUnavailable("the database is away");
  const app = bareServer({
    log: { ...silentLog, error: (fields) => void logged.push(fields) },
  });
  app.decorateRequest("lastWord", undefined);
  app.get("/refused", (request) => {
    request.lastWord = () => Promise.reject(away);
    throw new Problem("VALIDATION_FAILED");
  });

  const answer = await app.inject("/refused");

  assert.equal(answer.statusCode, 503);
  assert.deepEqual(
    logged.map((fields) => (fields as { error: unknown }).error),
    [away],
  );
});

test("clients of a node without the API do not fill its log", async () => {
  const logged: unknown[] = [];
  const keep = (fields: unknown) => void logged.push(fields);
  const app = bareServer({ log: { ...silentLog, info: keep, warn: keep, error: keep } });
  refuseOperations(app);

  const answer = await app.inject("/v1/messages");

  assert.equal(answer.statusCode, 503);
  assert.deepEqual(logged, []);
});
