import { type Static, Type } from "typebox";
import { consoleOperation, NOTHING } from "./console-operation.ts";
import { closed, Id, nullable, oneOf, Time } from "./schema.ts";
import { memberRoles } from "./words.ts";

// The other rules of these fields are checked after the shape, to be reported in words.
const Email = Type.String({ maxLength: 254 });
const PersonName = Type.String({ minLength: 1, maxLength: 60 });
const Password = Type.String({ maxLength: 1024 });
const Code = Type.String({
  maxLength: 64,
  description: "Six digits, or a recovery code. Spaces and dashes do not count.",
});
const Token = Type.String({
  maxLength: 128,
  description: "What stands behind #token= in the link.",
});

/** How far the sign-in has come after the password. */
const SignInState = Type.Object({ state: oneOf(["signed_in", "second_factor_required"]) });

const RecoveryCodes = Type.Object({ recoveryCodes: Type.Array(Type.String()) });

const Session = Type.Object({
  sessionId: Id,
  isCurrent: Type.Boolean(),
  createdAt: Time,
  lastSeenAt: Time,
  address: nullable(Type.String()),
  userAgent: nullable(Type.String()),
});
export type Session = Static<typeof Session>;

const LinkContent = Type.Object({
  kind: oneOf(["setup", "invitation", "reset"]),
  expiresAt: Time,
  inviter: nullable(Type.String({ description: "Of an invitation: who invites." })),
  accountName: nullable(Type.String({ description: "Of an invitation." })),
  role: nullable(oneOf(memberRoles)),
  forWhom: nullable(
    Type.String({ description: "Of an invitation: what its maker calls who is invited." }),
  ),
  email: nullable(Type.String({ description: "Of a reset: whose password it sets." })),
  dropsSecondFactor: Type.Boolean({
    description: "Of a reset: whether it also switches off the second factor.",
  }),
});

export const signInOperations = {
  readSetup: consoleOperation({
    method: "GET",
    path: "/console/setup",
    summary: "Whether this installation still waits for its operator; afterwards 404 for ever",
    access: "setup",
    success: {
      status: 200,
      body: Type.Object({
        credits: Type.Integer({ description: "What the first account starts with." }),
      }),
    },
  }),
  completeSetup: consoleOperation({
    method: "POST",
    path: "/console/setup",
    summary: "Make the operator and the first account, and sign in",
    access: "setup",
    audit: "setup.completed",
    body: closed({
      token: Token,
      name: PersonName,
      email: Email,
      password: Password,
      accountName: Type.String({ minLength: 1, maxLength: 60 }),
    }),
    success: {
      status: 201,
      body: Type.Object({ userId: Id, accountId: Id }),
    },
    errors: ["LINK_INVALID", "EMAIL_TAKEN", "SIGN_IN_BUSY"],
  }),
  signIn: consoleOperation({
    method: "POST",
    path: "/console/auth/sign-in",
    summary: "Sign in with e-mail and password",
    access: "public",
    // Or `user.password_given` if a second factor is still needed.
    audit: "user.signed_in",
    body: closed({ email: Email, password: Password }),
    success: { status: 200, body: SignInState },
    errors: ["SIGN_IN_FAILED", "SIGN_IN_BUSY"],
  }),
  giveSecondFactor: consoleOperation({
    method: "POST",
    path: "/console/auth/second-factor",
    summary: "Finish signing in with a code or a recovery code",
    access: "pending",
    audit: "user.second_factor_given",
    body: closed({ code: Code }),
    success: { status: 200, body: SignInState },
    errors: ["SECOND_FACTOR_FAILED"],
  }),
  signOut: consoleOperation({
    method: "POST",
    path: "/console/auth/sign-out",
    summary: "End this session",
    access: "pending",
    audit: "user.signed_out",
    success: NOTHING,
  }),
  changePassword: consoleOperation({
    method: "POST",
    path: "/console/auth/password",
    summary: "Change the password; all other sessions end",
    access: "user",
    audit: "user.password_changed",
    body: closed({ currentPassword: Password, newPassword: Password }),
    success: NOTHING,
    errors: ["PROOF_FAILED", "SIGN_IN_BUSY"],
  }),
  listSessions: consoleOperation({
    method: "GET",
    path: "/console/auth/sessions",
    summary: "List where you are signed in",
    access: "user",
    success: {
      status: 200,
      body: Type.Object({ data: Type.Array(Session) }),
    },
  }),
  endSession: consoleOperation({
    method: "DELETE",
    path: "/console/auth/sessions/{sessionId}",
    summary: "End one of your sessions",
    access: "user",
    audit: "user.session_ended",
    params: closed({ sessionId: Id }),
    success: NOTHING,
    errors: ["SESSION_NOT_FOUND"],
  }),
  endOtherSessions: consoleOperation({
    method: "POST",
    path: "/console/auth/sessions/end-others",
    summary: "End all of your sessions but this one",
    access: "user",
    audit: "user.other_sessions_ended",
    success: NOTHING,
  }),
  enrolSecondFactor: consoleOperation({
    method: "POST",
    path: "/console/auth/second-factor/enrol",
    summary: "Begin to switch on the second factor; in force once a code of it is confirmed",
    access: "user",
    proof: true,
    audit: "user.second_factor_enrolled",
    success: {
      status: 200,
      body: Type.Object({
        secret: Type.String({ description: "Base32, to be typed into an authenticator." }),
        otpauthUrl: Type.String({ description: "To be drawn as a QR code, in the browser." }),
      }),
    },
  }),
  confirmSecondFactor: consoleOperation({
    method: "POST",
    path: "/console/auth/second-factor/confirm",
    summary: "Switch on the second factor with a first code; all other sessions end",
    access: "user",
    proof: true,
    audit: "user.second_factor_switched_on",
    body: closed({ code: Code }),
    success: { status: 200, body: RecoveryCodes },
    errors: ["SECOND_FACTOR_FAILED"],
  }),
  switchOffSecondFactor: consoleOperation({
    method: "DELETE",
    path: "/console/auth/second-factor",
    summary: "Switch off the second factor; all other sessions end",
    access: "user",
    proof: true,
    audit: "user.second_factor_switched_off",
    success: NOTHING,
  }),
  renewRecoveryCodes: consoleOperation({
    method: "POST",
    path: "/console/auth/recovery-codes",
    summary: "Make ten new recovery codes; the old ones stop working",
    access: "user",
    proof: true,
    audit: "user.recovery_codes_renewed",
    success: { status: 200, body: RecoveryCodes },
    errors: ["SECOND_FACTOR_FAILED"],
  }),
  giveProof: consoleOperation({
    method: "POST",
    path: "/console/proof",
    summary: "Prove again who you are, by password or by a code, for the next 10 minutes",
    access: "user",
    audit: "user.proof_given",
    body: closed({ password: Type.Optional(Password), code: Type.Optional(Code) }),
    success: {
      status: 200,
      body: Type.Object({ provenUntil: Time }),
    },
    errors: ["PROOF_FAILED", "SIGN_IN_BUSY"],
  }),
  readLink: consoleOperation({
    method: "POST",
    path: "/console/links/read",
    summary: "Read what a one-time link is for; uses nothing up",
    access: "public",
    body: closed({ token: Token }),
    success: { status: 200, body: LinkContent },
    errors: ["LINK_INVALID"],
  }),
  joinAccount: consoleOperation({
    method: "POST",
    path: "/console/links/join",
    summary: "Accept an invitation: as who is signed in, or as a new user with these three fields",
    access: "public",
    audit: "member.joined",
    body: closed({
      token: Token,
      name: Type.Optional(PersonName),
      email: Type.Optional(Email),
      password: Type.Optional(Password),
    }),
    success: {
      status: 200,
      body: Type.Object({ accountId: Id }),
    },
    errors: ["LINK_INVALID", "EMAIL_TAKEN", "MEMBER_ALREADY", "SIGN_IN_BUSY"],
  }),
  resetPassword: consoleOperation({
    method: "POST",
    path: "/console/links/reset",
    summary:
      "Set a new password with a reset link, which may also switch off the second factor; all sessions of the user end",
    access: "public",
    audit: "user.password_reset",
    body: closed({ token: Token, password: Password }),
    success: NOTHING,
    errors: ["LINK_INVALID", "SIGN_IN_BUSY"],
  }),
};
