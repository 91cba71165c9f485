import { type Change, judgeName, recordAudit } from "#accounts";
import type { MemberRole } from "#contract";
import {
  type Database,
  isId,
  newId,
  type Queryable,
  sql,
  type Transaction,
  violates,
} from "#platform";
import { judgePassword, type Passwords } from "./sign-in/password.ts";

export type UserRow = {
  user_id: string;
  email: string;
  name: string;
  password: string;
  is_operator: boolean;
  totp: Buffer | null;
  totp_pending: Buffer | null;
  totp_step: number;
  preferences: Partial<Preferences>;
  version: number;
};

export type Preferences = {
  theme: "system" | "light" | "dark";
  zone: "browser" | "utc";
  shortcuts: boolean;
};

const columns = sql`
  user_id, email, name, password, is_operator, totp, totp_pending, totp_step, preferences, version`;

/** One spelling per address: people do not remember which letters they capitalized. */
export function plainEmail(email: string): string {
  return email.trim().normalize("NFKC").toLowerCase();
}

export function judgeEmail(email: string): string[] {
  const plain = plainEmail(email);
  const isAddress = /^[^\s@,;<>()[\]\\"]+@[^\s@,;<>()[\]\\"]+\.?[^\s@.,;<>()[\]\\"]+$/.test(plain);
  return isAddress && plain.length <= 254 && !/\p{C}/u.test(plain)
    ? []
    : ["This is not an e-mail address such as ada@example.com."];
}

export async function findUserByEmail(db: Queryable, email: string): Promise<UserRow | undefined> {
  const [user] = await db.query<UserRow>(
    sql`select ${columns} from users where email = ${plainEmail(email)}`,
  );
  return user;
}

export async function findUser(db: Queryable, userId: string): Promise<UserRow | undefined> {
  if (!isId(userId)) return undefined;
  const [user] = await db.query<UserRow>(
    sql`select ${columns} from users where user_id = ${userId}`,
  );
  return user;
}

/** Locks the user's row, so that changes of the password or second factor happen one at a time. */
export async function lockUser(tx: Transaction, userId: string): Promise<UserRow | undefined> {
  const [user] = await tx.query<UserRow>(sql`
    select ${columns} from users where user_id = ${userId} for no key update`);
  return user;
}

/** Whether the user is an operator; this cannot change until the transaction ends. */
export async function lockOperator(tx: Transaction, userId: string): Promise<boolean> {
  const [user] = await tx.query<{ is_operator: boolean }>(sql`
    select is_operator from users where user_id = ${userId} for share`);
  return user?.is_operator ?? false;
}

export type NewUser = {
  email: string;
  name: string;
  passwordHash: string;
  isOperator: boolean;
  now: Date;
};

/** Undefined if the e-mail is taken. */
export async function insertUser(tx: Transaction, user: NewUser): Promise<string | undefined> {
  const { name, passwordHash, isOperator, now } = user;
  const userId = newId(now.getTime());
  const inserted = await tx.query(sql`
    insert into users (user_id, email, name, password, is_operator, created_at)
    values (${userId}, ${plainEmail(user.email)}, ${name.trim()}, ${passwordHash}, ${isOperator}, ${now})
        on conflict (email) do nothing
    returning user_id`);
  return inserted.length > 0 ? userId : undefined;
}

export async function setPassword(
  tx: Queryable,
  userId: string,
  passwordHash: string,
): Promise<void> {
  await tx.query(sql`
    update users set password = ${passwordHash}, version = version + 1 where user_id = ${userId}`);
}

export type UserRequest = Change & {
  email: string;
  /** If left out, the part of the e-mail before the @. */
  name?: string;
  password: string;
  accountId: string;
  role: MemberRole;
  isOperator: boolean;
};

export type CreatedUser =
  | { outcome: "created"; userId: string }
  | { outcome: "invalid"; problems: string[] }
  | { outcome: "email_taken" | "account_unknown" };

/** Creates a user who is a member of an account, for a terminal without the dashboard. */
export async function createUser(
  { db, passwords }: { db: Database; passwords: Passwords },
  wish: UserRequest,
): Promise<CreatedUser> {
  const { email, password, accountId, role, isOperator, actor, now } = wish;
  const name = wish.name ?? plainEmail(email).split("@")[0] ?? "";
  const problems = [...judgeEmail(email), ...judgeName(name), ...judgePassword(password, email)];
  if (problems.length > 0) return { outcome: "invalid", problems };
  if (!isId(accountId)) return { outcome: "account_unknown" };
  const passwordHash = await passwords.hash(password);
  try {
    return await db.transaction(async (tx) => {
      const userId = await insertUser(tx, { email, name, passwordHash, isOperator, now });
      if (userId === undefined) return { outcome: "email_taken" };
      await insertMembership(tx, { accountId, userId, role, now });
      // Once there is an operator, nothing is left to set up.
      if (isOperator) await completeInstallation(tx, now);
      const details = { email: plainEmail(email), role, isOperator };
      await recordAudit(tx, "user.created", { actor, now, accountId, objectId: userId, details });
      return { outcome: "created", userId };
    });
  } catch (error) {
    if (violates(error, "memberships_account_id_fkey")) return { outcome: "account_unknown" };
    throw error;
  }
}

export async function insertMembership(
  tx: Transaction,
  {
    accountId,
    userId,
    role,
    now,
  }: { accountId: string; userId: string; role: MemberRole; now: Date },
): Promise<boolean> {
  const inserted = await tx.query(sql`
    insert into memberships (account_id, user_id, role, joined_at) values (${accountId}, ${userId}, ${role}, ${now})
        on conflict (account_id, user_id) do nothing
    returning user_id`);
  return inserted.length > 0;
}

/** True for the call that inserts the row; all others come too late. */
export async function completeInstallation(tx: Transaction, now: Date): Promise<boolean> {
  const inserted = await tx.query(sql`
    insert into installation (completed_at) values (${now}) on conflict (only_row) do nothing returning only_row`);
  return inserted.length > 0;
}

export async function isInstalled(db: Queryable): Promise<boolean> {
  const rows = await db.query(sql`select only_row from installation`);
  return rows.length > 0;
}
