import type { Metrics } from "#platform";
import type { Health } from "./lane-health.ts";
import { outcomeClass } from "./outcome.ts";
import type { Attempt } from "./post.ts";
import type { Ended } from "./schedule.ts";

const ENDED: Ended[] = ["delivered", "exhausted", "gone", "forbidden"];
const HEALTHS: Health[] = ["unproven", "proven", "failing", "slow", "open"];

export type DeliveryMetrics = ReturnType<typeof deliveryMetrics>;

/** The metrics of webhooks. */
export function deliveryMetrics(metrics: Metrics) {
  const countAttempt = metrics.tally(
    "webhook_attempts_total",
    "Webhook attempts, by what became of them.",
    { label: "class" },
  );
  const countEnded = metrics.tally(
    "webhook_deliveries_ended_total",
    "Webhook deliveries that ended, by how.",
    { label: "ended", known: ENDED },
  );
  const interrupted = metrics.counter(
    "webhook_interrupted_total",
    "Webhook attempts whose process ended before their outcome was recorded.",
  );
  const delay = metrics.histogram(
    "webhook_first_attempt_delay_seconds",
    "From a change of status to the first attempt of its webhook.",
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300],
  );
  const oldestDue = metrics.gauge(
    "webhook_oldest_due_seconds",
    "Age of the oldest webhook that is due and has not begun, by the health of its receiver.",
    ["health"],
  );
  const walked = metrics.gauge(
    "webhook_walked_timestamp_seconds",
    "When this node last looked through everything that is due.",
  );
  const inFlight = metrics.gauge(
    "webhook_in_flight",
    "Webhook attempts under way, by the health of their receiver.",
    ["health"],
  );
  const hosts = metrics.gauge("webhook_hosts", "Receivers known to this node, by health.", [
    "health",
  ]);
  return {
    begun: (delayMs: number) => delay.observe(Math.max(0, delayMs) / 1000),
    attempted({ outcome }: Attempt, how: Ended | null) {
      countAttempt(outcomeClass(outcome) ?? "delivered");
      if (how !== null) countEnded(how);
    },
    gaveUp: (count: number) => countEnded("exhausted", count),
    interrupted: (count: number) => interrupted.inc(count),
    /** All lanes were looked at; `oldest` has the oldest due delivery by health. */
    walked(oldest: ReadonlyMap<Health, Date>, now: Date) {
      walked.set(now.getTime() / 1000);
      for (const health of HEALTHS) {
        const ageMs = now.getTime() - (oldest.get(health) ?? now).getTime();
        oldestDue.labels(health).set(Math.max(0, ageMs) / 1000);
      }
    },
    lanes(survey: { healths: ReadonlyMap<Health, number>; busy: ReadonlyMap<Health, number> }) {
      for (const health of HEALTHS) {
        hosts.labels(health).set(survey.healths.get(health) ?? 0);
        inFlight.labels(health).set(survey.busy.get(health) ?? 0);
      }
    },
  };
}
