import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { ConsoleMessage } from "#contract";
import { type Answer, call, type Input } from "../../api.ts";
import { useLiveEvents } from "../../shell/live.tsx";
import { askAgainAll, readOptions } from "../../use-read.ts";
import { newerRows } from "./newer-rows.ts";

const LIST = "GET /console/accounts/{accountId}/messages";
type List = Answer<typeof LIST>;
type ListInput = Input<typeof LIST>;

/** More than these at once are read as a page, not one by one. */
const ONE_BY_ONE = 5;
/** Counted at most; more is told as 99+. */
const COUNTED = 100;

type Options = {
  input: ListInput;
  rows: ConsoleMessage[] | undefined;
  isFirstPage: boolean;
  /** New rows are put in at once. */
  isLive: boolean;
};

export type LiveRows = { newCount: number; showNew: () => void };

/**
 * Keeps the shown rows true without moving any: a row that changed is read again in its place, and
 * new ones are only counted, until the reader asks for them or switches Live on.
 */
export function useLiveRows({ input, rows, isFirstPage, isLive }: Options): LiveRows {
  const client = useQueryClient();
  const options = readOptions(LIST, input);
  const newest = rows?.[0]?.message.createdAt;
  // Under the route of the list, which only this asks again.
  const newerKey = [LIST, "newer", input, newest];
  const newer = useQuery({
    queryKey: newerKey,
    queryFn: () => countNewer(input, newest ?? ""),
    enabled: newest !== undefined,
    initialData: 0,
    staleTime: Infinity,
  });
  const reload = () => askAgainAll(client, { queryKey: options.queryKey, exact: true });
  const hasDialog = () => document.querySelector("[role=dialog]") !== null;

  useLiveEvents((events) => {
    const isAll = events.some(({ type }) => type === "all" || type === "messages");
    const ids = new Set(events.flatMap((event) => (event.type === "message" ? [event.id] : [])));
    if (!isAll && ids.size === 0) return;
    const shown = rows ?? [];
    if (isFirstPage && (shown.length === 0 || (isLive && !hasDialog()))) return reload();
    const isShown = new Set(shown.map(({ message }) => message.messageId));
    const changed = isAll ? [...isShown] : [...ids].filter((id) => isShown.has(id));
    // Where the service is away the rows stay as they are; its stream comes back and says "all".
    if (changed.length > 0) refresh(changed).catch(() => undefined);
    if (isFirstPage && (isAll || [...ids].some((id) => !isShown.has(id)))) {
      askAgainAll(client, { queryKey: newerKey, exact: true });
    }
  });

  async function refresh(ids: string[]): Promise<void> {
    const fresh = await readRows(input, ids);
    client.setQueryData<List>(
      options.queryKey,
      (old) => old && { ...old, data: newerRows(old.data, fresh) },
    );
  }

  const newCount = isFirstPage ? newer.data : 0;
  useEffect(() => {
    if (isLive && newCount > 0) reload();
    // oxlint-disable-next-line react/exhaustive-deps -- only when Live is switched on, or goes on
  }, [isLive]);
  return { newCount, showNew: reload };
}

async function countNewer(input: ListInput, newest: string): Promise<number> {
  const createdAfter = new Date(Date.parse(newest) + 1).toISOString();
  const { cursor: _, ...filters } = input.query ?? {};
  const page = await call(LIST, {
    ...input,
    query: { ...filters, createdAfter, limit: COUNTED },
  });
  return page.data.length;
}

async function readRows(input: ListInput, ids: string[]): Promise<Map<string, ConsoleMessage>> {
  const found = new Map<string, ConsoleMessage>();
  if (ids.length > ONE_BY_ONE) {
    const page = await call(LIST, input);
    for (const row of page.data) found.set(row.message.messageId, row);
  }
  const missing = ids.filter((id) => !found.has(id)).slice(0, COUNTED);
  await Promise.all(
    missing.map(async (messageId) => {
      const { accountId } = input.params;
      const row = await call("GET /console/accounts/{accountId}/messages/{messageId}", {
        params: { accountId, messageId },
      }).catch(() => undefined);
      if (row) found.set(messageId, row);
    }),
  );
  return found;
}
