import { recordAudit } from "#accounts";
import { networkOf } from "#http";
import type { ConsoleHandlers, Person } from "./console-call.ts";
import { refuseFields } from "./field-problems.ts";
import { keepOnlySession } from "./keep-session.ts";
import { withdrawResets } from "./links.ts";
import { provePassword, type SignInDeps, spendTry } from "./proofs.ts";
import { isOutdated, judgePassword, TooManyHashes } from "./sign-in/password.ts";
import {
  endSession,
  insertSession,
  listSessions,
  noteProof,
  type SessionRow,
} from "./sign-in/sessions.ts";
import { forgive, giveBack } from "./sign-in/tries.ts";
import { findUserByEmail, lockUser, plainEmail, setPassword } from "./users.ts";

/** Signing in and out, changing the password, and the list of sessions. */
export function signInHandlers(deps: SignInDeps) {
  const { db, clock, cookie, passwords } = deps;
  return {
    async signIn({ body, person, actor, address, userAgent, header, problem }) {
      const now = clock.now();
      const [byAddress, byUser] = [
        { addressTries: networkOf(address) },
        { userTries: plainEmail(body.email) },
      ];
      await spendTry(db, byAddress, now);
      await spendTry(db, byUser, now);
      const user = await findUserByEmail(db, body.email);
      const isRight = await passwords.verify(body.password, user?.password).catch(async (error) => {
        if (error instanceof TooManyHashes)
          await Promise.all([byAddress, byUser].map((each) => giveBack(db, each)));
        throw error;
      });
      if (!user || !isRight) throw problem("SIGN_IN_FAILED");
      await Promise.all([forgive(db, byUser), giveBack(db, byAddress)]);
      const { header: setCookie, tokenHash } = cookie.issue();
      const by = { ...actor, name: `user:${user.user_id}` };
      const rehashed = isOutdated(user.password) ? await passwords.hash(body.password) : undefined;
      const isPending = await db.transaction(async (tx) => {
        // Hashing took a while: reject a password changed meanwhile, and honor a new second factor.
        const current = await lockUser(tx, user.user_id);
        if (current?.password !== user.password) throw problem("SIGN_IN_FAILED");
        const needsFactor = current.totp !== null;
        // A session that someone planted in this browser must not survive the sign-in.
        if (person) await endSession(tx, person);
        await insertSession(tx, {
          userId: user.user_id,
          tokenHash,
          isPending: needsFactor,
          address,
          userAgent,
          now,
        });
        if (rehashed !== undefined) await setPassword(tx, user.user_id, rehashed);
        // With a second factor this is only half the sign-in; the second half has its own entry.
        const action = needsFactor ? "user.password_given" : "user.signed_in";
        await recordAudit(tx, action, { actor: by, now, objectId: user.user_id });
        return needsFactor;
      });
      header("set-cookie", setCookie);
      return { state: isPending ? "second_factor_required" : "signed_in" };
    },

    async signOut({ person, actor, header }) {
      const now = clock.now();
      await db.transaction(async (tx) => {
        await endSession(tx, person);
        await recordAudit(tx, "user.signed_out", { actor, now, objectId: person.userId });
      });
      header("set-cookie", cookie.clear());
      return null;
    },

    async changePassword({ body, person, actor, header, problem }) {
      const now = clock.now();
      refuseFields({ newPassword: judgePassword(body.newPassword, person.email) });
      const proven = await provePassword(deps, person, body.currentPassword);
      if (!proven) throw problem("PROOF_FAILED");
      const passwordHash = await passwords.hash(body.newPassword);
      const issued = cookie.issue();
      await db.transaction(async (tx) => {
        // Hashing took a while: a password reset made meanwhile wins.
        const current = await lockUser(tx, person.userId);
        if (!(await noteProof(tx, person.sessionId, now))) throw problem("SESSION_REQUIRED");
        if (current?.password !== proven.password) throw problem("PROOF_FAILED");
        await setPassword(tx, person.userId, passwordHash);
        await withdrawResets(tx, { userId: person.userId, now });
        await keepOnlySession(tx, person, issued.tokenHash);
        await recordAudit(tx, "user.password_changed", { actor, now, objectId: person.userId });
      });
      header("set-cookie", issued.header);
      return null;
    },

    async listSessions({ person }) {
      const rows = await listSessions(db, person.userId, clock.now());
      return { data: rows.map((row) => presentSession(row, person)) };
    },

    async endSession({ params, person, actor, header, problem }) {
      const now = clock.now();
      const { sessionId } = params;
      const isEnded = await db.transaction(async (tx) => {
        if (!(await endSession(tx, { sessionId, userId: person.userId }))) return false;
        await recordAudit(tx, "user.session_ended", { actor, now, objectId: sessionId });
        return true;
      });
      if (!isEnded) throw problem("SESSION_NOT_FOUND");
      if (sessionId === person.sessionId) header("set-cookie", cookie.clear());
      return null;
    },

    async endOtherSessions({ person, actor, header }) {
      const now = clock.now();
      const issued = cookie.issue();
      await db.transaction(async (tx) => {
        const ended = await keepOnlySession(tx, person, issued.tokenHash);
        const details = { ended };
        const action = "user.other_sessions_ended";
        await recordAudit(tx, action, { actor, now, objectId: person.userId, details });
      });
      header("set-cookie", issued.header);
      return null;
    },
  } satisfies Partial<ConsoleHandlers>;
}

function presentSession(row: SessionRow, person: Person) {
  return {
    sessionId: row.session_id,
    isCurrent: row.session_id === person.sessionId,
    createdAt: row.created_at.toISOString(),
    lastSeenAt: row.seen_at.toISOString(),
    address: row.address,
    userAgent: row.user_agent,
  };
}
