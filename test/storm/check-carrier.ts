import { splitText } from "#contract/segments";
import type { Check, Violation } from "./checker.ts";
import type { Submit } from "./history.ts";
import type { MessageState, SubmissionState } from "./state.ts";

/** Recipients are unique, so a submit identifies its message. */
type Handed = { submits: Submit[]; rows: SubmissionState[]; message: MessageState };

/** H8: a segment arrives once; again only after a temporary refusal or a recorded doubt. */
const segmentsArriveOnce: Check = (history, state) => {
  const byRecipient = new Map(state.messages.map((message) => [message.recipient, message]));
  const submits = Map.groupBy(history.of("submit"), ({ recipient, segment }) =>
    keyOf(byRecipient.get(recipient)?.messageId ?? recipient, segment),
  );
  const rows = Map.groupBy(state.submissions, ({ messageId, segment }) =>
    keyOf(messageId, segment),
  );
  return [...submits].flatMap(([key, own]): Violation[] => {
    const [first] = own;
    const message = byRecipient.get(first?.recipient ?? "");
    if (!message || !first)
      return [{ check: "H8", what: "something was sent that nobody asked for", key }];
    return judge({ submits: own, rows: rows.get(key) ?? [], message }, first.segment);
  });
};

function keyOf(messageId: string, segment: number): string {
  return `${messageId} ${segment}`;
}

function judge({ submits, rows, message }: Handed, segment: number): Violation[] {
  const doubts = rows.filter(({ inDoubt }) => inDoubt).length;
  const again = submits.filter(({ isRefusedForNow }) => isRefusedForNow).length;
  const mayHaveLeft = rows.filter(({ outcome }) => outcome !== "unsent").length;
  const expected = splitText(message.text).parts[segment - 1];
  const { messageId } = message;
  return [
    ...(submits.length > 1 + again + doubts
      ? [
          {
            check: "H8",
            what: "a segment was sent again without a recorded doubt",
            messageId,
            segment,
            submits: submits.length,
            doubts,
          },
        ]
      : []),
    ...(submits.length > mayHaveLeft
      ? [{ check: "H8", what: "a submission is not on record", messageId, segment }]
      : []),
    ...(submits.some(({ text }) => text !== expected)
      ? [{ check: "H8", what: "a text was altered", messageId, segment, expected }]
      : []),
  ];
}

/** H8: whatever a carrier is recorded to have accepted was submitted to it. */
const acceptedWasSent: Check = (history, state) => {
  const recipients = new Map(
    state.messages.map(({ messageId, recipient }) => [messageId, recipient]),
  );
  const given = new Set(
    history.of("submit").map(({ recipient, segment }) => keyOf(recipient, segment)),
  );
  return state.submissions
    .filter(({ outcome }) => outcome === "accepted" || outcome === "refused_temporarily")
    .filter(({ messageId, segment }) => !given.has(keyOf(recipients.get(messageId) ?? "", segment)))
    .map(({ messageId, segment }) => ({
      check: "H8",
      what: "an answer is on record to what was never sent",
      messageId,
      segment,
    }));
};

/** H8: once a cancellation was answered, nothing of that message is submitted. */
const canceledIsNotSent: Check = (history, state) => {
  const byId = new Map(state.messages.map((message) => [message.messageId, message]));
  const submits = Map.groupBy(history.of("submit"), ({ recipient }) => recipient);
  return history
    .of("cancel")
    .filter(({ outcome }) => outcome === "ok")
    .flatMap(({ messageId, t1 }): Violation[] => {
      const message = byId.get(messageId);
      const late = (submits.get(message?.recipient ?? "") ?? []).filter(({ t }) => t > t1);
      const isCanceled = message?.status === "FAILED" && message.errorCode === "CANCELED";
      return [
        ...(late.length > 0
          ? [{ check: "H8", what: "a canceled message was sent", messageId }]
          : []),
        ...(isCanceled ? [] : [{ check: "H8", what: "a cancellation was lost", messageId }]),
      ];
    });
};

/** Allows for a node that froze after checking the time, and for bytes that a link held back. */
const GRACE_MS = 30_000;

/** H8: nothing is sent before it was accepted or after it expired, whatever nodes' clocks say. */
const sentInTime: Check = (history, state) => {
  const byRecipient = new Map(state.messages.map((message) => [message.recipient, message]));
  return history.of("submit").flatMap(({ recipient, segment, at }): Violation[] => {
    const { messageId, createdAt = at, expiresAt = at } = byRecipient.get(recipient) ?? {};
    const lateMs = Math.round(at - expiresAt);
    const earlyMs = Math.round(createdAt - at);
    if (lateMs > GRACE_MS)
      return [{ check: "H8", what: "an expired message was sent", messageId, segment, lateMs }];
    return earlyMs > GRACE_MS
      ? [{ check: "H8", what: "a message is dated after it was sent", messageId, earlyMs }]
      : [];
  });
};

/** H9: each receipt that the SMSC no longer repeats is in its message's history, or parked. */
const receiptsAreStored: Check = (history, { submissions, parked }) => {
  const stored = new Set([
    ...parked,
    ...submissions.filter(({ receipts }) => receipts > 0).map(({ matchId }) => matchId),
  ]);
  const sent = new Set(history.of("receipt").map(({ carrierMessageId }) => carrierMessageId));
  return [...sent]
    .filter((id) => !stored.has(id))
    .map((carrierMessageId) => ({ check: "H9", what: "a receipt is lost", carrierMessageId }));
};

export const carrierChecks: readonly Check[] = [
  segmentsArriveOnce,
  acceptedWasSent,
  canceledIsNotSent,
  sentInTime,
  receiptsAreStored,
];
