import type { Alert } from "#contract";
import { formatNumber } from "../../format.ts";
import { receiverName } from "../../receiver-name.ts";
import { overviewText as text } from "../../text/overview.ts";

const MOST_NAMES = 3;

/** Combines all alerts of one kind into one sentence. */
export function alertInWords(
  kind: Alert["kind"],
  alerts: Pick<Alert, "subject" | "count">[],
): string {
  const subjects = alerts.flatMap(({ subject }) => subject ?? []);
  const names = kind === "receiver_failing" ? subjects.map(receiverName) : subjects;
  const count = alerts[0]?.count ?? alerts.length;
  const named = names.slice(0, MOST_NAMES).join(", ");
  const more = names.length - MOST_NAMES;
  const shown = more > 0 ? text.andMore(named, formatNumber(more)) : named;
  return text.alertTexts[kind](count, shown || formatNumber(count));
}
