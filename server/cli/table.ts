import { tameText } from "#platform";

/** Aligned columns for people; programs get JSON. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return "None.";
  const cells = [columns, ...rows.map((row) => row.map(cell))];
  const widths = columns.map((_, n) => Math.max(...cells.map((row) => width(row[n] ?? ""))));
  return cells
    .map((row) =>
      row
        .map((text, n) => text + " ".repeat((widths[n] ?? 0) - width(text)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Names and values of one thing, a line each. */
export function facts(values: Record<string, unknown>): string {
  const rows = Object.entries(values).map(([name, value]) => [name, cell(value)] as const);
  const indent = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, value]) => name.padEnd(indent) + value).join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(cell).join(", ");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return tameText(text).replaceAll("\n", "\uFFFD");
}

function width(text: string): number {
  return [...text].length;
}
