import { recordAudit } from "#accounts";
import { networkOf } from "#http";
import type { Clock, Database, Queryable } from "#platform";
import type { ConsoleHandlers, Person } from "./console-call.ts";
import { refuseFields, required, waitFor } from "./field-problems.ts";
import {
  acceptCode,
  beginSecondFactor,
  type FactorDeps,
  renewRecoveryCodes,
  switchOffSecondFactor,
  switchOnSecondFactor,
} from "./second-factor.ts";
import { PROOF_MS } from "./serve-console.ts";
import { isOutdated, judgePassword, type Passwords, TooManyHashes } from "./sign-in/password.ts";
import type { SessionCookie } from "./sign-in/session-cookie.ts";
import {
  endSession,
  endSessionsOf,
  insertSession,
  listSessions,
  noteProof,
  renewSession,
  type SessionRow,
} from "./sign-in/sessions.ts";
import { forgive, giveBack, takeTry } from "./sign-in/tries.ts";
import { otpauthUrl } from "./sign-in/totp.ts";
import {
  findUser,
  findUserByEmail,
  lockUser,
  plainEmail,
  setPassword,
  type UserRow,
} from "./users.ts";

export type SignInDeps = FactorDeps & {
  db: Database;
  clock: Clock;
  passwords: Passwords;
  cookie: SessionCookie;
};

/** Signing in and out, the second factor, sessions, and proving again who one is. */
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
      const isPending = user.totp !== null;
      const by = { ...actor, name: `user:${user.user_id}` };
      const rehashed = isOutdated(user.password) ? await passwords.hash(body.password) : undefined;
      await db.transaction(async (tx) => {
        // Whoever put a cookie into this browser before gains nothing by the sign-in.
        if (person) await endSession(tx, person);
        await insertSession(tx, {
          userId: user.user_id,
          tokenHash,
          isPending,
          address,
          userAgent,
          now,
        });
        if (rehashed !== undefined) await setPassword(tx, user.user_id, rehashed);
        await recordAudit(tx, {
          at: now,
          accountId: null,
          actor: by,
          action: "user.signed_in",
          objectId: user.user_id,
        });
      });
      header("set-cookie", setCookie);
      return { state: isPending ? "second_factor_required" : "signed_in" };
    },

    async giveSecondFactor({ body, person, actor, header, problem }) {
      const now = clock.now();
      if (!person.isPending) return { state: "signed_in" };
      const tries = { factorTries: person.userId };
      await spendTry(db, tries, now);
      const { header: setCookie, tokenHash } = cookie.issue();
      const isAccepted = await db.transaction(async (tx) => {
        const user = await lockUser(tx, person.userId);
        if (!user || !(await acceptCode(tx, deps, { user, code: body.code, now }))) return false;
        await renewSession(tx, { sessionId: person.sessionId, tokenHash, now });
        const action = "user.second_factor_given";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: person.userId });
        return true;
      });
      if (!isAccepted) throw problem("SECOND_FACTOR_FAILED");
      await forgive(db, tries);
      header("set-cookie", setCookie);
      return { state: "signed_in" };
    },

    async signOut({ person, actor, header }) {
      const now = clock.now();
      await db.transaction(async (tx) => {
        await endSession(tx, person);
        await recordAudit(tx, {
          at: now,
          accountId: null,
          actor,
          action: "user.signed_out",
          objectId: person.userId,
        });
      });
      header("set-cookie", cookie.clear());
      return null;
    },

    async changePassword({ body, person, actor, problem }) {
      const now = clock.now();
      refuseFields({ newPassword: judgePassword(body.newPassword, person.email) });
      if (!(await isRightPassword(deps, person, body.currentPassword)))
        throw problem("PROOF_FAILED");
      const passwordHash = await passwords.hash(body.newPassword);
      await db.transaction(async (tx) => {
        await setPassword(tx, person.userId, passwordHash);
        await endSessionsOf(tx, person.userId, { except: person.sessionId });
        await noteProof(tx, person.sessionId, now);
        const action = "user.password_changed";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: person.userId });
      });
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
        const action = "user.session_ended";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: sessionId });
        return true;
      });
      if (!isEnded) throw problem("SESSION_NOT_FOUND");
      if (sessionId === person.sessionId) header("set-cookie", cookie.clear());
      return null;
    },

    async endOtherSessions({ person, actor }) {
      const now = clock.now();
      await db.transaction(async (tx) => {
        const ended = await endSessionsOf(tx, person.userId, { except: person.sessionId });
        const action = "user.other_sessions_ended";
        await recordAudit(tx, {
          at: now,
          accountId: null,
          actor,
          action,
          objectId: person.userId,
          details: { ended },
        });
      });
      return null;
    },

    async enrolSecondFactor({ person, actor }) {
      const now = clock.now();
      return db.transaction(async (tx) => {
        const secret = await beginSecondFactor(tx, deps, person.userId);
        const action = "user.second_factor_enrolled";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: person.userId });
        return { secret, otpauthUrl: otpauthUrl(secret, person.email) };
      });
    },

    async confirmSecondFactor({ body, person, actor, problem }) {
      const now = clock.now();
      const tries = { factorTries: person.userId };
      await spendTry(db, tries, now);
      const recoveryCodes = await db.transaction(async (tx) => {
        const user = await lockUser(tx, person.userId);
        const codes =
          user && (await switchOnSecondFactor(tx, deps, { user, code: body.code, now }));
        if (!codes) return undefined;
        await endSessionsOf(tx, person.userId, { except: person.sessionId });
        const action = "user.second_factor_switched_on";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: person.userId });
        return codes;
      });
      if (!recoveryCodes) throw problem("SECOND_FACTOR_FAILED");
      await forgive(db, tries);
      return { recoveryCodes };
    },

    async switchOffSecondFactor({ person, actor }) {
      const now = clock.now();
      await db.transaction(async (tx) => {
        await switchOffSecondFactor(tx, person.userId);
        await endSessionsOf(tx, person.userId, { except: person.sessionId });
        const action = "user.second_factor_switched_off";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: person.userId });
      });
      return null;
    },

    async renewRecoveryCodes({ person, actor, problem }) {
      const now = clock.now();
      const recoveryCodes = await db.transaction(async (tx) => {
        const user = await lockUser(tx, person.userId);
        if (!user?.totp) return undefined;
        const action = "user.recovery_codes_renewed";
        await recordAudit(tx, { at: now, accountId: null, actor, action, objectId: person.userId });
        return renewRecoveryCodes(tx, deps, person.userId);
      });
      if (!recoveryCodes) throw problem("SECOND_FACTOR_FAILED");
      return { recoveryCodes };
    },

    async giveProof({ body, person, actor, problem }) {
      const now = clock.now();
      if (body.password === undefined && body.code === undefined) throw required("password");
      const isProven =
        body.password === undefined
          ? await isRightCode(deps, person, body.code ?? "")
          : await isRightPassword(deps, person, body.password);
      if (!isProven) throw problem("PROOF_FAILED");
      await db.transaction(async (tx) => {
        await noteProof(tx, person.sessionId, now);
        await recordAudit(tx, {
          at: now,
          accountId: null,
          actor,
          action: "user.proof_given",
          objectId: person.userId,
        });
      });
      return { provenUntil: new Date(now.getTime() + PROOF_MS).toISOString() };
    },
  } satisfies Partial<ConsoleHandlers>;
}

/** Counts a try, or throws the problem that says how long to wait. */
async function spendTry(
  db: Queryable,
  subject: Parameters<typeof takeTry>[1],
  now: Date,
): Promise<void> {
  const verdict = await takeTry(db, subject, now);
  if (!verdict.isAllowed) throw waitFor(verdict.waitSeconds);
}

/** Guessing here is counted with guessing at the sign-in. */
async function isRightPassword(
  { db, clock, passwords }: SignInDeps,
  person: Person,
  password: string,
): Promise<boolean> {
  const tries = { userTries: person.email };
  await spendTry(db, tries, clock.now());
  const user = await findUser(db, person.userId);
  const isRight = await passwords.verify(password, user?.password).catch(async (error) => {
    if (error instanceof TooManyHashes) await giveBack(db, tries);
    throw error;
  });
  if (isRight) await forgive(db, tries);
  return isRight;
}

async function isRightCode(deps: SignInDeps, person: Person, code: string): Promise<boolean> {
  const { db, clock } = deps;
  const now = clock.now();
  const tries = { factorTries: person.userId };
  await spendTry(db, tries, now);
  const isRight = await db.transaction(async (tx) => {
    const user: UserRow | undefined = await lockUser(tx, person.userId);
    return user !== undefined && acceptCode(tx, deps, { user, code, now });
  });
  if (isRight) await forgive(db, tries);
  return isRight;
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
