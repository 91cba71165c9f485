import { randomInt } from "node:crypto";
import { keepNewest } from "#platform";
import type { ConcatReference } from "./draft.ts";

/** Recipients remembered at most; the longest untouched are forgotten first. */
const MAX_RECIPIENTS = 10_000;

/**
 * Numbers the long messages to each recipient, so that a handset never joins segments of two messages.
 * Whoever sends them: the sender may be the account's or the carrier's, which is known later. Each recipient
 * starts at a random number: a counter that began at 1 with the process would meet its own numbers again
 * after a restart.
 */
export function concatReferences(): ConcatReference {
  const last = new Map<string, number>();
  return (recipient) => {
    const next = ((last.get(recipient) ?? randomInt(256)) + 1) % 256;
    last.delete(recipient);
    last.set(recipient, next);
    keepNewest(last, MAX_RECIPIENTS);
    return next;
  };
}
