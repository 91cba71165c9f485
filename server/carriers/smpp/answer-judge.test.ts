import assert from "node:assert/strict";
import { test } from "node:test";

import { manualClock } from "../../../test/support/manual-clock.ts";
import { smppSettings } from "../../../test/support/smpp.ts";
import { AnswerJudge, type Sent } from "./answer-judge.ts";
import { status } from "./codec/status.ts";
import { Pace } from "./pace.ts";
import { Tally } from "./tally.ts";
import type { SubmitAnswer } from "./window.ts";

const ends: SubmitAnswer[] = [{ kind: "unsent" }, { kind: "in_doubt", why: "link_lost" }];
for (const end of ends) {
  test(`a probe that is ${end.kind} ends the probing: a carrier is not left alone for ever`, () => {
    const clock = manualClock();
    const pace = new Pace(50, { clock, measured: () => 0, onReady() {} });
    const judge = new AnswerJudge({
      settings: smppSettings(),
      pace,
      tally: new Tally(),
      onThrottled() {},
      onAccepted() {},
      onDenied() {},
    });
    const segment = { isOvertaken: false };
    const sentNow = () => ({ atMs: clock.monotonicMs(), segment }) as Sent;
    judge.judge({ kind: "answered", status: status.throttled, messageId: "" }, sentNow());
    clock.advance(1000);
    pace.took(clock.monotonicMs());
    const whileProbing = pace.ahead();

    judge.judge(end, sentNow());

    assert.deepEqual([whileProbing, pace.ahead() > 0], [0, true]);
  });
}
