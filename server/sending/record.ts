import { lockAccounts } from "#accounts";
import type { SubmitOutcome } from "#carriers";
import type { DeliveryErrorCode, SubmissionOutcome } from "#contract";
import {
  messageOfMove,
  type MessageRow,
  type Move,
  moveMessages,
  type MoveListener,
} from "#messages";
import { sql, type Transaction } from "#platform";
import type { MatchRules } from "./match-receipts.ts";
import type { Step } from "./next-step.ts";
import { findEarlyRejections, settleSent } from "./settle-sent.ts";

/** The holder was lost, its answer unrecorded. `isLast`: nothing of the message is sent again. */
type LostHolder = { kind: "process_lost"; isLast: boolean };

export type Doubt = "timeout" | "link_lost" | "process_lost";

/** What became of one submission of one segment, and what follows for its message. */
export type Submission = {
  message: MessageRow;
  /** The epoch of the lease under which it was submitted. */
  epoch: number;
  carrierId: string;
  segment: number;
  /** The number of this submission of the segment, from 1; 0 if nothing was submitted. */
  turn: number;
  /** Whether it held all of a message of several segments, in one piece. */
  isWhole?: boolean;
  answer: SubmitOutcome | LostHolder | { kind: "none" };
  /** Null if more segments of the message follow under the same lease. */
  step: Exclude<Step, { next: "done" }> | { next: "sent" } | null;
  at: Date;
};

type Batch = {
  nodeId: string;
  submissions: Submission[];
  rules: MatchRules;
  listener: MoveListener;
  /** Accounts that the caller's transaction needs later: all are locked here, in one order. */
  alsoLocked: readonly string[];
};

/** The messages whose lease this node holds, with its epoch. */
type Held = ReadonlyMap<string, number>;

export function isHeld(held: Held, { message, epoch }: Submission): boolean {
  return held.get(message.message_id) === epoch;
}

/** Stores submissions and moves their messages, all in the caller's transaction. */
export async function recordSubmissions(
  tx: Transaction,
  { nodeId, submissions: told, rules, listener, alsoLocked }: Batch,
): Promise<Held> {
  if (told.length === 0) return new Map();
  const submissions = await withEarlierAnswers(tx, told);
  const ofStep = (next: "sent" | "fail") => submissions.filter(({ step }) => step?.next === next);
  const begunBefore = ofStep("sent").filter(isBegunBefore);
  const failing = [
    ...alsoLocked,
    ...ofStep("fail").map(({ message }) => message.account_id),
    ...(await findEarlyRejections(
      tx,
      begunBefore.map(({ message }) => message),
    )),
  ];
  if (failing.length > 0) await lockAccounts(tx, [...new Set(failing)]);
  const held = await storeSubmissions(tx, nodeId, submissions);
  await moveMessages(
    tx,
    submissions.filter((submission) => isHeld(held, submission)).flatMap(moveOf),
    listener,
  );
  const at = submissions.at(-1)?.at ?? new Date(0);
  await settleSent(
    tx,
    begunBefore.filter((submission) => isHeld(held, submission)).map(({ message }) => message),
    at,
    { rules, listener },
  );
  return held;
}

type EarlierAnswer = {
  message_id: string;
  segment: number;
  outcome: SubmissionOutcome;
  error_code: DeliveryErrorCode | null;
  carrier_code: string | null;
};

/**
 * A late answer to a submission may come while its segment is being resent, or just before its
 * message is given up. If the carrier accepted the segment, a failure of it ends nothing: the next
 * claim goes on from there. If the carrier refused it, the message fails for that reason, not for a
 * doubt. A message that expires reports the code of the segment's last temporary refusal.
 */
async function withEarlierAnswers(tx: Transaction, told: Submission[]): Promise<Submission[]> {
  const failed = new Set(told.filter(({ step, turn }) => step?.next === "fail" && turn !== 1));
  if (failed.size === 0) return told;
  const stored = await tx.query<EarlierAnswer>(sql`
    select distinct on (message_id, segment, outcome) message_id, segment, outcome, error_code, carrier_code
      from submissions
     where message_id = any (${[...failed].map(({ message }) => message.message_id)}::uuid[])
       and (outcome in ('accepted', 'refused_temporarily') or (outcome = 'refused' and in_doubt_at is not null))
     order by message_id, segment, outcome, turn desc`);
  const accepted = new Set(told.filter(({ answer }) => answer.kind === "accepted").map(segmentKey));
  const refused = new Map<string, Submission["step"]>();
  const lastCodes = new Map<string, string | null>();
  for (const { message_id, segment, outcome, error_code: code, carrier_code } of stored) {
    const key = `${message_id} ${segment}`;
    if (outcome === "accepted") accepted.add(key);
    else if (outcome === "refused_temporarily") lastCodes.set(key, carrier_code);
    else if (code) refused.set(key, { next: "fail", code, carrierCode: carrier_code });
  }
  return told.map((submission) => {
    const { carrierId, step } = submission;
    if (!failed.has(submission) || step?.next !== "fail") return submission;
    const key = segmentKey(submission);
    if (accepted.has(key)) return { ...submission, step: { next: "again", delayMs: 0, carrierId } };
    if (step.code === "UNKNOWN") return { ...submission, step: refused.get(key) ?? step };
    if (step.code !== "EXPIRED") return submission;
    const carrierCode = step.carrierCode ?? lastCodes.get(key) ?? null;
    return { ...submission, step: { ...step, carrierCode } };
  });
}

/** Identifies a segment. */
export function segmentKey({ message, segment }: Pick<Submission, "message" | "segment">): string {
  return `${message.message_id} ${segment}`;
}

/** Whether the carrier may have had a part of it earlier and already reported on that. */
function isBegunBefore({ message, turn }: Submission): boolean {
  return message.segments > 1 || turn !== 1;
}

function moveOf({ message, carrierId, step, at }: Submission): Move[] {
  const move = { ...messageOfMove(message), from: "QUEUED", at } as const;
  if (step?.next === "sent") return [{ ...move, to: "SENT", carrierId }];
  if (step?.next !== "fail") return [];
  return [{ ...move, to: "FAILED", error: { code: step.code, carrierCode: step.carrierCode } }];
}

async function storeSubmissions(
  tx: Transaction,
  nodeId: string,
  submissions: Submission[],
): Promise<Held> {
  const each = <Value>(pick: (submission: Submission) => Value) => submissions.map(pick);
  const rows = await tx.query<{ message_id: string; lease_epoch: number }>(sql`
    select message_id, lease_epoch
      from record_submissions(
        ${nodeId},
        ${each(({ message }) => message.message_id)}::uuid[], ${each(({ message }) => message.account_id)}::uuid[],
        ${each(({ epoch }) => epoch)}::integer[], ${each(({ segment }) => segment)}::smallint[],
        ${each(({ turn }) => turn)}::integer[], ${each(({ isWhole = false }) => isWhole)}::boolean[],
        ${each(({ carrierId }) => carrierId)}::uuid[], ${each(({ at }) => at)}::timestamptz[], ${each(outcomeOf)}::text[],
        ${each(({ answer }) => (answer.kind === "accepted" && answer.carrierMessageId !== "" ? answer.carrierMessageId : null))}::text[],
        ${each(({ answer }) => (answer.kind === "accepted" && answer.matchId !== "" ? answer.matchId : null))}::text[],
        ${each(({ answer }) => (answer.kind === "refused" ? answer.carrierCode : null))}::text[],
        ${each(({ answer }) => (answer.kind === "refused" ? answer.code : null))}::text[],
        ${each((submission) => (doubtOf(submission) ? submission.at : null))}::timestamptz[],
        ${each(doubtOf)}::text[], ${each(actionOf)}::text[],
        ${each(({ step }) => (step?.next === "fail" ? "failed" : (step?.next ?? null)))}::text[],
        ${each(({ step }) => (step?.next === "again" ? Math.round(step.delayMs) : null))}::integer[],
        ${each(({ step }) => (step?.next === "again" ? step.carrierId : null))}::uuid[]
      )`);
  return new Map(rows.map(({ message_id, lease_epoch }) => [message_id, lease_epoch]));
}

function outcomeOf({ answer }: Submission): SubmissionOutcome | null {
  switch (answer.kind) {
    case "accepted":
      return "accepted";
    case "refused":
      return answer.temporary ? "refused_temporarily" : "refused";
    case "unsent":
      return "unsent";
    case "in_doubt":
    case "process_lost":
    case "none":
      return null;
  }
}

/** Why it is unknown whether the carrier has the segment; null if there is no doubt. */
export function doubtOf({ answer }: Submission): Doubt | null {
  if (answer.kind === "in_doubt") return answer.why;
  return answer.kind === "process_lost" ? "process_lost" : null;
}

function actionOf(submission: Submission): "resend" | "fail" | null {
  const { answer, step } = submission;
  if (doubtOf(submission) === null) return null;
  const isLast = answer.kind === "process_lost" ? answer.isLast : step?.next === "fail";
  return isLast ? "fail" : "resend";
}
