import type { Carrier, OutgoingSegment, SubmitOutcome } from "#carriers";
import { splitText } from "#contract/segments";
import type { MessageRow, Routing } from "#messages";
import { type Clock, keepNewest, type Log, type Tracer } from "#platform";
import type { DueSend } from "./due-send.ts";
import { afterDoubt, EXPIRED, type FailStep, nextStep } from "./next-step.ts";
import { submitSpan } from "./sending-spans.ts";
import { segmentKey, type Submission } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { ThrottleWatch } from "./throttled.ts";

/** What handing over needs of a carrier. */
export type Taker = Pick<Carrier, "carrierId" | "name" | "inDoubt" | "wholeMessages" | "submit">;

export type HandOverDeps = {
  carrier: Taker;
  recorder: Recorder;
  /** The copy at hand, which may be a second old, or one read anew. */
  routing: (isAnew?: boolean) => Promise<Routing>;
  /** Whether the operator has paused it: nothing goes over to it then. */
  isPaused: (carrierId: string) => boolean;
  clock: Clock;
  log: Log;
  tracer?: Tracer | undefined;
  /** Whether the lease surely holds: renewed lately, by the clock of leases. */
  isLeaseFresh: (due: DueSend) => boolean;
  throttling?: ThrottleWatch;
  /** A message goes back to the queue: it was there before whoever comes now. */
  onBack?: () => void;
  /** Segments that a carrier has answered late: nothing of them that has not left need leave again. */
  answeredLate: Set<string>;
  /** How a message ends of which nothing more may leave; EXPIRED where it is only past its validity. */
  ending?: FailStep | undefined;
  /** What is on record of a message's segments by now. */
  readSegments: (messageId: string) => Promise<DueSend["earlier"]>;
};

/** More than the late answers that a carrier's links wait for; the oldest are forgotten first. */
const MAX_ANSWERED_LATE = 10_000;

/**
 * Hands the segments of one message to the carrier, one after the other, and records each answer as
 * it comes. From the moment a segment is written until its answer is recorded, a crash leaves it in
 * doubt: the lease runs out, and the next claim says so before anything else happens.
 */
export async function handOver(
  deps: HandOverDeps,
  due: DueSend,
  signal: AbortSignal,
): Promise<void> {
  if (due.wasLeased && !(await recordLostHolder(deps, due))) return;

  const parts = partsOf(due, deps.carrier);
  const open = parts.filter(({ segment }) => !due.earlier.get(segment)?.isAccepted);
  // Told by a former holder that was overtaken: nobody acted on it yet.
  const refused = open.find(({ segment }) => due.earlier.get(segment)?.refusal);
  const refusal = refused && due.earlier.get(refused.segment)?.refusal;
  if (refusal) return letGo(deps, due, { next: "fail", ...refusal }, refused.segment);
  if (open.length === 0) return letGo(deps, due, { next: "sent" });
  for (const [position, part] of open.entries()) {
    // Also where the carrier has a part of it: the rest would come too late to make it whole.
    const ending = endingOf(deps, due);
    if (ending) return letGo(deps, due, ending, part.segment);
    // Nothing of it is on its way: left to its lease, it would be taken for lost, and in doubt.
    if (!deps.isLeaseFresh(due)) return giveBack(deps, due);
    const isLast = position === open.length - 1;
    const goesOn = await handOverSegment(
      deps,
      due,
      { part, isLast, isBegun: parts.length > open.length - position },
      signal,
    );
    if (!goesOn) return;
  }
}

type Part = Pick<OutgoingSegment, "segment" | "segments" | "text">;

/**
 * The segments as they were counted and priced: cut by the same function. Whoever may have a part of a
 * message gets the other parts of it, and never the whole instead, whatever its settings are by now.
 */
function partsOf({ message, earlier }: DueSend, { wholeMessages }: Taker): Part[] {
  const isWhole = earlier.get(1)?.isWhole ?? wholeMessages;
  if (isWhole || message.segments === 1) return [{ segment: 1, segments: 1, text: message.text }];
  const split = splitText(message.text, message.encoding);
  const parts = split.outcome === "split" ? split.parts : [message.text];
  return parts.map((text, position) => ({ segment: position + 1, segments: parts.length, text }));
}

async function handOverSegment(
  deps: HandOverDeps,
  due: DueSend,
  { part, isLast, isBegun }: { part: Part; isLast: boolean; isBegun: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const { carrier, clock, recorder } = deps;
  const { message } = due;
  const before = due.earlier.get(part.segment);
  const turn = (before?.turns ?? 0) + 1;
  const doubts = before?.doubts ?? 0;
  const startedAt = clock.now();
  const segment = outgoing(message, part, {
    attempt: turn,
    resent: doubts > 0,
    isOvertaken: deps.throttling?.isOvertaken(message.message_id) ?? false,
    at: startedAt,
  });
  let isHeldBack = false;
  const answer = await carrier.submit(segment, signal, () => {
    const isAnswered = deps.answeredLate.has(segmentKey({ message, segment: part.segment }));
    isHeldBack = isAnswered || isExpired(deps, due) || !deps.isLeaseFresh(due);
    return !isHeldBack;
  });
  const at = clock.now();
  deps.tracer?.step(message.message_id, submitSpan(carrier, segment, { answer, startedAt, at }));
  const unfit = [...due.earlier.values()].flatMap((each) => each.unfit);
  const route = (await routeOf(deps, message, answer)).filter(
    (carrierId) =>
      carrierId === carrier.carrierId || !(unfit.includes(carrierId) || deps.isPaused(carrierId)),
  );
  const isKept = answer.kind === "unsent" && (isHeldBack || signal.aborted);
  const step = nextStep(answer, {
    carrierId: carrier.carrierId,
    inDoubt: carrier.inDoubt,
    route,
    attempt: due.attempt,
    doubts,
    isBegun,
    isKept,
    throttledMs: deps.throttling?.note(message.message_id, answer) ?? 0,
    now: at,
    expiresAt: message.expires_at,
  });
  if (step.next === "again") deps.onBack?.();
  const submission: Submission = {
    message,
    epoch: due.epoch,
    carrierId: carrier.carrierId,
    segment: part.segment,
    turn,
    isWhole: part.segments < message.segments,
    // What we kept from leaving leaves no trace.
    answer: isKept ? { kind: "none" } : answer,
    step: step.next === "done" ? (isLast ? { next: "sent" } : null) : step,
    at,
  };
  const storing = recorder.submission(submission);
  if (answer.kind === "in_doubt" && answer.lateAnswer)
    followLateAnswer(deps, submission, Promise.all([answer.lateAnswer, storing]));
  // The next segment leaves after this answer is stored, so at most one of a message is ever in doubt.
  const stored = await storing;
  return stored === "stored" && step.next === "done" && !isLast;
}

function outgoing(
  message: MessageRow,
  part: Part,
  { at, ...submission }: Pick<OutgoingSegment, "attempt" | "resent" | "isOvertaken"> & { at: Date },
): OutgoingSegment {
  const validityMs = message.expires_at.getTime() - at.getTime();
  return {
    messageId: message.message_id,
    recipient: message.recipient,
    sender: message.sender,
    encoding: message.encoding,
    wholeText: message.text,
    ...part,
    concatReference: message.concat_reference,
    validitySeconds: Math.max(1, Math.round(validityMs / 1000)),
    ...submission,
  };
}

/** Where it goes on, if it does. A route without the carrier that has the message was changed just now. */
async function routeOf(
  { carrier, routing, log }: HandOverDeps,
  { recipient }: MessageRow,
  answer: SubmitOutcome,
): Promise<readonly string[]> {
  const known = (await routing()).carriersFor(recipient) ?? [];
  const isSettled = answer.kind === "accepted" || answer.kind === "in_doubt";
  if (isSettled || known.includes(carrier.carrierId)) return known;
  try {
    return (await routing(true)).carriersFor(recipient) ?? [];
  } catch (error) {
    // The answer must not be lost with it.
    log.warn({ error }, "the routes could not be read anew");
    return known;
  }
}

/**
 * A late answer fills in the doubt once that is stored; what follows is for whoever resends to find out.
 * A resend that waits for its turn is told: it goes back behind the answer, and the next claim finds it.
 */
function followLateAnswer(
  { recorder, log, clock, answeredLate }: HandOverDeps,
  submission: Submission,
  late: Promise<[SubmitOutcome, unknown]>,
): void {
  const { message } = submission;
  const key = segmentKey(submission);
  late
    .then(async ([answer]) => {
      if (answer.kind !== "accepted" && answer.kind !== "refused") return;
      if (answer.kind === "accepted" || !answer.temporary) answeredLate.add(key);
      keepNewest(answeredLate, MAX_ANSWERED_LATE);
      await recorder.submission({ ...submission, answer, step: null, at: clock.now() });
    })
    .catch((error: unknown) => {
      answeredLate.delete(key);
      log.error({ error, messageId: message.message_id }, "a late answer was lost");
    });
}

function endingOf(deps: HandOverDeps, due: DueSend): FailStep | undefined {
  return deps.ending ?? (isExpired(deps, due) ? EXPIRED : undefined);
}

function isExpired({ clock }: HandOverDeps, { message }: DueSend): boolean {
  return clock.now() >= message.expires_at;
}

/**
 * Whoever held this message has not told what became of it. The first segment without a recorded
 * answer is in doubt: that stands in the history before anything leaves again. The holder may be alive,
 * and tell after all while this goes on: then its answer stands, and there is no doubt. Answers whether
 * to go on.
 */
async function recordLostHolder(deps: HandOverDeps, due: DueSend): Promise<boolean> {
  const { carrier, clock, recorder } = deps;
  const { message, epoch } = due;
  const { carrierId, inDoubt } = carrier;
  const parts = partsOf(due, carrier);
  const part = parts.find(({ segment }) => !due.earlier.get(segment)?.isAccepted);
  if (!part) return true;
  const { segment } = part;
  const { turns = 0, doubts = 0 } = due.earlier.get(segment) ?? {};
  const doubted = (before: number) => afterDoubt({ inDoubt, doubts: before, carrierId });
  const last = doubts > 0 && doubted(doubts - 1);
  // Whoever took that doubt down meant to end the message, and was lost before.
  if (last && last.next === "fail") {
    await letGo(deps, due, last, segment);
    return false;
  }
  const step = doubted(doubts);
  const isLast = step.next === "fail" || endingOf(deps, due) !== undefined;
  const answer = { kind: "process_lost", isLast } as const;
  const stored = await recorder.submission({
    message,
    epoch,
    carrierId,
    segment,
    turn: turns + 1,
    isWhole: part.segments < message.segments,
    answer,
    step: null,
    at: clock.now(),
  });
  if (stored === "overtaken") return false;
  due.earlier = await deps.readSegments(message.message_id);
  const known = due.earlier.get(segment);
  const isInDoubt = !known?.isAccepted && (known?.doubts ?? 0) > doubts;
  if (!isInDoubt || step.next !== "fail") return true;
  await letGo(deps, due, step, segment);
  return false;
}

/** To its old place, at the same carrier; where somebody has taken it over, it stays theirs. */
function giveBack(deps: HandOverDeps, due: DueSend): Promise<void> {
  deps.onBack?.();
  return letGo(deps, due, { next: "again", delayMs: 0, carrierId: deps.carrier.carrierId });
}

/** Lets go of a message without a further submission; it fails because of the segment named. */
async function letGo(
  { carrier, clock, recorder }: HandOverDeps,
  due: DueSend,
  step: NonNullable<Submission["step"]>,
  segment = 1,
): Promise<void> {
  const submission = {
    message: due.message,
    epoch: due.epoch,
    carrierId: carrier.carrierId,
    segment,
    turn: 0,
  };
  await recorder.submission({ ...submission, answer: { kind: "none" }, step, at: clock.now() });
}
