import type { ErrorEntry } from "./errors.ts";

/** What can go wrong under `/console`, in addition to the errors of `/v1`. */
export const consoleErrors = {
  SESSION_REQUIRED: {
    status: 401,
    message: "Sign in to continue.",
    meaning:
      "There is no session, or it has expired or was ended by a sign-out or by a change of password, role or membership.",
    fix: "Sign in at `/sign-in`.",
  },
  SIGN_IN_FAILED: {
    status: 401,
    message: "E-mail or password is wrong.",
    meaning: "The answer is the same for an unknown e-mail and for a wrong password.",
    fix: "Try again, or ask the operator of this installation for a reset link.",
  },
  SECOND_FACTOR_REQUIRED: {
    status: 401,
    message: "Enter the code of your second factor to continue.",
    meaning: "The password was right; the session opens only after the second factor.",
    fix: "Enter the 6-digit code from your authenticator, or one of your recovery codes. If you have lost both, ask the operator of this installation for a reset link.",
  },
  SECOND_FACTOR_FAILED: {
    status: 401,
    message: "The code is wrong, expired, or already used.",
    meaning:
      "A code is valid for about a minute and works once. Each recovery code works once, too.",
    fix: "Wait for your authenticator's next code, and check that its clock is right.",
  },
  ORIGIN_DENIED: {
    status: 403,
    message: "The request did not come from the dashboard's own pages.",
    meaning:
      "A write needs `Sec-Fetch-Site: same-origin`, or an `Origin` equal to `PUBLIC_URL`. Nothing was changed.",
    fix: "Open the dashboard at the address that `PUBLIC_URL` names; behind a proxy, set `PUBLIC_URL`.",
  },
  ROLE_DENIED: {
    status: 403,
    message: "Your role in this account does not allow this.",
    meaning: "The detail names the role that is required.",
    fix: "Ask an owner of the account to do it, or to change your role.",
  },
  PROOF_REQUIRED: {
    status: 403,
    message: "Enter your password, or a code of your second factor, to continue.",
    meaning: "The last proof is older than 10 minutes. Nothing was changed.",
    fix: "Send the proof to `POST /console/proof`, then repeat the request.",
  },
  PROOF_FAILED: {
    status: 403,
    message: "The password or code is wrong.",
    meaning: "Nothing was changed.",
    fix: "Try again.",
  },
  ACCOUNT_NOT_FOUND: {
    status: 404,
    message: "There is no such account.",
    meaning: "No account of yours has that id.",
    fix: "Choose an account in the switcher, or ask its owner for an invitation.",
  },
  KEY_NOT_FOUND: {
    status: 404,
    message: "There is no such key.",
    meaning: "No key of this account has that id.",
    fix: "Look it up in the list of keys.",
  },
  DELIVERY_NOT_FOUND: {
    status: 404,
    message: "There is no such webhook delivery.",
    meaning: "No delivery of this account has that id, or it is no longer kept.",
    fix: "Look it up in the list of deliveries.",
  },
  REPLAY_NOT_FOUND: {
    status: 404,
    message: "There is no such replay.",
    meaning: "No replay of this account has that id, or it is no longer kept.",
    fix: "Start a new replay.",
  },
  MEMBER_NOT_FOUND: {
    status: 404,
    message: "There is no such member.",
    meaning: "Nobody with that id is a member of this account.",
    fix: "Reload the list of members.",
  },
  MEMBER_ALREADY: {
    status: 409,
    message: "You are already a member of this account.",
    meaning: "An invitation adds a new member; it does not change a member's role.",
    fix: "Ask an owner to change your role on the Team page. The invitation stays open.",
  },
  INVITATION_NOT_FOUND: {
    status: 404,
    message: "There is no such open invitation.",
    meaning: "No invitation of this account with that id is still open.",
    fix: "Reload the list of invitations.",
  },
  SESSION_NOT_FOUND: {
    status: 404,
    message: "There is no such session.",
    meaning: "You have no session with that id; it may have ended.",
    fix: "Reload the list of sessions.",
  },
  USER_NOT_FOUND: {
    status: 404,
    message: "There is no such user.",
    meaning: "No user has that id.",
    fix: "Look the user up in the list.",
  },
  CARRIER_NOT_FOUND: {
    status: 404,
    message: "There is no such carrier.",
    meaning: "No carrier has that id, or it was removed.",
    fix: "Reload the list of carriers.",
  },
  PREFIX_NOT_FOUND: {
    status: 404,
    message: "There is no entry for this prefix.",
    meaning: "The prefix has no route or price of its own.",
    fix: "Reload the list.",
  },
  LINK_INVALID: {
    status: 404,
    message: "The link is wrong, used, withdrawn or expired.",
    meaning: "A link works once and for a limited time. The detail says which of these it is.",
    fix: "Ask for a new link. While there is no operator, a restart prints a new set-up link.",
  },
  VERSION_CONFLICT: {
    status: 409,
    message:
      "Someone else has changed this in the meantime. Close it, look at what changed, and try again.",
    meaning: "The `version` sent is not the current one. Nothing was changed.",
    fix: "Reload, look at what changed, and try again.",
  },
  KEY_LIMIT_REACHED: {
    status: 409,
    message: "The account already has 50 active keys, which is the limit.",
    meaning: "Revoked and expired keys do not count. Nothing was created.",
    fix: "Revoke a key that is not in use.",
  },
  KEY_ALREADY_CREATED: {
    status: 409,
    message: "This form has already created its key; it cannot be shown again.",
    meaning: "The same `Idempotency-Key` was used before. A key is shown once and stored nowhere.",
    fix: "If you did not save the key, revoke it and create another.",
  },
  LINK_ALREADY_MADE: {
    status: 409,
    message: "This form has already created its link; it cannot be shown again.",
    meaning: "The same `Idempotency-Key` was used before. A link is shown once and stored nowhere.",
    fix: "If you did not save the link, withdraw it and make another.",
  },
  EMAIL_TAKEN: {
    status: 409,
    message: "There is already a user with this e-mail.",
    meaning: "Nothing was changed.",
    fix: "Sign in as that user, then open the link again. For the set-up, enter another e-mail.",
  },
  ACCOUNT_HAS_OWNER: {
    status: 409,
    message: "Someone has joined the account as its owner.",
    meaning:
      "The operator can create another link only for an account without an owner. No link was created.",
    fix: "Its owners can invite others on their Team page; an owner who cannot sign in needs a reset link.",
  },
  LAST_OWNER: {
    status: 409,
    message: "The account must keep an owner. Make someone else an owner first.",
    meaning: "The last owner cannot be demoted, removed, or leave. Nothing was changed.",
    fix: "Make someone else an owner first.",
  },
  ROTATION_UNCONFIRMED: {
    status: 409,
    message: "Two secrets are signing now. Confirm that the older one is dropped.",
    meaning:
      "Only two secrets can sign at a time, and the older one is due to sign until `previousUntil`, shown with the signing secret. Nothing was changed.",
    fix: "Wait until then, or confirm with `dropPrevious`: receivers that still use the older secret will refuse every webhook until they have a newer one.",
  },
  DELIVERY_NOT_REPLAYABLE: {
    status: 409,
    message: "This webhook delivery cannot be replayed.",
    meaning: "Deliveries can be replayed for 30 days.",
    fix: "Read the message with `GET /v1/messages/{messageId}` instead.",
  },
  DELIVERY_IN_FLIGHT: {
    status: 409,
    message: "This webhook is being attempted right now.",
    meaning:
      "An attempt is under way, and the events of a message are posted one at a time. Nothing was changed.",
    fix: "Replay it when the attempt has ended: within 10 seconds, or within half a minute if its process was lost.",
  },
  SIGN_IN_BUSY: {
    status: 503,
    message: "Too many people are signing in right now; try again.",
    meaning:
      "Checking passwords is expensive, so only a few are checked at once. Nothing was changed.",
    fix: "Try again after `Retry-After` seconds.",
  },
} as const satisfies Record<string, ErrorEntry>;
