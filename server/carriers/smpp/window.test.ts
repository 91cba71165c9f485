import assert from "node:assert/strict";
import { test } from "node:test";

import { type SubmitAnswer, Window } from "./window.ts";

const accepted: SubmitAnswer = { kind: "answered", status: 0, messageId: "a" };

/** A window with submits sent at these times, and the answers they got. */
function windowOf(...sentAtMs: number[]) {
  const window = new Window();
  const answers: SubmitAnswer[][] = [];
  const sequences = sentAtMs.map((atMs) => {
    const sequence = window.nextSequence();
    const got: SubmitAnswer[] = [];
    answers.push(got);
    window.add(sequence, {
      sentAtMs: atMs,
      deadlineMs: atMs + 100,
      settle: (answer) => got.push(answer),
    });
    return sequence;
  });
  return { window, answers, sequences: sequences as [number, number, number] };
}

test("answers are matched by their sequence number, in any order, each once", () => {
  const { window, answers, sequences } = windowOf(0, 0);

  window.answer(sequences[1], 0x0b, "");
  window.answer(sequences[0], 0, "a");

  assert.deepEqual(answers, [[accepted], [{ kind: "answered", status: 0x0b, messageId: "" }]]);
  assert.equal(window.answer(sequences[0], 0, "again"), undefined);
  assert.equal(window.size, 0);
});

test("sequence numbers wrap to 1 and skip those in flight, and those whose answer may come late", () => {
  const window = new Window(0x7fffffff);
  const pending = { sentAtMs: 0, deadlineMs: 1, settle: () => {} };

  assert.equal(window.nextSequence(), 0x7fffffff);
  window.add(1, pending);
  window.expire(1);
  window.add(2, pending);

  assert.equal(window.nextSequence(), 3);
});

test("a submit past its deadline is in doubt, and the others stay", () => {
  const { window, answers } = windowOf(0, 50);

  assert.deepEqual(window.expire(100), [0]);

  assert.partialDeepStrictEqual(answers[0], [{ kind: "in_doubt", why: "timeout" }]);
  assert.deepEqual(answers[1], []);
  assert.equal(window.nextDeadlineMs(), 150);
});

test("an answer after the time-out reaches the caller that was told of the doubt", async () => {
  const { window, answers, sequences } = windowOf(0);
  window.expire(100);
  const [doubt] = answers[0] as [Extract<SubmitAnswer, { kind: "in_doubt" }>];

  assert.equal(window.answer(sequences[0], 0, "a"), "late");

  assert.deepEqual(await doubt.lateAnswer, accepted);
  assert.equal(answers[0]?.length, 1, "the submit itself has settled once");
});

test("a late answer that never comes is in doubt when the connection closes", async () => {
  const { window, answers } = windowOf(0);
  window.expire(100);
  const [doubt] = answers[0] as [Extract<SubmitAnswer, { kind: "in_doubt" }>];

  window.close();

  assert.deepEqual(await doubt.lateAnswer, { kind: "in_doubt", why: "link_lost" });
});

test("a late answer is waited for five minutes, and no longer", async () => {
  const { window, answers } = windowOf(0);
  window.expire(100);
  const [doubt] = answers[0] as [Extract<SubmitAnswer, { kind: "in_doubt" }>];
  assert.equal(window.nextDeadlineMs(), 300_100);

  assert.deepEqual(window.expire(300_100), []);

  assert.partialDeepStrictEqual(await doubt.lateAnswer, { kind: "in_doubt" });
  assert.equal(window.nextDeadlineMs(), undefined);
});

test("late answers are waited for up to a limit, and the oldest is forgotten first", async () => {
  const { window, answers } = windowOf(...Array.from({ length: 1001 }, () => 0));
  window.expire(100);
  const [oldest] = answers[0] as [Extract<SubmitAnswer, { kind: "in_doubt" }>];

  assert.partialDeepStrictEqual(await oldest.lateAnswer, { kind: "in_doubt" });
});

test("a lost connection leaves written submits in doubt, and the rest unsent", () => {
  const { window, answers } = windowOf(0, 0);
  window.written();
  const unsent: SubmitAnswer[] = [];
  window.add(window.nextSequence(), {
    sentAtMs: 0,
    deadlineMs: 1,
    settle: (one) => unsent.push(one),
  });

  window.close();

  assert.deepEqual(
    [...answers, unsent].map(([answer]) => answer?.kind),
    ["in_doubt", "in_doubt", "unsent"],
  );
});

test("time in which nothing was read does not count against the peer", () => {
  const { window, answers } = windowOf(0);

  window.extend(500);

  assert.deepEqual(window.expire(599), []);
  assert.deepEqual(window.expire(600), [0]);
  assert.equal(answers[0]?.length, 1);
});
