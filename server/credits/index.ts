/**
 * Credits: the ledger and manual bookings. Charges and refunds are made by the statements that
 * accept and move messages, under the same account lock.
 */
export { bookCredits, ledgerEntry, type LedgerRow } from "./credits.ts";
export { openAccount } from "./open-account.ts";
export { browseLedger, type LedgerFilter, ledgerOfMonth } from "./browse-ledger.ts";
