export type RowKind<Row> = {
  idOf: (row: Row) => string;
  /** Grows with every change of the row that must not be taken back. */
  versionOf: (row: Row) => number;
};

/** The rows with what was read of them since. Answers may overtake each other: the later one stays. */
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
