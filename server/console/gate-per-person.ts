import { type Leave, narrowGate } from "#platform";
import { waitFor } from "./field-problems.ts";

/** A gate for each person, or network of strangers, kept while they use it; who is turned away is told to wait. */
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
