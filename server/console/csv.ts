import type { List } from "#http";
import type { Looked, Position } from "#platform";

type Cell = string | number | null;

/** By its name at the head of the file, what each column says of a row. */
export type Columns<Row> = Record<string, (row: Row) => Cell>;

/** A file of all pages, its header first. */
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
    // Where nothing fits for long: a reader who has gone is noticed only when something is handed on.
    yield "";
  }
}

/** Rows of one file at most, and read at once. */
const MAX_ROWS = 100_000;
const PAGE = 1_000;

/** All that a file may hold, newest first, a page at a time. */
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
 * One line of CSV. A text that a spreadsheet would take for a formula, some also in wide signs, gets an
 * apostrophe before it; numbers are ours and stay as they are.
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
