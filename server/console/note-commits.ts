import { AsyncLocalStorage } from "node:async_hooks";
import { type Database, DatabaseUnavailable, tellCommits } from "#platform";

const calls = new AsyncLocalStorage<{ hasCommitted: boolean }>();

/** Wraps the database so that `tellCommitted` knows whether a call has committed anything. */
export function noteCommits(db: Database): Database {
  return tellCommits(db, () => {
    const call = calls.getStore();
    if (call) call.hasCommitted = true;
  });
}

/**
 * Runs a call. Most calls read what they changed in order to show it: if the database is lost only
 * at that point, the answer must not say that nothing was done.
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
