import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrors, readFailure, toFailure } from "./failure.ts";

const body = (details: object[]) => ({
  error: { code: "VALIDATION_FAILED", message: "Some fields are wrong.", details, requestId: "r1" },
});

test("an answer of the API keeps its code, words, request id and wait", () => {
  const failure = readFailure(503, new Headers({ "retry-after": "7" }), {
    error: { code: "UNAVAILABLE", message: "Not now.", details: [], requestId: "r2" },
  });

  assert.equal(failure.code, "UNAVAILABLE");
  assert.equal(failure.message, "Not now.");
  assert.equal(failure.requestId, "r2");
  assert.equal(failure.retryAfterSeconds, 7);
});

test("an answer that is not the API's is reported as such", () => {
  const failure = readFailure(502, new Headers(), "<html>Bad gateway</html>");

  assert.deepEqual([failure.status, failure.retryAfterSeconds], [502, undefined]);
  assert.match(failure.message, /did not come from Posthorn/);
});

test("details go to their fields, and the rest is shown in general", () => {
  const failure = readFailure(
    422,
    new Headers(),
    body([
      { field: "name", code: "FIELD_INVALID", message: "Too long." },
      { field: "name", code: "FIELD_INVALID", message: "Again." },
      { field: "preferences.zone", code: "FIELD_INVALID", message: "No such zone." },
      { field: null, code: "FIELD_INVALID", message: "Besides." },
    ]),
  );

  assert.deepEqual(fieldErrors(failure, ["name", "preferences"]), {
    fields: { name: "Too long.", preferences: "No such zone." },
    general: "Besides.",
  });
});

test("the details themselves are shown instead of the message that there are some", () => {
  const failure = readFailure(
    422,
    new Headers(),
    body([
      { field: "name", code: "FIELD_INVALID", message: "Too long." },
      { field: null, code: "FIELD_INVALID", message: "Besides." },
    ]),
  );

  assert.equal(failure.message, "Too long. Besides.");
});

test("a failure without details shows its message", () => {
  const failure = readFailure(422, new Headers(), body([]));

  assert.deepEqual(fieldErrors(failure, ["name"]), {
    fields: {},
    general: "Some fields are wrong.",
  });
});

test("whatever is thrown becomes a failure with words", () => {
  assert.equal(toFailure(new Error("broken")).message, "broken");
  assert.equal(toFailure("odd").message, "odd");
});
