import type { Database } from "./database.ts";

/** The same database, which tells of each transaction that was committed by it. */
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
