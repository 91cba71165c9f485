import { type Clock, newSpanId, type Tracer, traceOf } from "#platform";
import type { AcceptRequest } from "./accept.ts";
import type { Accepted } from "./acceptor.ts";

type Accept = (request: AcceptRequest) => Promise<Accepted>;
type Deps = { accept: Accept; tracer: Tracer; clock: Clock };

/** Enough links: a collector need not hold one to every message of a large batch. */
const MAX_LINKS = 32;

/**
 * Adds two spans, linked to each other: in the request's trace, the wait until its batch is
 * committed; and in each message's own trace, its first span.
 */
export function tracedAccept({ accept, tracer, clock }: Deps): Accept {
  return async (request) => {
    const startedAt = clock.now();
    const accepted = await accept(request);
    const origin = tracer.current();
    const span = { startedAt, endedAt: clock.now() };
    const messages = accepted.outcome === "accepted" ? request.messages : [];
    if (origin) {
      tracer.record({
        ...span,
        traceId: origin.traceId,
        spanId: newSpanId(),
        parentId: origin.spanId,
        name: "accept",
        kind: "internal",
        attributes: { "posthorn.outcome": accepted.outcome, "posthorn.messages": messages.length },
        links: messages.slice(0, MAX_LINKS).map(({ message_id }) => traceOf(message_id)),
      });
    }
    for (const { message_id: messageId, segments } of messages) {
      tracer.record({
        ...span,
        ...traceOf(messageId),
        name: "message",
        kind: "producer",
        attributes: { "posthorn.message_id": messageId, "posthorn.segments": segments },
        links: origin ? [{ traceId: origin.traceId, spanId: origin.spanId }] : [],
      });
    }
    return accepted;
  };
}
