import { type Leave, narrowGate } from "#platform";
import { waitFor } from "./field-problems.ts";

/** A gate per person or network, kept while in use; callers turned away are told when to retry. */
export function gatePerPerson(limits: {
  maxRunning: number;
  maxWaiting: number;
  waitSeconds: number;
}): (whose: string) => Promise<Leave> {
  const { maxRunning, maxWaiting, waitSeconds } = limits;
  const gates = new Map<string, ReturnType<typeof narrowGate>>();
  return async (whose) => {
    const gate = gates.getOrInsertComputed(whose, () => narrowGate(maxRunning, maxWaiting));
    const leave = await gate.enter();
    if (!leave) throw waitFor(waitSeconds);
    return () => {
      leave();
      if (gate.isEmpty()) gates.delete(whose);
    };
  };
}
