import type { List } from "#http";
import type { Looked, Position } from "#platform";

type Cell = string | number | null;

/** Maps each column's name in the header to its value for a row. */
export type Columns<Row> = Record<string, (row: Row) => Cell>;

/** A CSV file of all pages, with the header first. */
export async function* csvOf<Row, Shown>({
  columns,
  pages,
  show,
}: {
  columns: Columns<Shown>;
  pages: AsyncIterable<Row[]>;
  show: (rows: Row[]) => Promise<Shown[]>;
}): AsyncGenerator<string> {
  const cells = Object.values(columns);
  yield csvLine(Object.keys(columns));
  for await (const rows of pages) {
    for (const shown of await show(rows)) yield csvLine(cells.map((cell) => cell(shown)));
    // Filtered pages may be empty for long, and only a yield notices that the reader has gone.
    yield "";
  }
}

/** The most rows that one file holds, and that one query reads. */
const MAX_ROWS = 100_000;
const PAGE = 1_000;

/** All rows that one file may hold, newest first, a page at a time. */
export async function* allPages<Row>({
  browse,
  idOf,
}: Omit<List<Row>, "boundTo">): AsyncGenerator<Row[]> {
  let position: Position = null;
  for (let written = 0; written < MAX_ROWS;) {
    const { rows, lookedUntil }: Looked<Row> = await browse({ limit: PAGE - 1, position });
    yield rows;
    written += rows.length;
    const last = rows.length === PAGE ? rows.at(-1) : undefined;
    const id: string | null = last ? idOf(last) : lookedUntil;
    if (id === null) return;
    position = { direction: "older", id };
  }
}

/**
 * One line of CSV. A text that a spreadsheet would take for a formula, also with full-width signs,
 * gets an apostrophe before it. Numbers are our own and stay as they are.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(writeCell).join(",")}\r\n`;
}

function writeCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = /^[=+\-@＝＋－＠\p{Cc}]/u.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
