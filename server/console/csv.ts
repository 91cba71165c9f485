type Cell = string | number | null;

/**
 * One line of CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it;
 * numbers are ours and stay as they are.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(writeCell).join(",")}\r\n`;
}

function writeCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = /^[=+\-@\p{Cc}]/u.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
