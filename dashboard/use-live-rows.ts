import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { StreamEvent } from "#contract";
import { newerRows, type RowKind } from "./newer-rows.ts";
import { useLiveEvents } from "./shell/live.tsx";
import { askAgainAll, type Read } from "./use-read.ts";

/** More than these at once are read as a page, not one by one. */
const ONE_BY_ONE = 5;
/** Rows counted or read one by one at most; of a count, more is told as 99+. */
export const COUNTED = 100;

type Page<Row> = { data: Row[] };

type Options<Row> = RowKind<Row> & {
  list: Read<Page<Row>>;
  /** Under which the list is kept. */
  queryKey: readonly unknown[];
  isFirstPage: boolean;
  /** New rows are put in at once. */
  isLive?: boolean;
  /** The id in the events of one row. */
  changedId: (event: StreamEvent) => string | undefined;
  /** Whether an event, without naming any, is of all rows. */
  isOfAll: (event: StreamEvent) => boolean;
  readPage: () => Promise<Page<Row>>;
  readRow: (id: string) => Promise<Row>;
  /** How many rows the first page lacks, up to `COUNTED`. */
  countNew: (shown: Row[]) => Promise<number>;
};

export type LiveRows = { newCount: number; showNew: () => void };

/**
 * Keeps the shown rows true without moving any: a row that changed is read again in its place, and
 * new ones are only counted, until the reader asks for them or switches Live on. The cursors stay
 * those of the shown rows.
 */
export function useLiveRows<Row>(options: Options<Row>): LiveRows {
  const { list, queryKey, isFirstPage, isLive = false, idOf } = options;
  const client = useQueryClient();
  const rows = list.isStale ? [] : (list.data?.data ?? []);
  const isShown = new Set(rows.map(idOf));
  // Under the route of the list, which only this asks again.
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
    const changed = isAll ? [...isShown] : [...ids].filter((id) => isShown.has(id));
    // Where the service is away the rows stay as they are; its stream comes back and says "all".
    if (changed.length > 0) refresh(changed).catch(() => undefined);
    if (isFirstPage && (isAll || [...ids].some((id) => !isShown.has(id)))) ask(newKey);
  });

  async function refresh(ids: string[]): Promise<void> {
    const fresh = await readRows(options, ids);
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
    // What was counted may be gone again; then the rows, and so the count, would stay as they are.
    ask(newKey);
  }
  return { newCount, showNew };
}

async function readRows<Row>(
  { idOf, readPage, readRow }: Options<Row>,
  ids: string[],
): Promise<Map<string, Row>> {
  const found = new Map<string, Row>();
  if (ids.length > ONE_BY_ONE) {
    const page = await readPage();
    for (const row of page.data) found.set(idOf(row), row);
  }
  const missing = ids.filter((id) => !found.has(id)).slice(0, COUNTED);
  await Promise.all(
    missing.map(async (id) => {
      const row = await readRow(id).catch(() => undefined);
      if (row) found.set(id, row);
    }),
  );
  return found;
}
