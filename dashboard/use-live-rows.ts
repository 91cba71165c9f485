import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { StreamEvent } from "#contract";
import { newerRows, type RowKind } from "./newer-rows.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { useLiveEvents } from "./shell/live.tsx";
import { askAgainAll, type Read } from "./use-read.ts";

/** Up to so many rows are read singly, in parallel; for more, the page is read first. */
const ONE_BY_ONE = 5;
/** Higher counts are shown as 99+. */
export const COUNTED = 100;

type Page<Row> = { data: Row[] };

type Options<Row> = RowKind<Row> & {
  list: Read<Page<Row>>;
  /** The key under which the list is cached. */
  queryKey: readonly unknown[];
  isFirstPage: boolean;
  /** Whether new rows are added at once. */
  isLive?: boolean;
  /** The id of the row that an event is about. */
  changedId: (event: StreamEvent) => string | undefined;
  /** Whether an event is about all rows without naming any. */
  isOfAll: (event: StreamEvent) => boolean;
  /** Whether events that name no row can no longer be about this one. */
  isEnded: (row: Row) => boolean;
  /** The current state of the page that is shown. */
  readPage: (shown: Row[]) => Promise<Page<Row>>;
  readRow: (id: string) => Promise<Row>;
  /** How many rows the first page lacks, up to `COUNTED`. */
  countNew: (shown: Row[]) => Promise<number>;
};

export type LiveRows = { newCount: number; showNew: () => void };

/**
 * Keeps the rows up to date without moving any: a changed row is read again in its place; new rows
 * are only counted, until the reader asks for them or switches Live on. The cursors stay those of
 * the rows shown.
 */
export function useLiveRows<Row>(options: Options<Row>): LiveRows {
  const { list, queryKey, isFirstPage, isLive = false, idOf } = options;
  const client = useQueryClient();
  const rows = list.isStale ? [] : (list.data?.data ?? []);
  const isShown = new Set(rows.map(idOf));
  const { once, changed } = useRef({ once: oneAtATime(), changed: new Set<string>() }).current;
  // Starts with the list's route, which only this code asks again.
  const newKey = [queryKey[0], "new", queryKey[1], [...isShown]];
  const { data: counted } = useQuery({
    queryKey: newKey,
    queryFn: () => options.countNew(rows),
    enabled: rows.length > 0,
    initialData: 0,
    staleTime: Infinity,
    gcTime: 0,
  });
  const ask = (key: readonly unknown[]) => askAgainAll(client, { queryKey: key, exact: true });
  const reload = () => ask(queryKey);
  const hasDialog = () => document.querySelector("[role=dialog]") !== null;

  useLiveEvents((events) => {
    const isAll = events.some(options.isOfAll);
    const ids = new Set(events.flatMap((event) => options.changedId(event) ?? []));
    if (!isAll && ids.size === 0) return;
    if (isFirstPage && (rows.length === 0 || (isLive && !hasDialog()))) return reload();
    const named = isAll ? rows.filter((row) => !options.isEnded(row)).map(idOf) : ids;
    for (const id of named) if (isShown.has(id)) changed.add(id);
    // If the service is away, the rows stay as they are; its stream returns with an "all".
    if (changed.size > 0) once(refresh);
    if (isFirstPage && (isAll || [...ids].some((id) => !isShown.has(id)))) ask(newKey);
  });

  async function refresh(): Promise<void> {
    const ids = [...changed].filter((id) => isShown.has(id));
    changed.clear();
    const fresh = await readRows(options, rows, ids);
    client.setQueryData<Page<Row>>(
      queryKey,
      (old) => old && { ...old, data: newerRows(old.data, fresh, options) },
    );
  }

  const newCount = isFirstPage ? counted : 0;
  useEffect(() => {
    if (isLive && newCount > 0) reload();
    // oxlint-disable-next-line react/exhaustive-deps -- only when Live is switched on, or goes on
  }, [isLive]);
  function showNew(): void {
    reload();
    // The new rows may be gone again; then neither the rows nor this count would change.
    ask(newKey);
  }
  return { newCount, showNew };
}

async function readRows<Row>(
  { idOf, readPage, readRow }: Options<Row>,
  shown: Row[],
  ids: string[],
): Promise<Map<string, Row>> {
  const found = new Map<string, Row>();
  if (ids.length > ONE_BY_ONE) {
    const page = await readPage(shown);
    for (const row of page.data) found.set(idOf(row), row);
  }
  const missing = ids.filter((id) => !found.has(id));
  for (let from = 0; from < missing.length; from += ONE_BY_ONE) {
    await Promise.all(
      missing.slice(from, from + ONE_BY_ONE).map(async (id) => {
        const row = await readRow(id).catch(() => undefined);
        if (row) found.set(id, row);
      }),
    );
  }
  return found;
}
