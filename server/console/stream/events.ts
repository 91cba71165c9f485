import type { OperatorStreamEvent, StreamEvent } from "#contract";
import type { Change } from "./watch.ts";

type Event = StreamEvent | OperatorStreamEvent;

/** With more ids than this at once, the event says only that messages changed. */
const MAX_IDS = 200;

/** What changed since the last batch, each thing once; for a message, its latest version. */
export function eventsOf(changes: readonly Change[]): Event[] {
  const messages = new Map<string, number>();
  const others = new Map<string, Event>();
  const note = (event: Event) => others.set(JSON.stringify(event), event);
  for (const { kind, ids, versions, is_charged } of changes) {
    if (is_charged) note({ type: "credits" });
    if (kind === "message")
      ids.forEach((id, n) => messages.set(id, Math.max(messages.get(id) ?? 0, versions[n] ?? 0)));
    else for (const event of otherEvents(kind, ids)) note(event);
  }
  if (messages.size + others.size > MAX_IDS)
    return [...(messages.size > 0 ? [{ type: "messages" } as const] : []), ...plain(others)];
  return [
    ...[...messages].map(([id, version]): Event => ({ type: "message", id, version })),
    ...others.values(),
  ];
}

/** If too many of them name an id, one event says that everything changed. */
function plain(others: Map<string, Event>): Event[] {
  const named = [...others.values()].filter((event) => "id" in event);
  const unnamed = [...others.values()].filter((event) => !("id" in event));
  return named.length > MAX_IDS / 2 ? [{ type: "all" }] : [...named, ...unnamed];
}

function otherEvents(kind: string, ids: readonly string[]): Event[] {
  switch (kind) {
    case "key":
    case "delivery":
    case "member":
      return ids.map((id) => ({ type: kind, id }));
    case "credits":
    case "account":
    case "audit":
    case "accounts":
    case "carriers":
    case "routing":
      return [{ type: kind }];
    default:
      return [{ type: "all" }];
  }
}

/**
 * A batch as server-sent events. Only the last carries the id: a browser cut off within a batch
 * reconnects with the id before it, and gets the whole batch again.
 */
export function writeEvents(events: readonly Event[], id: string | null): string {
  return events
    .map((event, n) => {
      const idLine = id !== null && n === events.length - 1 ? `id: ${id}\n` : "";
      return `${idLine}data: ${JSON.stringify(event)}\n\n`;
    })
    .join("");
}
