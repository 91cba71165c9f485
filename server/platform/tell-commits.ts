import type { Database } from "./database.ts";

/** The same database, but calls `committed` after each transaction that it commits. */
export function tellCommits(db: Database, committed: () => void): Database {
  return {
    ...db,
    transaction: (work) =>
      db.transaction((tx) => {
        tx.afterCommit(committed);
        return work(tx);
      }),
  };
}
