import { Problem } from "#http";
import type { Transaction } from "#platform";
import { endSessionsOf, lockSession, renewToken } from "./sign-in/sessions.ts";
import { lockUser, type UserRow } from "./users.ts";

/**
 * Ends all sessions of a user but this one, which gets a new token, so that a copy of its cookie is
 * worthless too. Returns how many others there were.
 */
export async function keepOnlySession(
  tx: Transaction,
  { userId, sessionId }: { userId: string; sessionId: string },
  tokenHash: Buffer,
): Promise<number> {
  // Of two sessions that end each other, the first to lock the user stays.
  await lockUser(tx, userId);
  if (!(await renewToken(tx, { sessionId, tokenHash }))) throw new Problem("SESSION_REQUIRED");
  return endSessionsOf(tx, userId, { except: sessionId });
}

/** Locks the user, and refuses a person whose session was ended since they were let in. */
export async function lockPerson(
  tx: Transaction,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<UserRow | undefined> {
  const user = await lockUser(tx, userId);
  if (!(await lockSession(tx, sessionId))) throw new Problem("SESSION_REQUIRED");
  return user;
}
