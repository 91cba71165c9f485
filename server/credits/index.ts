/**
 * Credits: the ledger and what may be booked by hand. Charging and refunding happen in the
 * statements that accept and move messages, under the same account lock.
 */
export { bookCredits, ledgerEntry, type LedgerRow } from "./credits.ts";
export { openAccount } from "./open-account.ts";
export { browseLedger, type LedgerFilter, ledgerOfMonth } from "./browse-ledger.ts";
