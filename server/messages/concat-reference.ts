import { randomInt } from "node:crypto";
import type { ConcatReference } from "./draft.ts";

/** Pairs remembered at most; the longest untouched are forgotten first. */
const MAX_PAIRS = 10_000;

/**
 * Numbers the long messages of each pair of sender and recipient, so that a handset never joins
 * segments of two messages. Each pair starts at a random number: a counter that began at 1 with the
 * process would meet its own numbers again after a restart.
 */
export function concatReferences(): ConcatReference {
  const last = new Map<string, number>();
  return (sender, recipient) => {
    const pair = `${sender ?? ""} ${recipient}`;
    const next = ((last.get(pair) ?? randomInt(256)) + 1) % 256;
    last.delete(pair);
    last.set(pair, next);
    if (last.size > MAX_PAIRS) last.delete(last.keys().next().value ?? "");
    return next;
  };
}
