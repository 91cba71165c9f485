import { AsyncLocalStorage } from "node:async_hooks";
import { type Database, DatabaseUnavailable, tellCommits } from "#platform";

const calls = new AsyncLocalStorage<{ hasCommitted: boolean }>();

/** The same database, by which `tellCommitted` knows what a call has done. */
export function noteCommits(db: Database): Database {
  return tellCommits(db, () => {
    const call = calls.getStore();
    if (call) call.hasCommitted = true;
  });
}

/**
 * Runs a call. Most read what they have changed, to show it: where the database is lost only then,
 * nobody may be told that nothing was done.
 */
export async function tellCommitted<Result>(run: () => Promise<Result>): Promise<Result> {
  const call = { hasCommitted: false };
  try {
    return await calls.run(call, run);
  } catch (error) {
    if (error instanceof DatabaseUnavailable && call.hasCommitted) error.isCommitUnknown = true;
    throw error;
  }
}
