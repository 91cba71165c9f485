import type { ConsoleMessage } from "#contract";

/** The rows with what was read of them since. Answers may overtake each other: the later status stays. */
export function newerRows(
  rows: ConsoleMessage[],
  read: ReadonlyMap<string, ConsoleMessage>,
): ConsoleMessage[] {
  return rows.map((row) => {
    const found = read.get(row.message.messageId);
    return found && found.version >= row.version ? found : row;
  });
}
