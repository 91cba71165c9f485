/** What the simulators do with a segment: how they answer it, and what its receipt says. */
export type Behaviour = {
  answer: "accept" | "refuse" | "throttle" | "silence";
  receipt: {
    state: "DELIVRD" | "UNDELIV" | "REJECTD";
    err: string;
    when: "before" | "after";
    delayMs: number;
  } | null;
};

/** How long the simulators stay silent before the fate of a segment counts as unknown. */
export const SILENCE_MS = 2000;

const delivered = { state: "DELIVRD", err: "000", when: "after", delayMs: 0 } as const;
const DELIVERED: Behaviour = { answer: "accept", receipt: delivered };

/** Behaviours by the recipient's last four digits; all others are delivered at once. */
const behaviours: Record<string, Behaviour> = {
  "0001": { answer: "accept", receipt: { ...delivered, state: "UNDELIV", err: "001" } },
  "0002": { answer: "refuse", receipt: null },
  "0003": { ...DELIVERED, answer: "throttle" },
  "0004": { answer: "accept", receipt: null },
  "0005": { answer: "accept", receipt: { ...delivered, delayMs: 10_000 } },
  "0006": { answer: "accept", receipt: { ...delivered, when: "before" } },
  "0007": { answer: "accept", receipt: { ...delivered, state: "REJECTD", err: "007" } },
  "0008": { ...DELIVERED, answer: "silence" },
};

export function isSpecial(recipient: string): boolean {
  return behaviours[recipient.slice(-4)] !== undefined;
}

const THROTTLED_ATTEMPTS = 2;

/**
 * Depends only on the recipient and on how often this segment came before. The caller passes both,
 * so a restarted simulator goes on where the last one was.
 */
export function behaviourOf(
  recipient: string,
  { attempt, resent }: { attempt: number; resent: boolean },
): Behaviour {
  const behaviour = behaviours[recipient.slice(-4)] ?? DELIVERED;
  const isOver =
    (behaviour.answer === "throttle" && attempt > THROTTLED_ATTEMPTS) ||
    (behaviour.answer === "silence" && resent);
  return isOver ? DELIVERED : behaviour;
}
