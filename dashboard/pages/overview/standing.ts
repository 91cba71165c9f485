import type { LinkProps } from "@tanstack/react-router";
import type { Alert } from "#contract";
import { countOf } from "../../format.ts";
import { overviewText as text } from "../../text/overview.ts";

type Known = {
  alerts: Pick<Alert, "kind">[];
  daysLeft: number | null;
  /** Events that wait for another attempt. */
  retrying: number;
  isOperator: boolean;
  /** A receiver has taken an event. */
  hasWebhook: boolean;
};

/** How things stand: each part leads to where one sees more. Of what nobody uses nothing is said. */
export function standingOf(known: Known): [words: string, link: LinkProps][] {
  const { alerts, daysLeft, retrying, isOperator, hasWebhook } = known;
  const count = (kind: Alert["kind"]) => alerts.filter((alert) => alert.kind === kind).length;
  const [down, failing] = [count("carrier_down"), count("receiver_failing")];
  const parts: [words: string, link: LinkProps][] = [];
  if (isOperator)
    parts.push([
      down === 0 ? text.noCarrierDown : text.carriersDown(countOf(down, "carrier")),
      { to: "/operator/carriers" },
    ]);
  if (hasWebhook || failing > 0)
    parts.push([
      failing === 0
        ? text.receiversUp
        : text.receiversFailing(countOf(failing, "failing receiver")),
      { to: "/webhooks", search: { tab: "hosts" } },
    ]);
  if (retrying > 0)
    parts.push([
      text.retrying(countOf(retrying, "event")),
      { to: "/webhooks", search: { state: ["retrying"] } },
    ]);
  if (daysLeft !== null)
    parts.push([text.creditsFor(countOf(daysLeft, "day")), { to: "/credits" }]);
  return parts;
}
