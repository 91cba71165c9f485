import type { OutgoingSegment, SubmitOutcome } from "#carriers";

import { classify, status, statusCode } from "./codec/status.ts";
import { LONGEST_ID, matchId } from "./ids.ts";
import type { Pace } from "./pace.ts";
import type { Session } from "./session.ts";
import type { SmppSettings } from "./settings.ts";
import type { Tally } from "./tally.ts";
import type { SubmitAnswer } from "./window.ts";

/** A submission on its way: when it left, and on which connection. */
export type Sent = {
  atMs: number;
  session: Session;
  segment: Pick<OutgoingSegment, "isOvertaken">;
};

type Deps = {
  settings: SmppSettings;
  pace: Pace;
  tally: Tally;
  onThrottled: () => void;
  onAccepted: (session: Session) => void;
  /** The carrier answers as if this connection were not bound. */
  onDenied: (session: Session) => void;
};

export const UNSENT: SubmitOutcome = { kind: "unsent" };

/** Decides what the answer to a submission, or its absence, means for the message and the pace. */
export class AnswerJudge {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  judge(answer: SubmitAnswer, sent: Sent): SubmitOutcome {
    const { pace, tally } = this.#deps;
    switch (answer.kind) {
      case "answered":
        return this.#judgeAnswered(answer, sent);
      case "in_doubt": {
        const { why, lateAnswer } = answer;
        tally.counts.inDoubt += 1;
        pace.answered(sent.atMs, false);
        if (lateAnswer === undefined) return { kind: "in_doubt", why };
        return { kind: "in_doubt", why, lateAnswer: this.#judgeLate(lateAnswer, sent) };
      }
      case "unsent":
        pace.answered(sent.atMs, false);
        return UNSENT;
    }
  }

  async #judgeLate(lateAnswer: Promise<SubmitAnswer>, sent: Sent): Promise<SubmitOutcome> {
    const answer = await lateAnswer;
    if (answer.kind !== "answered") return { kind: "in_doubt", why: "link_lost" };
    this.#deps.tally.counts.lateAnswers += 1;
    return this.#judgeAnswered(answer, sent);
  }

  #judgeAnswered(answer: Extract<SubmitAnswer, { kind: "answered" }>, sent: Sent): SubmitOutcome {
    if (answer.status !== status.ok) return this.#judgeRefusal(answer.status, sent);
    const { settings, pace, tally, onAccepted } = this.#deps;
    // Trimmed, because receipts are read without the spaces around their ids.
    const messageId = answer.messageId.trim();
    const carrierMessageId = messageId.slice(0, LONGEST_ID);
    pace.answered(sent.atMs, false);
    onAccepted(sent.session);
    tally.accepted(carrierMessageId);
    return {
      kind: "accepted",
      carrierMessageId,
      matchId: matchId(messageId, settings.receiptId),
    };
  }

  #judgeRefusal(code: number, { atMs, session, segment }: Sent): SubmitOutcome {
    const { settings, pace, tally, onThrottled, onDenied } = this.#deps;
    const refusal = classify(code, settings.statusClasses);
    const isThrottled = refusal.kind === "throttled";
    tally.refused(code, isThrottled);
    const isIgnored = isThrottled && segment.isOvertaken && pace.ignored(atMs);
    if (!isIgnored) pace.answered(atMs, isThrottled);
    if (isThrottled && !isIgnored) onThrottled();
    if (refusal.kind === "rebind") onDenied(session);
    return {
      kind: "refused",
      temporary: refusal.kind !== "permanent",
      throttled: isThrottled,
      code: refusal.code,
      carrierCode: statusCode(code),
    };
  }
}
