import type { Check, Violation } from "./checker.ts";
import type { Send } from "./history.ts";

/** H1: a message answered with 202 exists once, as requested, and does not wait forever. */
const acceptedExists: Check = (history, { messages }) => {
  const byId = new Map(messages.map((message) => [message.messageId, message]));
  const byReference = Map.groupBy(messages, ({ reference }) => reference);
  const doubled = [...byReference]
    .filter(([, found]) => found.length > 1)
    .map(([reference, found]) => ({
      check: "H1",
      what: "a message exists more than once",
      reference,
      times: found.length,
    }));
  const wrong = history.of("send").flatMap((send) =>
    send.outcome !== "ok"
      ? []
      : send.wishes.flatMap((wish, n): Violation[] => {
          const messageId = send.messageIds[n] ?? "";
          const found = byId.get(messageId);
          if (!found) return [{ check: "H1", what: "an accepted message is lost", messageId }];
          const isSame =
            found.reference === wish.reference &&
            found.recipient === wish.recipient &&
            found.text === wish.text &&
            found.accountId === send.accountId;
          return isSame ? [] : [{ check: "H1", what: "a message is not as accepted", messageId }];
        }),
  );
  const stuck = messages
    .filter(({ status, isScheduled }) => status === "QUEUED" && !isScheduled)
    .map(({ messageId }) => ({ check: "H1", what: "a message never left the queue", messageId }));
  return [...doubled, ...wrong, ...stuck];
};

/** H1: once its acceptance was answered, every node shows the message. */
const acceptedIsVisible: Check = (history) => {
  const answered = new Map<string, number>();
  for (const { messageIds, t1 } of history.of("send"))
    for (const messageId of messageIds)
      answered.set(messageId, Math.min(t1, answered.get(messageId) ?? t1));
  return history
    .of("read")
    .filter(({ code }) => code === "MESSAGE_NOT_FOUND")
    .filter(({ messageId, t0 }) => t0 > (answered.get(messageId) ?? Number.POSITIVE_INFINITY))
    .map(({ messageId, node }) => ({
      check: "H1",
      what: "a node does not know of an accepted message",
      messageId,
      node,
    }));
};

/** H2: a refusal leaves nothing, unless another try of the same request was not refused. */
const refusedLeavesNothing: Check = (history, { messages }) => {
  const existing = new Set(messages.map(({ reference }) => reference));
  const sends = history.of("send");
  const maybe = new Set(
    sends
      .filter(({ outcome }) => outcome !== "refused")
      .flatMap(({ wishes }) => wishes.map(({ reference }) => reference)),
  );
  return sends
    .filter(({ outcome }) => outcome === "refused")
    .flatMap(({ wishes, code }) =>
      wishes
        .filter(({ reference }) => existing.has(reference) && !maybe.has(reference))
        .map(({ reference }) => ({
          check: "H2",
          what: "a refused message exists",
          reference,
          code,
        })),
    );
};

/** H3: one idempotency key has one answer; after any number of tries, its messages exist once. */
const keysAnswerOnce: Check = (history) => {
  const keyed = history
    .of("send")
    .filter(({ idempotencyKey, outcome }) => idempotencyKey !== null && outcome === "ok");
  return [
    ...Map.groupBy(keyed, ({ accountId, idempotencyKey }) => `${accountId} ${idempotencyKey}`),
  ]
    .filter(([, sends]) => new Set(sends.map(namesOf)).size > 1)
    .map(([key]) => ({ check: "H3", what: "one idempotency key, two answers", key }));
};

function namesOf({ messageIds }: Send): string {
  return messageIds.join();
}

/** H11: paging through a list during writes shows each earlier message exactly once. */
const walksAreWhole: Check = (history, { messages }) => {
  const accountOf = new Map(messages.map(({ messageId, accountId }) => [messageId, accountId]));
  const sends = history.of("send").filter(({ outcome }) => outcome === "ok");
  return history.of("walk").flatMap(({ accountId, messageIds, t0 }): Violation[] => {
    const seen = new Set(messageIds);
    const before = sends
      .filter((send) => send.t1 < t0 && send.accountId === accountId)
      .flatMap((send) => send.messageIds);
    const twice = seen.size < messageIds.length;
    const missing = before.filter((messageId) => !seen.has(messageId));
    const strange = messageIds.filter((messageId) => accountOf.get(messageId) !== accountId);
    return [
      ...(twice ? [{ check: "H11", what: "a walk shows a message twice", accountId }] : []),
      ...missing.map((messageId) => ({ check: "H11", what: "a walk misses a message", messageId })),
      ...strange.map((messageId) => ({ check: "H11", what: "a walk shows a stranger", messageId })),
    ];
  });
};

export const requestChecks: readonly Check[] = [
  acceptedExists,
  acceptedIsVisible,
  refusedLeavesNothing,
  keysAnswerOnce,
  walksAreWhole,
];
