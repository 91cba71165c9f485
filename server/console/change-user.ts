import { actorName, type Change, recordAudit } from "#accounts";
import { type Database, sql } from "#platform";
import { insertLink, withdrawLinksOfOperator } from "./links.ts";
import { endSessionsOf } from "./sign-in/sessions.ts";
import { completeInstallation, findUserByEmail } from "./users.ts";

type ResetRequest = Change & {
  userId: string;
  /** For a user who lost authenticator and recovery codes: the link switches the factor off. */
  dropsSecondFactor: boolean;
  publicUrl: string;
};

/** A one-time link by which a user sets a new password. */
export function makeResetLink(
  db: Database,
  { userId, dropsSecondFactor, publicUrl, actor, now }: ResetRequest,
): Promise<{ link: string; expiresAt: Date }> {
  const createdBy = actorName(actor);
  return db.transaction(async (tx) => {
    const wish = { kind: "reset", createdBy, now, publicUrl, userId, dropsSecondFactor } as const;
    const { link, expiresAt } = await insertLink(tx, wish);
    const details = { dropsSecondFactor };
    await recordAudit(tx, "user.reset_link_made", { actor, now, objectId: userId, details });
    return { link, expiresAt };
  });
}

export type OperatorChange =
  | { outcome: "changed" | "unchanged"; userId: string }
  | { outcome: "unknown" | "last_operator" };

/** A former operator keeps no power: their sessions end and the links they made are withdrawn. */
export async function setOperator(
  db: Database,
  wish: Change & { email: string; isOperator: boolean },
): Promise<OperatorChange> {
  const { email, isOperator, actor, now } = wish;
  const user = await findUserByEmail(db, email);
  if (!user) return { outcome: "unknown" };
  const userId = user.user_id;
  return db.transaction(async (tx) => {
    // Locks all operators: if two remove each other at the same time, one of them remains. Locks
    // the user too: of several who make them an operator at once, only one changes something.
    const locked = await tx.query<{ user_id: string; is_operator: boolean }>(sql`
      select user_id, is_operator
        from users
       where is_operator or user_id = ${userId}
       order by user_id
         for no key update`);
    const operators = locked.filter(({ is_operator }) => is_operator);
    const before = operators.some(({ user_id }) => user_id === userId);
    if (before === isOperator) return { outcome: "unchanged", userId };
    if (!isOperator && operators.length === 1) return { outcome: "last_operator" };
    await tx.query(sql`
      update users set is_operator = ${isOperator}, version = version + 1 where user_id = ${userId}`);
    if (isOperator) await completeInstallation(tx, now);
    else await withdrawLinksOfOperator(tx, { userId, now });
    await endSessionsOf(tx, userId);
    const details = { before, after: isOperator };
    await recordAudit(tx, "user.operator_changed", { actor, now, objectId: userId, details });
    return { outcome: "changed", userId };
  });
}
