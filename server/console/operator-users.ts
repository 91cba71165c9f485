import { findAccountNames } from "#accounts";
import { listPage, type Looked, type Page, type Queryable, sql } from "#platform";

export type ListedUser = {
  user_id: string;
  name: string;
  email: string;
  is_operator: boolean;
  has_second_factor: boolean;
  last_seen_at: Date | null;
};

export function browseUsers(
  db: Queryable,
  { words, ...page }: Page & { words: string | null },
): Promise<Looked<ListedUser>> {
  return listPage(db, {
    ...page,
    select: sql`
      select user_id, name, email, is_operator, totp is not null as has_second_factor, last_seen_at from users`,
    where: sql`(${words}::text is null or strpos(lower(name), lower(${words})) > 0 or strpos(email, lower(${words})) > 0)`,
    id: sql`user_id`,
  });
}

/** All users with their accounts, for the terminal. */
export async function listUsers(db: Queryable) {
  const users = await db.query<Pick<ListedUser, "user_id" | "name" | "email" | "is_operator">>(sql`
    select user_id, name, email, is_operator from users order by email`);
  const accounts = await accountsOfUsers(
    db,
    users.map(({ user_id }) => user_id),
  );
  return users.map(({ user_id: userId, name, email, is_operator: isOperator }) => ({
    userId,
    name,
    email,
    isOperator,
    accounts: (accounts.get(userId) ?? []).map(({ userId: _, ...account }) => account),
  }));
}

export async function accountsOfUsers(db: Queryable, userIds: readonly string[]) {
  const rows = await db.query<{ user_id: string; account_id: string; role: string }>(sql`
    select user_id, account_id, role from memberships where user_id = any (${userIds}::uuid[]) order by account_id`);
  const names = await findAccountNames(
    db,
    rows.map(({ account_id }) => account_id),
  );
  return Map.groupBy(
    rows.map(({ user_id: userId, account_id: accountId, role }) => ({
      userId,
      accountId,
      name: names.get(accountId) ?? "",
      role,
    })),
    ({ userId }) => userId,
  );
}

/** The members of each account, in the order in which they joined. */
export async function peopleOfAccounts(db: Queryable, accountIds: readonly string[]) {
  const rows = await db.query<{
    account_id: string;
    role: string;
    user_id: string;
    name: string;
    email: string;
  }>(sql`
    select m.account_id, m.role, u.user_id, u.name, u.email
      from memberships m
      join users u on u.user_id = m.user_id
     where m.account_id = any (${accountIds}::uuid[])
     order by m.joined_at`);
  return Map.groupBy(rows, ({ account_id }) => account_id);
}
