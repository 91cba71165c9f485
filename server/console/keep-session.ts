import { Problem } from "#http";
import type { Transaction } from "#platform";
import { endSessionsOf, renewToken } from "./sign-in/sessions.ts";
import { lockUser } from "./users.ts";

/**
 * Ends all sessions of a user but this one, which goes on under a new token: a copy of its cookie is
 * ended too. Answers how many others there were.
 */
export async function keepOnlySession(
  tx: Transaction,
  { userId, sessionId }: { userId: string; sessionId: string },
  tokenHash: Buffer,
): Promise<number> {
  // Of two sessions that end each other, one comes first and stays.
  await lockUser(tx, userId);
  if (!(await renewToken(tx, { sessionId, tokenHash }))) throw new Problem("SESSION_REQUIRED");
  return endSessionsOf(tx, userId, { except: sessionId });
}
