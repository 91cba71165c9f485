import type { Receipt } from "#carriers";
import { type LockedMessage, messageOfMove, type Move } from "#messages";
import type { Match } from "./match-receipts.ts";

/** Per segment: what its receipts have decided, and its turns that still await a receipt. */
export type Progress = Map<number, { effect: Receipt["effect"] | null; open: Set<number> }>;

export function isBad(
  effect: Receipt["effect"] | null | undefined,
): effect is "undelivered" | "rejected" {
  return effect === "undelivered" || effect === "rejected";
}

export function isOpen({ status }: LockedMessage): boolean {
  return status === "SENT" || status === "QUEUED";
}

type Judgement = {
  match: Match;
  receipt: Receipt;
  at: Date;
  progress: Progress;
  per: "segment" | "message";
};

export type Verdict = {
  move: Move | undefined;
  /** Whether it changes anything, as far as is known on arrival. */
  isApplied: boolean;
  /** Whether its submission takes on its effect. */
  isCounted: boolean;
  /** Whether its segment is lost because of it. */
  isLoss: boolean;
};

const IGNORED: Verdict = { move: undefined, isApplied: false, isCounted: false, isLoss: false };

/** Decides what one receipt does to its message, given what the other segments have reached. */
export function judgeReceipt(
  message: LockedMessage,
  { match, receipt, at, progress, per }: Judgement,
): Verdict {
  const { effect, errorCode, carrierCode } = receipt;
  const state = progress.get(match.segment) ?? { effect: null, open: new Set([match.turn]) };
  // Carriers repeat receipts: each submission of a segment counts only its first receipt.
  const isDecided = state.effect !== null || !state.open.has(match.turn);
  if (effect === "none" || isDecided || !isOpen(message)) return IGNORED;
  // The first lost segment decides the message, so receipts for others change nothing. They are
  // still noted: before SENT the lost segment may be submitted again and then be lost no longer.
  const isApplied = ![...progress.values()].some((each) => isBad(each.effect));
  state.open.delete(match.turn);
  // After a doubt the segment was submitted twice. It is lost only when neither submission is open.
  const isUndecided = isBad(effect) && state.open.size > 0;
  if (!isUndecided) state.effect = effect;
  const noted = { isApplied, isCounted: true, isLoss: isBad(effect) && !isUndecided };
  // Nothing ends while segments are still being handed over: at SENT, `settleSent` reads the notes.
  if (isUndecided || message.status === "QUEUED") return { ...noted, move: undefined };
  const move = finalMove(message, { effect, progress, per, at, errorCode, carrierCode });
  return { ...noted, move };
}

/** What a receipt says about how the message ends. */
export type Ending = Pick<Receipt, "effect" | "errorCode" | "carrierCode">;
type Finish = Ending & Pick<Judgement, "progress" | "per" | "at">;

/** DELIVERED once every segment is; the first bad receipt decides at once. */
export function finalMove(
  message: LockedMessage,
  { effect, progress, per, at, errorCode, carrierCode }: Finish,
): Move | undefined {
  // A receipt may come before its answer, but a message is never delivered before it is sent.
  const since = message.sent_at !== null && message.sent_at > at ? message.sent_at : at;
  const move = { ...messageOfMove(message), from: "SENT", at: since } as const;
  const error = { code: errorCode ?? "UNKNOWN", carrierCode };
  switch (effect) {
    case "undelivered":
      return { ...move, to: "UNDELIVERED", error };
    case "rejected":
      return { ...move, to: "FAILED", error };
    case "delivered": {
      const isComplete =
        per === "message" || [...progress.values()].every((each) => each.effect === "delivered");
      return isComplete ? { ...move, to: "DELIVERED" } : undefined;
    }
    case "none":
      return undefined;
  }
}

export function noneYet({ segments }: LockedMessage): Progress {
  return new Map(
    Array.from({ length: segments }, (_, position) => [
      position + 1,
      { effect: null, open: new Set() },
    ]),
  );
}
