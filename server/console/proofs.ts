import type { Clock, Database, Queryable } from "#platform";
import type { Person } from "./console-call.ts";
import { waitFor } from "./field-problems.ts";
import { acceptCode, type FactorDeps } from "./second-factor.ts";
import { type Passwords, TooManyHashes } from "./sign-in/password.ts";
import type { SessionCookie } from "./sign-in/session-cookie.ts";
import { forgive, giveBack, takeTry } from "./sign-in/tries.ts";
import { findUser, lockUser, type UserRow } from "./users.ts";

export type SignInDeps = FactorDeps & {
  db: Database;
  clock: Clock;
  passwords: Passwords;
  cookie: SessionCookie;
};

/** Counts a try, or throws a problem that says how long to wait. */
export async function spendTry(
  db: Queryable,
  subject: Parameters<typeof takeTry>[1],
  now: Date,
): Promise<void> {
  const verdict = await takeTry(db, subject, now);
  if (!verdict.isAllowed) throw waitFor(verdict.waitSeconds);
}

/** The user whose password it is; undefined if it is wrong. */
export async function provePassword(
  { db, clock, passwords }: SignInDeps,
  person: Person,
  password: string,
): Promise<UserRow | undefined> {
  const tries = { proofTries: person.userId };
  await spendTry(db, tries, clock.now());
  const user = await findUser(db, person.userId);
  const isRight = await passwords.verify(password, user?.password).catch(async (error) => {
    if (error instanceof TooManyHashes) await giveBack(db, tries);
    throw error;
  });
  if (!isRight) return undefined;
  await forgive(db, tries);
  return user;
}

/** Tries here and at the second factor of the sign-in share one count. */
export async function isRightCode(
  deps: SignInDeps,
  person: Person,
  code: string,
): Promise<boolean> {
  const { db, clock } = deps;
  const now = clock.now();
  const tries = { factorTries: person.userId };
  await spendTry(db, tries, now);
  const isRight = await db.transaction(async (tx) => {
    const user = await lockUser(tx, person.userId);
    return user !== undefined && acceptCode(tx, deps, { user, code, now });
  });
  if (isRight) await forgive(db, tries);
  return isRight;
}
