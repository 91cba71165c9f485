import { VisuallyHidden } from "@mantine/core";
import { useNetwork } from "@mantine/hooks";
import { type Query, type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useEffect, useEffectEvent, useRef } from "react";
import type { StreamEvent } from "#contract";
import { addressOf, type ReadRoute } from "../api.ts";
import { formatTime } from "../format.ts";
import { meOptions, useAccount } from "../session.ts";
import { words } from "../text/words.ts";
import { useZone } from "../ui/zone.tsx";
import { askAgain, askAgainAll } from "../use-read.ts";
import classes from "./shell.module.css";
import { useStream } from "./stream.ts";

type Listener = (events: StreamEvent[]) => void;
type Live = { silentSince: number | undefined; listeners: Set<Listener> };

const LiveContext = createContext<Live | undefined>(undefined);

/** The account's stream: asks again for whatever is shown of the things that changed. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const { accountId } = useAccount();
  const listeners = useRef(new Set<Listener>()).current;
  const address = addressOf("GET /console/accounts/{accountId}/stream", { params: { accountId } });
  const silentSince = useStream<StreamEvent>(address, (events) => {
    refresh(client, events);
    for (const listener of listeners) listener(events);
  });
  return <LiveContext value={{ silentSince, listeners }}>{children}</LiveContext>;
}

/** Since when the stream has been silent; undefined while it is on. */
export function useSilentSince(): number | undefined {
  return use(LiveContext)?.silentSince;
}

/** Whether the shell around the page has a stream, and says when it is off. */
export function useHasStream(): boolean {
  return use(LiveContext) !== undefined;
}

/** Warns that what is shown may be outdated, as the stream is off; undefined means it is on. */
export function ConnectionBanner({ silentSince }: { silentSince: number | undefined }) {
  const text = useConnectionTrouble(silentSince);
  if (text === undefined) return <VisuallyHidden role="status" />;
  return (
    <div role="status" className={classes["banner"]}>
      {text}
    </div>
  );
}

function useConnectionTrouble(silentSince: number | undefined): string | undefined {
  const { online } = useNetwork();
  const zone = useZone();
  // Each poll asks this again, so it shows whether polls still get answers.
  const { isError, dataUpdatedAt } = useQuery(meOptions);
  if (!online) return words.offline;
  if (silentSince === undefined) return undefined;
  if (!isError) return words.liveOff;
  const at = new Date(Math.max(silentSince, dataUpdatedAt)).toISOString();
  return words.noAnswer(formatTime(at, zone));
}

/** For pages that need more than asking again, such as the lists that never move rows. */
export function useLiveEvents(onEvents: Listener): void {
  const listeners = use(LiveContext)?.listeners;
  const tell = useEffectEvent(onEvents);
  useEffect(() => {
    const listener: Listener = (events) => tell(events);
    listeners?.add(listener);
    return () => void listeners?.delete(listener);
  }, [listeners]);
}

const A = "GET /console/accounts/{accountId}";
const STATS = [
  `${A}/stats/summary`,
  `${A}/stats/statuses`,
  `${A}/stats/latency`,
  `${A}/stats/credits`,
  `${A}/stats/errors`,
] as const satisfies ReadRoute[];
const CREDITS = [
  "GET /console/me",
  `${A}/credits`,
  `${A}/ledger`,
  `${A}/stats/credits`,
] as const satisfies ReadRoute[];

/** What each type of event makes us ask again; a message's own page is found by its id. */
const SHOWS: Record<StreamEvent["type"], readonly ReadRoute[]> = {
  message: [...STATS, `${A}/progress`],
  messages: [
    ...STATS,
    `${A}/progress`,
    `${A}/messages/{messageId}`,
    `${A}/messages/{messageId}/events`,
  ],
  key: [`${A}/keys`, `${A}/progress`],
  delivery: [
    `${A}/webhook-deliveries/{deliveryId}`,
    `${A}/webhook-hosts`,
    `${A}/replays/{replayId}`,
    `${A}/messages/{messageId}/events`,
    `${A}/stats/webhooks`,
    `${A}/progress`,
  ],
  credits: CREDITS,
  member: [`${A}/members`, `${A}/invitations`, "GET /console/me", `${A}/progress`],
  account: [A, "GET /console/me"],
  all: [],
  ended: ["GET /console/me"],
};

/** Lists refresh themselves, as they must not move rows; a hidden one is read again when shown. */
const LISTS: unknown[] = [`${A}/messages`, `${A}/webhook-deliveries`] satisfies ReadRoute[];
const isList = ({ queryKey }: Query) => LISTS.includes(queryKey[0]);

function refresh(client: QueryClient, events: StreamEvent[]): void {
  const types = new Set(events.map(({ type }) => type));
  void client.invalidateQueries({ predicate: isList, type: "inactive" });
  if (types.has("all")) {
    return askAgainAll(client, { predicate: (query) => !isList(query) });
  }
  askAgain(client, [...new Set([...types].flatMap((type) => SHOWS[type]))]);
  for (const event of events) {
    if (event.type !== "message") continue;
    const own = [`${A}/messages/{messageId}`, `${A}/messages/{messageId}/events`] as const;
    askAgain(client, own, { messageId: event.id });
  }
}
