import { randomInt } from "node:crypto";
import { keepNewest } from "#platform";
import type { ConcatReference } from "./draft.ts";

/** The most recipients that are remembered. The least recently used are forgotten first. */
const MAX_RECIPIENTS = 10_000;

/**
 * Numbers the long messages to each recipient, so that a handset never joins segments of two
 * messages. The sender is ignored, because the account's or carrier's default may be filled in
 * later. Each recipient starts at a random number: a counter that starts at 1 with the process
 * would repeat its own numbers after a restart.
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
