import type { Database, Transaction } from "./database.ts";

/**
 * An open transaction as a database: what a function would do in its own transaction becomes part
 * of this one, and commits with it or not at all.
 */
export function within(tx: Transaction): Database {
  return {
    query: tx.query,
    transaction: (work) => work(tx),
    snapshot: () => Promise.reject(new Error("A transaction that writes has no snapshot.")),
    close: () => Promise.resolve(),
  };
}
