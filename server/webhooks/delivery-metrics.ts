import type { Metrics } from "#platform";
import { outcomeClass } from "./outcome.ts";
import type { Attempt } from "./post.ts";
import type { Ended } from "./schedule.ts";

export type DeliveryMetrics = ReturnType<typeof deliveryMetrics>;

/** What `/metrics` tells of webhooks. */
export function deliveryMetrics(metrics: Metrics) {
  const attempts = metrics.counter(
    "webhook_attempts_total",
    "Webhook attempts, by what became of them.",
    ["class"],
  );
  const ended = metrics.counter(
    "webhook_deliveries_ended_total",
    "Webhook deliveries that ended, by how.",
    ["ended"],
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
    "Age of the oldest webhook that is due and has not begun.",
  );
  const inFlight = metrics.gauge("webhook_in_flight", "Webhook attempts under way.");
  const hosts = metrics.gauge("webhook_hosts", "Receivers known to this node, by health.", [
    "health",
  ]);
  return {
    begun: (delayMs: number) => delay.observe(Math.max(0, delayMs) / 1000),
    attempted({ outcome }: Attempt, how: Ended | null) {
      attempts.labels(outcomeClass(outcome) ?? "delivered").inc();
      if (how !== null) ended.labels(how).inc();
    },
    gaveUp: (how: Ended, count: number) => ended.labels(how).inc(count),
    interrupted: () => interrupted.inc(),
    oldestDue: (ageMs: number) => oldestDue.set(Math.max(0, ageMs) / 1000),
    inFlight: (count: number) => inFlight.set(count),
    hosts(healths: ReadonlyMap<string, number>) {
      for (const health of ["unproven", "proven", "failing", "slow", "open"])
        hosts.labels(health).set(healths.get(health) ?? 0);
    },
  };
}
