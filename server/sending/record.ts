import { lockAccounts } from "#accounts";
import type { SubmitOutcome } from "#carriers";
import type { SubmissionOutcome } from "#contract";
import { type MessageRow, type Move, moveMessages, type Outbox } from "#messages";
import { sql, type Transaction } from "#platform";
import type { Step } from "./next-step.ts";
import { findEarlyRejections, type MatchRules, settleSent } from "./receipts.ts";

/** What became of one submission of one segment, and what follows for its message. */
export type Submission = {
  message: MessageRow;
  /** Of the lease under which it was submitted. */
  epoch: number;
  carrierId: string;
  segment: number;
  /** Counts the submissions of this segment from 1. */
  turn: number;
  answer: SubmitOutcome | { kind: "process_lost" } | { kind: "none" };
  /** Null where more segments of the message follow under the same lease. */
  step: Exclude<Step, { next: "done" }> | { next: "sent" } | null;
  at: Date;
};

type Batch = {
  nodeId: string;
  submissions: Submission[];
  rules: MatchRules;
  outbox: Outbox | undefined;
  /** Accounts that the caller's transaction needs later: all are locked at once, in one order. */
  alsoLocked?: readonly string[];
};

/** Stores submissions and moves their messages, all in the caller's transaction. */
export async function recordSubmissions(
  tx: Transaction,
  { nodeId, submissions, rules, outbox, alsoLocked = [] }: Batch,
): Promise<void> {
  if (submissions.length === 0) return;
  const ofStep = (next: "sent" | "fail") =>
    submissions.filter(({ step }) => step?.next === next).map(({ message }) => message);
  const longSent = ofStep("sent").filter(({ segments }) => segments > 1);
  const failing = [
    ...alsoLocked,
    ...ofStep("fail").map(({ account_id }) => account_id),
    ...(await findEarlyRejections(tx, longSent)),
  ];
  if (failing.length > 0) await lockAccounts(tx, [...new Set(failing)]);
  const held = await storeSubmissions(tx, nodeId, submissions);
  await moveMessages(
    tx,
    submissions.filter(({ message }) => held.has(message.message_id)).flatMap(moveOf),
    outbox,
  );
  const at = submissions.at(-1)?.at ?? new Date(0);
  await settleSent(
    tx,
    longSent.filter(({ message_id }) => held.has(message_id)),
    at,
    { rules, outbox },
  );
}

function moveOf({ message, step, at }: Submission): Move[] {
  const {
    account_id: accountId,
    message_id: messageId,
    recipient,
    callback_url: callbackUrl,
  } = message;
  const move = { accountId, messageId, recipient, callbackUrl, from: "QUEUED", at } as const;
  if (step?.next === "sent") return [{ ...move, to: "SENT" }];
  if (step?.next !== "fail") return [];
  return [{ ...move, to: "FAILED", error: { code: step.code, carrierCode: step.carrierCode } }];
}

/** Answers the ids of messages whose lease this node still held. */
async function storeSubmissions(
  tx: Transaction,
  nodeId: string,
  submissions: Submission[],
): Promise<Set<string>> {
  const each = <Value>(pick: (submission: Submission) => Value) => submissions.map(pick);
  const rows = await tx.query<{ message_id: string }>(sql`
    select message_id
      from record_submissions(
        ${nodeId},
        ${each(({ message }) => message.message_id)}::uuid[], ${each(({ message }) => message.account_id)}::uuid[],
        ${each(({ epoch }) => epoch)}::integer[], ${each(({ segment }) => segment)}::smallint[],
        ${each(({ turn }) => turn)}::smallint[], ${each(({ carrierId }) => carrierId)}::uuid[],
        ${each(({ at }) => at.toISOString())}::timestamptz[], ${each(outcomeOf)}::text[],
        ${each(({ answer }) => (answer.kind === "accepted" ? answer.carrierMessageId : null))}::text[],
        ${each(({ answer }) => (answer.kind === "accepted" && answer.matchId !== "" ? answer.matchId : null))}::text[],
        ${each(({ answer }) => (answer.kind === "refused" ? answer.carrierCode : null))}::text[],
        ${each((submission) => (doubtOf(submission) ? submission.at.toISOString() : null))}::timestamptz[],
        ${each(doubtOf)}::text[], ${each(actionOf)}::text[],
        ${each(({ step }) => (step?.next === "fail" ? "failed" : (step?.next ?? null)))}::text[],
        ${each(({ step }) => (step?.next === "again" ? Math.round(step.delayMs) : null))}::integer[],
        ${each(({ step }) => (step?.next === "again" ? step.carrierId : null))}::uuid[]
      ) as message_id`);
  return new Set(rows.map(({ message_id }) => message_id));
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

/** Why it is not known whether the carrier has the segment; null where it is. */
export function doubtOf({ answer }: Submission): string | null {
  if (answer.kind === "in_doubt") return answer.why;
  return answer.kind === "process_lost" ? "process_lost" : null;
}

function actionOf(submission: Submission): "resend" | "fail" | null {
  if (doubtOf(submission) === null) return null;
  return submission.step?.next === "fail" ? "fail" : "resend";
}
