import { type Static, Type } from "typebox";
import { consoleOperation, IDEMPOTENCY, OPERATOR, pageOf, paging } from "./console-operation.ts";
import { OneTimeLink } from "./console-team.ts";
import { closed, Id, nullable, oneOf, sought, Time } from "./schema.ts";

const OperatorAccount = Type.Object({
  accountId: Id,
  name: Type.String(),
  balance: Type.Integer(),
  createdAt: Time,
  members: Type.Integer(),
  owners: Type.Array(Type.Object({ userId: Id, name: Type.String(), email: Type.String() })),
});
export type OperatorAccount = Static<typeof OperatorAccount>;

const OperatorUser = Type.Object({
  userId: Id,
  name: Type.String(),
  email: Type.String(),
  isOperator: Type.Boolean(),
  hasSecondFactor: Type.Boolean(),
  lastSeenAt: nullable(Time),
  accounts: Type.Array(Type.Object({ accountId: Id, name: Type.String() })),
});

/** The operator's view of accounts and users. */
export const accountOperations = {
  listAccounts: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/accounts`,
    summary: "List accounts, newest first",
    access: "operator",
    query: closed({ ...paging, q: Type.Optional(sought(60)) }),
    success: { status: 200, body: pageOf(OperatorAccount) },
    errors: ["CURSOR_INVALID"],
  }),
  createAccount: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/accounts`,
    summary: "Create an account; the answer holds the invitation link for its owner",
    access: "operator",
    proof: true,
    audit: "account.created",
    headers: IDEMPOTENCY,
    body: closed(
      {
        name: Type.String({ minLength: 1, maxLength: 60 }),
        credits: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
      },
      { examples: [{ name: "Example", credits: 1000 }] },
    ),
    success: {
      status: 201,
      body: Type.Object({ account: OperatorAccount, ...OneTimeLink }),
    },
    errors: ["IDEMPOTENCY_KEY_INVALID", "LINK_ALREADY_MADE"],
  }),
  makeOwnerLink: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/accounts/{accountId}/owner-link`,
    summary: "Make another invitation link for the owner, where none has joined; older ones end",
    access: "operator",
    proof: true,
    audit: "account.owner_link_made",
    params: closed({ accountId: Id }),
    success: { status: 201, body: Type.Object(OneTimeLink) },
    errors: ["ACCOUNT_HAS_OWNER"],
  }),
  bookCredits: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/accounts/{accountId}/credits`,
    summary: "Top up or adjust an account; the same reference books once",
    access: "operator",
    proof: true,
    audit: "credits.booked",
    params: closed({ accountId: Id }),
    body: closed(
      {
        kind: oneOf(["topup", "adjustment"]),
        amount: Type.Integer({ minimum: -1_000_000_000, maximum: 1_000_000_000 }),
        note: Type.String({ minLength: 1, maxLength: 200 }),
        reference: Type.String({ minLength: 1, maxLength: 100, description: "Your own, unique." }),
      },
      { examples: [{ kind: "topup", amount: 10000, note: "Invoice 17", reference: "inv-17" }] },
    ),
    success: {
      status: 200,
      body: Type.Object({ outcome: oneOf(["booked", "repeated"]), balance: Type.Integer() }),
    },
  }),
  listUsers: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/users`,
    summary: "List users, newest first",
    access: "operator",
    query: closed({ ...paging, q: Type.Optional(sought(100)) }),
    success: { status: 200, body: pageOf(OperatorUser) },
    errors: ["CURSOR_INVALID"],
  }),
  makeResetLink: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/users/{userId}/reset-link`,
    summary:
      "Make a one-time link by which the user sets a new password, and on request switches off the second factor",
    access: "operator",
    proof: true,
    audit: "user.reset_link_made",
    params: closed({ userId: Id }),
    body: closed({ dropSecondFactor: Type.Optional(Type.Boolean()) }, { examples: [{}] }),
    success: { status: 201, body: Type.Object(OneTimeLink) },
    errors: ["USER_NOT_FOUND"],
  }),
};
