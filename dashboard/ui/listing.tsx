import { Skeleton, Table, VisuallyHidden } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { countOf } from "../format.ts";
import { words } from "../text/words.ts";
import type { Read } from "../use-read.ts";
import { FailurePanel } from "./failure-panel.tsx";
import classes from "./listing.module.css";
import { useIsAnother } from "./use-is-another.ts";
import { useIsSmall } from "./use-phone.ts";

export type Column<Row> = {
  name: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Numbers are aligned right. */
  isNumber?: boolean;
  /** Text that may be cut with an ellipsis; ids, dates and numbers never wrap. */
  isLong?: boolean;
  /** Names of people or accounts, of any length: they may wrap. */
  isName?: boolean;
  /** Only in windows at least this wide, in pixels: what a row can omit, or shows elsewhere. */
  from?: 1280 | 1440;
};

export type ListingProps<Row> = {
  label: string;
  columns: Column<Row>[];
  list: Read<{ data: Row[] }>;
  rowId: (row: Row) => string;
  /** Shown if the list has no rows: nothing yet, or no match. */
  empty: ReactNode;
  /** The row if there is no room for a table: two lines, and one for further facts. */
  compact: (row: Row) => ReactNode;
  onOpen?: (row: Row) => void;
};

/** A list in its four states: loading, failed, empty, filled. */
export function Listing<Row>(props: ListingProps<Row>) {
  const isSmall = useIsSmall();
  const { failure, retry } = props.list;
  const rows = props.list.data?.data;
  if (failure && !rows) return <FailurePanel failure={failure} onRetry={retry} />;
  if (!rows) return <LoadingRows columns={props.columns.length} isSmall={isSmall} />;
  return (
    <>
      <Answered isStale={props.list.isStale} count={rows.length} />
      {failure && <FailurePanel failure={failure} onRetry={retry} />}
      {rows.length === 0 ? (
        props.empty
      ) : isSmall ? (
        <CompactRows {...props} rows={rows} />
      ) : (
        <TableRows {...props} rows={rows} />
      )}
    </>
  );
}

/** Tells those who do not see the rows change that a filter or page has been answered. */
function Answered({ isStale, count }: { isStale: boolean; count: number }) {
  const [said, setSaid] = useState("");
  if (useIsAnother(String(isStale))) setSaid(isStale ? "" : countOf(count, "row"));
  return <VisuallyHidden aria-live="polite">{said}</VisuallyHidden>;
}

type Filled<Row> = ListingProps<Row> & { rows: Row[] };

function TableRows<Row>({ label, columns, list, rows, rowId, onOpen }: Filled<Row>) {
  return (
    <section
      ref={markIfItFits}
      className={classes["scroll"]}
      aria-label={label}
      tabIndex={0}
      data-stale={list.isStale}
    >
      <Table highlightOnHover={onOpen !== undefined} verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th key={column.name} className={classOf(column)} scope="col">
                {column.header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={rowId(row)} data-row={rowId(row)} {...opensBy(row, onOpen)}>
              {columns.map((column) => (
                <Table.Td key={column.name} className={classOf(column)}>
                  {column.cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

/**
 * Marks a table that fits its place. It needs no scrolling of its own, which would keep its
 * headings from sticking while the page scrolls.
 */
function markIfItFits(section: HTMLElement | null) {
  const table = section?.querySelector("table");
  if (!section || !table) return;
  const observer = new ResizeObserver(() => {
    section.toggleAttribute("data-fits", table.offsetWidth <= section.clientWidth);
  });
  observer.observe(section);
  observer.observe(table);
  return () => observer.disconnect();
}

/** Without room for a table, a row is opened by the same clicks as a table's row. */
function opensBy<Row>(row: Row, onOpen: ListingProps<Row>["onOpen"]) {
  return {
    "data-opens": onOpen !== undefined,
    onClick:
      onOpen && (({ target }: { target: EventTarget }) => isMeantForRow(target) && onOpen(row)),
  };
}

/** A click that ends a selection is meant for copying; one on a link or control, for that. */
function isMeantForRow(target: EventTarget): boolean {
  const isOwn = target instanceof Element && target.closest("a, button, input, label") !== null;
  return !isOwn && (getSelection()?.toString() ?? "") === "";
}

function classOf<Row>({ isNumber, isName, isLong, from }: Column<Row>): string {
  const kind = isNumber ? "number" : isName ? "name" : isLong ? "long" : "plain";
  return [classes[kind], from && classes[`from${from}`]].filter(Boolean).join(" ");
}

function CompactRows<Row>({ label, list, rows, rowId, compact, onOpen }: Filled<Row>) {
  return (
    <ul className={classes["list"]} aria-label={label} data-stale={list.isStale}>
      {rows.map((row) => (
        <li
          key={rowId(row)}
          data-row={rowId(row)}
          className={classes["item"]}
          {...opensBy(row, onOpen)}
        >
          {compact(row)}
        </li>
      ))}
    </ul>
  );
}

type FactsProps<Row> = { row: Row; columns: Column<Row>[]; names: string[] };

/** The last line of a row without a table: the columns that appear nowhere else in it. */
export function CompactFacts<Row>({ row, columns, names }: FactsProps<Row>) {
  const facts = columns
    .filter(({ name }) => names.includes(name))
    .map(({ name, header, cell }) => ({ name, header, value: cell(row) }));
  return (
    <div className={classes["facts"]}>
      {facts.map(
        ({ name, header, value }) =>
          value !== null &&
          value !== false &&
          value !== "" && (
            <div key={name}>
              {header}: {value}
            </div>
          ),
      )}
    </div>
  );
}

/** Shorter waits show no skeleton, so that quick answers do not flicker. */
const SKELETON_AFTER_MS = 150;
/** Including the row of headings. */
const SKELETON_ROWS = 9;

function LoadingRows({ columns, isSmall }: { columns: number; isSmall: boolean }) {
  const isShown = useIsLate();
  const cells = Array.from({ length: isSmall ? 1 : columns }, (_, n) => n);
  const rows = Array.from({ length: SKELETON_ROWS }, (_, n) => n);
  return (
    <div role="status" aria-label={words.loading} className={classes["skeleton"]}>
      {isShown && (
        <div className={classes["skeletonRows"]}>
          {rows.map((row) => (
            <div key={row} className={classes["skeletonRow"]} data-small={isSmall}>
              {cells.map((cell) => (
                <Skeleton key={cell} height={isSmall ? 40 : 16} radius="sm" />
              ))}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

export function useIsLate(): boolean {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return isLate;
}
