import type { OperatorStreamEvent, StreamEvent } from "#contract";
import type { Change } from "./watch.ts";

type Event = StreamEvent | OperatorStreamEvent;

/** More ids than this at once say only that messages changed. */
const MAX_IDS = 200;

/** What changed since the last batch, each thing once: of a message its latest version. */
export function eventsOf(changes: readonly Change[]): Event[] {
  const messages = new Map<string, number>();
  const others = new Map<string, Event>();
  for (const { kind, ids, versions, is_charged } of changes) {
    if (is_charged) others.set("credits", { type: "credits" });
    if (kind === "message")
      ids.forEach((id, n) => messages.set(id, Math.max(messages.get(id) ?? 0, versions[n] ?? 0)));
    else for (const event of otherEvents(kind, ids)) others.set(JSON.stringify(event), event);
  }
  if (messages.size + others.size > MAX_IDS)
    return [{ type: messages.size > 0 ? "messages" : "all" }, ...plain(others)];
  return [
    ...[...messages].map(([id, version]): Event => ({ type: "message", id, version })),
    ...others.values(),
  ];
}

/** Those that name no id, however many others there were. */
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
 * A batch as server-sent events. Only the last carries the id: a browser cut off amid a batch comes
 * back with the id before it, and hears all of it again.
 */
export function writeEvents(events: readonly Event[], id: string | null): string {
  return events
    .map((event, n) => {
      const idLine = id !== null && n === events.length - 1 ? `id: ${id}\n` : "";
      return `${idLine}data: ${JSON.stringify(event)}\n\n`;
    })
    .join("");
}
