import { createHmac } from "node:crypto";
import type { Check, Violation } from "./checker.ts";
import type { Post } from "./history.ts";
import type { State } from "./state.ts";

/** H10: every event with an address arrived or has another recorded ending; none still waits. */
const eventsArrive: Check = (history, { events, attempts, waiting }) => {
  const arrived = new Set(history.of("post").map(({ eventId }) => eventId));
  const endings = new Map(
    attempts.map(({ messageId, sequence, ended }) => [`${messageId} ${sequence}`, ended]),
  );
  const late = new Set(waiting.map(({ messageId, sequence }) => `${messageId} ${sequence}`));
  return events
    .filter(({ body }) => body !== null)
    .flatMap(({ messageId, sequence, eventId }): Violation[] => {
      const key = `${messageId} ${sequence}`;
      const ended = endings.get(key) ?? null;
      const about = { check: "H10", messageId, sequence };
      if (late.has(key)) return [{ ...about, what: "an event was never delivered" }];
      if (ended === null) return [{ ...about, what: "an event is neither waiting nor ended" }];
      if (ended === "delivered" && !arrived.has(eventId))
        return [{ ...about, what: "an event is said to be delivered that never arrived" }];
      return [];
    });
};

/** H10: what arrives is exactly an event's bytes, the same each time, signed for its account. */
const postsAreTrue: Check = (history, state) => {
  const events = new Map(state.events.map((event) => [event.eventId, event]));
  const secrets = secretsByMessage(state);
  return history.of("post").flatMap((post): Violation[] => {
    const event = events.get(post.eventId);
    const about = { check: "H10", eventId: post.eventId };
    if (!event) return [{ ...about, what: "something arrived that is no event" }];
    if (event.body !== post.body) return [{ ...about, what: "a body was changed" }];
    const isSigned = post.signature
      .split(" ")
      .includes(sign(post, secrets.get(event.messageId) ?? ""));
    return isSigned ? [] : [{ ...about, what: "a signature is wrong" }];
  });
};

function secretsByMessage({ accounts, messages }: State): Map<string, string> {
  const byAccount = new Map(accounts.map(({ accountId, secret }) => [accountId, secret]));
  return new Map(
    messages.map(({ messageId, accountId }) => [messageId, byAccount.get(accountId) ?? ""]),
  );
}

/** Follows the documentation for receivers, independently of the code that signs. */
export function sign(
  { eventId, timestamp, body }: Pick<Post, "eventId" | "timestamp" | "body">,
  secret: string,
) {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(`${eventId}.${timestamp}.${body}`).digest("base64")}`;
}

/** H10: events delivered at the first attempt arrived in their order. */
const firstAttemptsInOrder: Check = (history, { attempts, events }) => {
  const places = new Map<string, number>();
  for (const [place, { eventId }] of history.of("post").entries())
    if (!places.has(eventId)) places.set(eventId, place);
  const atOnce = new Set(
    attempts
      .filter(({ tries, ended }) => tries === 1 && ended === "delivered")
      .map(({ messageId, sequence }) => `${messageId} ${sequence}`),
  );
  const told = events.filter(({ messageId, sequence }) => atOnce.has(`${messageId} ${sequence}`));
  return [...Map.groupBy(told, ({ messageId }) => messageId)].flatMap(([messageId, own]) => {
    const inOrder = own
      .toSorted((a, b) => a.sequence - b.sequence)
      .map(({ eventId }) => places.get(eventId) ?? 0);
    const isFine = inOrder.every((place, n) => place >= (inOrder[n - 1] ?? 0));
    return isFine ? [] : [{ check: "H10", what: "first attempts came out of order", messageId }];
  });
};

/** H10: no event arrives while another of the same message has not been answered. */
const oneAtATime: Check = (history, { events }) => {
  const messageOf = new Map(events.map(({ eventId, messageId }) => [eventId, messageId]));
  const answeredAt = new Map(history.of("answered").map(({ number, t }) => [number, t]));
  const posts = Map.groupBy(history.of("post"), ({ eventId }) => messageOf.get(eventId));
  return [...posts].flatMap(([messageId, own]) => {
    const isFine = own.every((post, n) =>
      own.slice(0, n).every(({ number, t }) => (answeredAt.get(number) ?? t) <= post.t),
    );
    return isFine ? [] : [{ check: "H10", what: "two of a message arrived at once", messageId }];
  });
};

export const webhookChecks: readonly Check[] = [
  eventsArrive,
  postsAreTrue,
  firstAttemptsInOrder,
  oneAtATime,
];
