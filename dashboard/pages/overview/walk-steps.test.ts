import assert from "node:assert/strict";
import { test } from "node:test";
import { walkSteps } from "./walk-steps.ts";

const nothing = {
  hasKey: false,
  hasMessage: false,
  hasDelivered: false,
  hasWebhook: false,
  hasInvited: false,
};

test("the walk begins with a key, and the first step not done is the next one", () => {
  const next = (progress: typeof nothing) => walkSteps(progress).find(({ isNext }) => isNext)?.name;

  assert.equal(next(nothing), "key");
  assert.equal(next({ ...nothing, hasKey: true }), "send");
  assert.equal(next({ ...nothing, hasKey: true, hasInvited: true, hasDelivered: true }), "webhook");
});

test("a message that is not yet delivered does not finish the step", () => {
  const [, send] = walkSteps({ ...nothing, hasKey: true, hasMessage: true });

  assert.deepEqual(send, { name: "send", isDone: false, isNext: true });
});

test("a finished walk has no next step", () => {
  const all = {
    hasKey: true,
    hasMessage: true,
    hasDelivered: true,
    hasWebhook: true,
    hasInvited: true,
  };

  assert.ok(walkSteps(all).every(({ isDone, isNext }) => isDone && !isNext));
});
