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

/** The part of a carrier that handing over uses. */
export type Taker = Pick<Carrier, "carrierId" | "name" | "inDoubt" | "wholeMessages" | "submit">;

export type HandOverDeps = {
  carrier: Taker;
  recorder: Recorder;
  /** The current copy, which may be a second old, or a fresh one. */
  routing: (isAnew?: boolean) => Promise<Routing>;
  /** Whether the operator has paused a carrier: then no message moves to it. */
  isPaused: (carrierId: string) => boolean;
  clock: Clock;
  log: Log;
  tracer?: Tracer | undefined;
  /** Whether the lease certainly still holds: it was renewed recently, by `clock.leaseMs()`. */
  isLeaseFresh: (due: DueSend) => boolean;
  throttling?: ThrottleWatch;
  /** Called when a message goes back to the queue: it goes before newly accepted messages. */
  onBack?: (message: MessageRow) => void;
  /** Segments that were answered late by the carrier: resends that have not left are held back. */
  answeredLate: Set<string>;
  /** How a message ends that may not be sent any more; unset if only its validity decides. */
  ending?: FailStep | undefined;
  /** Reads what is recorded of a message's segments by now. */
  readSegments: (messageId: string) => Promise<DueSend["earlier"]>;
};

/** More late answers than a carrier's links can be waiting for. The oldest are forgotten first. */
const MAX_ANSWERED_LATE = 10_000;

/**
 * Hands the segments of one message to the carrier, one after the other, and records each answer as
 * it comes. A crash after a segment is written and before its answer is recorded leaves it in
 * doubt: the lease runs out, and the next claim records that doubt before anything else happens.
 */
export async function handOver(
  deps: HandOverDeps,
  due: DueSend,
  signal: AbortSignal,
): Promise<void> {
  if (due.wasLeased && !(await recordLostHolder(deps, due))) return;

  const parts = partsOf(due, deps.carrier);
  const open = parts.filter(({ segment }) => !due.earlier.get(segment)?.isAccepted);
  for (const { segment } of open) {
    // Recorded by an earlier holder whose lease had been taken over, so nothing followed from it yet.
    const refusal = due.earlier.get(segment)?.refusal;
    if (refusal) return letGo(deps, due, { next: "fail", ...refusal }, segment);
  }
  if (open.length === 0) return letGo(deps, due, { next: "sent" });
  for (const [position, part] of open.entries()) {
    // Also if the carrier has a part of it: the rest would come too late to complete it.
    const ending = endingOf(deps, due);
    if (ending) return letGo(deps, due, ending, part.segment);
    // Nothing of it is on its way. If its lease just ran out, it would count as lost and in doubt.
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
 * Cuts the text with the same function that counted and priced it. A carrier that may have one part
 * of a message gets the other parts too, never the whole, even if its settings have changed since.
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
  const { turns = 0, doubts = 0 } = due.earlier.get(part.segment) ?? {};
  const turn = turns + 1;
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
  const route = await takersFor(deps, due, answer);
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
  if (step.next === "again") deps.onBack?.(message);
  const submission: Submission = {
    message,
    epoch: due.epoch,
    carrierId: carrier.carrierId,
    segment: part.segment,
    turn,
    isWhole: part.segments < message.segments,
    // What we held back leaves no trace.
    answer: isKept ? { kind: "none" } : answer,
    step: step.next === "done" ? (isLast ? { next: "sent" } : null) : step,
    at,
  };
  const storing = recorder.submission(submission);
  if (answer.kind === "in_doubt" && answer.lateAnswer)
    followLateAnswer(deps, submission, Promise.all([answer.lateAnswer, storing]));
  // The next segment waits until this answer is stored, so at most one of a message is in doubt.
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
    validitySeconds: Math.round(validityMs / 1000),
    ...submission,
  };
}

/** The carriers of the route for the next try: this one, and others that are fit and not paused. */
async function takersFor(
  deps: HandOverDeps,
  { message, earlier }: DueSend,
  answer: SubmitOutcome,
): Promise<readonly string[]> {
  const unfit = [...earlier.values()].flatMap((each) => each.unfit);
  const route = await routeOf(deps, message, answer);
  return route.filter(
    (carrierId) =>
      carrierId === deps.carrier.carrierId ||
      !(unfit.includes(carrierId) || deps.isPaused(carrierId)),
  );
}

/** The route of a message. If it lacks the message's current carrier, it just changed. */
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
    // A failure here must not lose the answer.
    log.warn({ error }, "the routes could not be read anew");
    return known;
  }
}

/**
 * A late answer fills in the doubt once that is stored; whoever resends acts on it. A resend still
 * waiting its turn is held back: its message is queued again, and the next claim finds the answer.
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
 * The earlier holder did not record what became of this message. The first segment without a
 * recorded answer is in doubt, and the history says so before anything leaves again. If that holder
 * is alive and records its answer meanwhile, the answer stands and there is no doubt. Returns
 * whether to go on.
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
  // An earlier holder recorded that doubt to end the message, and was lost before it could.
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

/** Back to its old place with the same carrier; has no effect if another node took it over. */
function giveBack(deps: HandOverDeps, due: DueSend): Promise<void> {
  deps.onBack?.(due.message);
  return letGo(deps, due, { next: "again", delayMs: 0, carrierId: deps.carrier.carrierId });
}

/** Lets go of a message without a submission. If it fails, the named segment is the reason. */
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
