import { type Static, Type } from "typebox";
import {
  ACCOUNT,
  Actor,
  consoleOperation,
  inAccount,
  pageOf,
  paging,
} from "./console-operation.ts";
import { closed, Id, Month, nullable, oneOf, Time } from "./schema.ts";

const ledgerKinds = ["charge", "refund", "topup", "adjustment"] as const;

export const LedgerEntry = Type.Object({
  seq: Type.Integer(),
  at: Time,
  kind: oneOf(ledgerKinds),
  amount: Type.Integer({ description: "Signed." }),
  balanceAfter: Type.Integer(),
  messageId: nullable(Id),
  note: nullable(Type.String()),
  actor: nullable(Actor),
});
export type LedgerEntry = Static<typeof LedgerEntry>;

export const creditOperations = {
  readCredits: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/credits`,
    summary: "Read the balance and how long it lasts",
    access: "viewer",
    params: inAccount(),
    success: {
      status: 200,
      body: Type.Object({
        balance: Type.Integer(),
        lowCredits: Type.Integer(),
        usedPerDay: Type.Number({ description: "Mean of the last 7 days, refunds taken off." }),
        daysLeft: nullable(Type.Integer({ description: "Null where nothing was used." })),
      }),
    },
  }),
  listLedger: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/ledger`,
    summary: "List ledger entries, newest first",
    access: "viewer",
    params: inAccount(),
    query: closed({
      ...paging,
      kind: Type.Optional(Type.Array(oneOf(ledgerKinds), { description: "Repeatable." })),
      messageId: Type.Optional(Id),
      month: Type.Optional(Month),
    }),
    success: { status: 200, body: pageOf(LedgerEntry) },
    errors: ["CURSOR_INVALID"],
  }),
  exportLedger: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/ledger.csv`,
    summary: "The ledger of a month as CSV; its amounts sum to the change of balance",
    access: "viewer",
    params: inAccount(),
    query: closed({ month: Month }),
    success: { status: 200, body: Type.String(), type: "text/csv" },
  }),
};
