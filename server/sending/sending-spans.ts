import type { Carrier, OutgoingSegment, Receipt, SubmitOutcome } from "#carriers";
import type { Tracer } from "#platform";
import { isBad } from "./judge-receipt.ts";

type Step = Parameters<Tracer["step"]>[1];

/** A hand-over as a step in the trace of its message. */
export function submitSpan(
  { name }: Pick<Carrier, "name">,
  { segment, segments, attempt }: OutgoingSegment,
  { answer, startedAt, at }: { answer: SubmitOutcome; startedAt: Date; at: Date },
): Step {
  return {
    name: "submit",
    kind: "client",
    startedAt,
    endedAt: at,
    attributes: {
      "posthorn.carrier": name,
      "posthorn.segment": segment,
      "posthorn.segments": segments,
      "posthorn.attempt": attempt,
      "posthorn.outcome": answer.kind,
      "posthorn.carrier_code": answer.kind === "refused" ? answer.carrierCode : null,
    },
    isFailed: answer.kind !== "accepted",
  };
}

/** A receipt, from its arrival until it was stored. */
export function receiptSpan(
  { state, effect, carrierCode }: Receipt,
  {
    segment,
    isApplied,
    at,
    endedAt,
  }: { segment: number; isApplied: boolean; at: Date; endedAt: Date },
): Step {
  return {
    name: "receipt",
    kind: "consumer",
    startedAt: at,
    endedAt,
    attributes: {
      "posthorn.segment": segment,
      "posthorn.receipt_state": state,
      "posthorn.applied": String(isApplied),
      "posthorn.carrier_code": carrierCode,
    },
    isFailed: isBad(effect),
  };
}
