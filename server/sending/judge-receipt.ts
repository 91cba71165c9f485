import type { Receipt } from "#carriers";
import { type LockedMessage, messageOfMove, type Move } from "#messages";
import type { Match } from "./match-receipts.ts";

/** Per segment: what its receipts have decided, and the turns of it that still await one. */
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
  /** Whether it changed anything, as far as is known when it comes. */
  isApplied: boolean;
  /** Whether it is what its submission has reached. */
  isCounted: boolean;
  /** Whether its segment is lost by it. */
  isLoss: boolean;
};

const IGNORED: Verdict = { move: undefined, isApplied: false, isCounted: false, isLoss: false };

/** What one receipt does to its message, given what its other segments have reached. */
export function judgeReceipt(
  message: LockedMessage,
  { match, receipt, at, progress, per }: Judgement,
): Verdict {
  const { effect, errorCode, carrierCode } = receipt;
  const state = progress.get(match.segment) ?? { effect: null, open: new Set([match.turn]) };
  // Carriers repeat themselves: of a segment handed over twice, each counts once.
  const isDecided = state.effect !== null || !state.open.has(match.turn);
  if (effect === "none" || isDecided || !isOpen(message)) return IGNORED;
  // The first segment that is lost decides the message, so what is told of others changes nothing. It is
  // noted all the same: before SENT the lost segment may be handed over once more, and be lost no longer.
  const isApplied = ![...progress.values()].some((each) => isBad(each.effect));
  state.open.delete(match.turn);
  // In doubt, the segment was submitted twice: it is lost only when neither is open any more.
  const isUndecided = isBad(effect) && state.open.size > 0;
  if (!isUndecided) state.effect = effect;
  const noted = { isApplied, isCounted: true, isLoss: isBad(effect) && !isUndecided };
  // While segments are still being handed over nothing ends: with SENT, `settleSent` looks at what was noted.
  if (isUndecided || message.status === "QUEUED") return { ...noted, move: undefined };
  const move = finalMove(message, { effect, progress, per, at, errorCode, carrierCode });
  return { ...noted, move };
}

/** What a receipt says of the end. */
export type Ending = Pick<Receipt, "effect" | "errorCode" | "carrierCode">;
type Finish = Ending & Pick<Judgement, "progress" | "per" | "at">;

/** DELIVERED when every segment is; the first bad one decides at once. */
export function finalMove(
  message: LockedMessage,
  { effect, progress, per, at, errorCode, carrierCode }: Finish,
): Move | undefined {
  // A receipt may be older than the answer it overtook; a message is never delivered before it is sent.
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
