export type RowKind<Row> = {
  idOf: (row: Row) => string;
  /** Grows with every change of the row; an older version never replaces a newer one. */
  versionOf: (row: Row) => number;
};

/** The rows, updated by later reads. Answers may overtake each other: the newest version wins. */
export function newerRows<Row>(
  rows: Row[],
  read: ReadonlyMap<string, Row>,
  { idOf, versionOf }: RowKind<Row>,
): Row[] {
  return rows.map((row) => {
    const found = read.get(idOf(row));
    return found && versionOf(found) >= versionOf(row) ? found : row;
  });
}
