import { createKey } from "#accounts";
import type { Scope } from "#contract";
import { type Clock, type Database, systemClock } from "#platform";

type KeyWish = {
  accountId: string;
  name?: string;
  scopes?: readonly Scope[];
  expiresAt?: Date;
  actor?: string;
  clock?: Clock;
};

export type TestKey = { key: string; keyId: string; accountId: string };

/** A key of an account, with both scopes unless others are given. */
export async function makeKey(db: Database, wish: KeyWish): Promise<TestKey> {
  const { accountId, name = "test", scopes = ["messages:send", "messages:read"] } = wish;
  const { expiresAt = null, actor = "test", clock = systemClock } = wish;
  const made = await createKey(db, { accountId, name, scopes, expiresAt, actor, now: clock.now() });
  if (made.outcome !== "created") throw new Error(`No key was created: ${made.outcome}`);
  return { key: made.key, keyId: made.keyId, accountId };
}
