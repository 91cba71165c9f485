import type { Carrier, CarrierCounts, CarrierState } from "#carriers";
import { linkStates } from "#contract/words";
import type { Metrics, Reading } from "#platform";

/** A hostile SMSC could invent statuses for ever, so only the most frequent ones are reported. */
const MAX_STATUSES = 30;

type Read = (state: CarrierState) => Reading[];

/** The metrics of this node's carriers, read from them on each scrape. */
export function watchCarriers(
  metrics: Metrics,
  carriers: () => Pick<Carrier, "name" | "state">[],
): void {
  const each = (read: Read) => () =>
    carriers().flatMap((carrier) =>
      read(carrier.state()).map(({ labels, value }) => ({
        labels: { carrier: carrier.name, ...labels },
        value,
      })),
    );
  const gauge = (name: string, help: string, labels: string[], read: Read) =>
    metrics.watchedGauge(`carrier_${name}`, help, ["carrier", ...labels])(each(read));
  const counter = (name: string, help: string, labels: string[], read: Read) =>
    metrics.watchedCounter(`carrier_${name}_total`, help, ["carrier", ...labels])(each(read));
  const count = (name: string, help: string, of: keyof CarrierCounts) =>
    counter(name, help, [], ({ counts }) => [one(counts[of])]);

  gauge(
    "up",
    "1 where this node is bound to it and can submit, unless it only receives; else 0.",
    [],
    ({ state }) => [one(state === "down" ? 0 : 1)],
  );
  gauge("binds", "Binds of this node, by state.", ["state"], bindsOf);
  gauge("window_in_use", "Submits of a bind that await their answer.", ["bind"], ({ links }) =>
    links.map(({ windowInUse }, place) => one(windowInUse, { bind: String(place + 1) })),
  );
  gauge("response_seconds", "Time to the answer, over the last minute.", ["quantile"], responseOf);
  counter("submits", "Submits by what came of them.", ["outcome"], submitsOf);
  count("accepted_without_id", "Accepted submits without an id.", "acceptedWithoutId");
  counter("refusals", "Refused submits by the carrier's status.", ["status"], refusalsOf);
  count("receipts", "Receipts that arrived.", "receipts");
  count("inbound_texts", "Texts of subscribers that arrived: taken and dropped.", "inboundTexts");
  count("throttles", "Refusals that asked for less.", "throttled");
  count("reconnects", "Binds that were lost and sought anew.", "reconnects");
  count("late_answers", "Answers that came after the submit was in doubt.", "lateAnswers");
  count("unreadable", "Receipts and requests that could not be understood.", "unreadable");
  count("unknown_states", "Receipts whose state nothing maps.", "unknownStates");
}

function one(value: number, labels: Record<string, string> = {}): Reading {
  return { labels, value };
}

function bindsOf({ links }: CarrierState): Reading[] {
  return linkStates.map((wanted) =>
    one(links.filter(({ state }) => state === wanted).length, { state: wanted }),
  );
}

function responseOf({ responseMs }: CarrierState): Reading[] {
  if (responseMs === null) return [];
  return [
    one(responseMs.p50 / 1000, { quantile: "0.5" }),
    one(responseMs.p99 / 1000, { quantile: "0.99" }),
  ];
}

function submitsOf({ counts }: CarrierState): Reading[] {
  return [
    one(counts.accepted, { outcome: "accepted" }),
    one(counts.refused, { outcome: "refused" }),
    one(counts.inDoubt, { outcome: "in_doubt" }),
  ];
}

function refusalsOf({ statuses }: CarrierState): Reading[] {
  return Object.entries(statuses)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MAX_STATUSES)
    .map(([status, value]) => one(value, { status }));
}
