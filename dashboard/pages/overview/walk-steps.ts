import type { Answer } from "../../api.ts";

export type Progress = Answer<"GET /console/accounts/{accountId}/progress">;
export type StepName = "key" | "send" | "webhook" | "invite";

/** The steps to a first delivered message; the account's progress says which are done. */
const STEPS: { name: StepName; isDone: (progress: Progress) => boolean }[] = [
  { name: "key", isDone: ({ hasKey }) => hasKey },
  { name: "send", isDone: ({ hasDelivered }) => hasDelivered },
  { name: "webhook", isDone: ({ hasWebhook }) => hasWebhook },
  { name: "invite", isDone: ({ hasInvited }) => hasInvited },
];

export type WalkStep = { name: StepName; isDone: boolean; isNext: boolean };

/** The steps with their states; the first that is not done is the next one. */
export function walkSteps(progress: Progress): WalkStep[] {
  const next = STEPS.find(({ isDone }) => !isDone(progress))?.name;
  return STEPS.map(({ name, isDone }) => ({
    name,
    isDone: isDone(progress),
    isNext: name === next,
  }));
}
