import { type Leave, narrowGate } from "#platform";
import { waitFor } from "./field-problems.ts";

/** A gate for each person, kept while they use it; who is turned away is told to wait. */
export function gatePerPerson(limits: {
  maxRunning: number;
  maxWaiting: number;
  waitSeconds: number;
}): (userId: string) => Promise<Leave> {
  const { maxRunning, maxWaiting, waitSeconds } = limits;
  const gates = new Map<string, ReturnType<typeof narrowGate>>();
  return async (userId) => {
    const gate = gates.getOrInsertComputed(userId, () => narrowGate(maxRunning, maxWaiting));
    const leave = await gate.enter();
    if (!leave) throw waitFor(waitSeconds);
    return () => {
      leave();
      if (gate.isEmpty()) gates.delete(userId);
    };
  };
}
