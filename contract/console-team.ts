import { type Static, Type } from "typebox";
import {
  ACCOUNT,
  Actor,
  consoleOperation,
  IDEMPOTENCY,
  inAccount,
  NOTHING,
  pageOf,
  paging,
  SeenVersion,
} from "./console-operation.ts";
import { closed, Id, nullable, oneOf, Time } from "./schema.ts";
import { memberRoles } from "./words.ts";

export const Member = Type.Object({
  userId: Id,
  name: Type.String(),
  email: Type.String(),
  role: oneOf(memberRoles),
  hasSecondFactor: Type.Boolean(),
  lastSeenAt: nullable(Time),
  joinedAt: Time,
  isYou: Type.Boolean(),
  version: Type.Integer(),
});
export type Member = Static<typeof Member>;

export const Invitation = Type.Object({
  invitationId: Id,
  role: oneOf(memberRoles),
  forWhom: nullable(Type.String({ description: "What its maker calls who is invited." })),
  createdBy: Actor,
  createdAt: Time,
  expiresAt: Time,
});
export type Invitation = Static<typeof Invitation>;

export const Account = Type.Object({
  accountId: Id,
  name: Type.String(),
  role: oneOf(memberRoles),
  defaultSender: nullable(Type.String()),
  lowCredits: Type.Integer(),
  createdAt: Time,
  version: Type.Integer(),
});
export type Account = Static<typeof Account>;

/** A link that works once. Only this answer contains it. */
export const OneTimeLink = {
  link: Type.String({ description: "With the token in its fragment; shown this once." }),
  expiresAt: Time,
};

export const teamOperations = {
  readAccount: consoleOperation({
    method: "GET",
    path: ACCOUNT,
    summary: "Read the account and its settings",
    access: "viewer",
    params: inAccount(),
    success: { status: 200, body: Account },
  }),
  updateAccount: consoleOperation({
    method: "PATCH",
    path: ACCOUNT,
    summary: "Change the account's settings",
    access: "owner",
    audit: "account.changed",
    params: inAccount(),
    body: closed(
      {
        version: SeenVersion,
        name: Type.Optional(Type.String({ minLength: 1, maxLength: 60 })),
        defaultSender: Type.Optional(nullable(Type.String({ "x-code": "SENDER_INVALID" }))),
        lowCredits: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 })),
      },
      { examples: [{ version: 1, defaultSender: "Example" }] },
    ),
    success: { status: 200, body: Account },
    errors: ["VERSION_CONFLICT"],
  }),
  listMembers: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/members`,
    summary: "List members, the newest users first",
    access: "viewer",
    params: inAccount(),
    query: closed({ ...paging }),
    success: {
      status: 200,
      body: pageOf(Member, {
        totalCount: Type.Integer({ description: "All members, whatever the page." }),
        ownerCount: Type.Integer({ description: "The owners among all of them." }),
      }),
    },
    errors: ["CURSOR_INVALID"],
  }),
  changeRole: consoleOperation({
    method: "PATCH",
    path: `${ACCOUNT}/members/{userId}`,
    summary: "Change a member's role; their sessions end",
    access: "owner",
    proof: true,
    audit: "member.role_changed",
    params: inAccount("userId"),
    body: closed(
      { version: SeenVersion, role: oneOf(memberRoles) },
      { examples: [{ version: 1, role: "viewer" }] },
    ),
    success: { status: 200, body: Member },
    errors: ["MEMBER_NOT_FOUND", "VERSION_CONFLICT", "LAST_OWNER"],
  }),
  removeMember: consoleOperation({
    method: "DELETE",
    path: `${ACCOUNT}/members/{userId}`,
    summary: "Remove a member; their sessions end",
    access: "owner",
    audit: "member.removed",
    params: inAccount("userId"),
    success: NOTHING,
    errors: ["MEMBER_NOT_FOUND", "LAST_OWNER"],
  }),
  leaveAccount: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/leave`,
    summary: "Leave the account",
    access: "viewer",
    audit: "member.left",
    params: inAccount(),
    success: NOTHING,
    errors: ["LAST_OWNER"],
  }),
  listInvitations: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/invitations`,
    summary: "List open invitations, newest first",
    access: "viewer",
    params: inAccount(),
    query: closed({ ...paging }),
    success: { status: 200, body: pageOf(Invitation) },
    errors: ["CURSOR_INVALID"],
  }),
  invite: consoleOperation({
    method: "POST",
    path: `${ACCOUNT}/invitations`,
    summary: "Make an invitation; the link is shown this once and works once, for 48 hours",
    access: "owner",
    proof: true,
    audit: "member.invited",
    headers: IDEMPOTENCY,
    params: inAccount(),
    body: closed(
      {
        role: oneOf(memberRoles),
        forWhom: Type.Optional(
          Type.String({
            maxLength: 60,
            description: "Tells open invitations apart, and whoever opens the link reads it.",
          }),
        ),
      },
      { examples: [{ role: "developer", forWhom: "Grace Hopper" }] },
    ),
    success: {
      status: 201,
      body: Type.Object({ invitation: Invitation, ...OneTimeLink }),
    },
    errors: ["IDEMPOTENCY_KEY_INVALID", "LINK_ALREADY_MADE"],
  }),
  withdrawInvitation: consoleOperation({
    method: "DELETE",
    path: `${ACCOUNT}/invitations/{invitationId}`,
    summary: "Withdraw an invitation: its link stops working",
    access: "owner",
    audit: "member.invitation_withdrawn",
    params: inAccount("invitationId"),
    success: NOTHING,
    errors: ["INVITATION_NOT_FOUND"],
  }),
  streamAccount: consoleOperation({
    method: "GET",
    path: `${ACCOUNT}/stream`,
    summary: "Ids of what changes in the account, as server-sent events",
    access: "viewer",
    params: inAccount(),
    success: { status: 200, body: Type.String(), type: "text/event-stream" },
  }),
};

/**
 * A change that a stream reports, without content. `messages` and `all` have no id: refetch
 * whatever is shown. `ended` precedes the end of a stream whose session or role has changed.
 */
export type StreamEvent =
  | { type: "message"; id: string; version: number }
  | { type: "key" | "delivery" | "member"; id: string }
  | { type: "credits" | "account" | "messages" | "all" | "ended" };

/** Like `StreamEvent`, for the operator's pages. */
export type OperatorStreamEvent = {
  type: "carriers" | "routing" | "queue" | "nodes" | "audit" | "accounts" | "all" | "ended";
};
