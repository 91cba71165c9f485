import type { LinkProps } from "@tanstack/react-router";
import type { Alert } from "#contract";
import { countOf, formatDays } from "../../format.ts";
import { overviewText as text } from "../../text/overview.ts";

type Known = {
  alerts: Pick<Alert, "kind">[];
  daysLeft: number | null;
  /** Events that wait for another attempt. */
  retrying: number;
  isOperator: boolean;
  /** Whether a receiver has ever taken an event. */
  hasWebhook: boolean;
};

/**
 * The present state; each part links to its details. Leaves out what nobody uses, and what an alert
 * already says.
 */
export function standingOf(known: Known): [words: string, link: LinkProps][] {
  const { alerts, daysLeft, retrying, isOperator, hasWebhook } = known;
  const isTold = (...kinds: Alert["kind"][]) => alerts.some(({ kind }) => kinds.includes(kind));
  const parts: [words: string, link: LinkProps][] = [];
  if (isOperator && !isTold("carrier_down"))
    parts.push([text.noCarrierDown, { to: "/operator/carriers" }]);
  if (hasWebhook && !isTold("receiver_failing"))
    parts.push([text.receiversUp, { to: "/webhooks", search: { tab: "hosts" } }]);
  if (retrying > 0)
    parts.push([
      text.retrying(countOf(retrying, "event")),
      { to: "/webhooks", search: { state: ["retrying"] } },
    ]);
  if (daysLeft !== null && !isTold("credits_low", "credits_gone"))
    parts.push([text.creditsFor(formatDays(daysLeft)), { to: "/credits" }]);
  return parts;
}
