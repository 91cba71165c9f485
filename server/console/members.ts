import { findAccounts } from "#accounts";
import type { MemberRole } from "#contract";
import { Problem } from "#http/problem";
import { listPage, type Looked, type Page, type Queryable, sql, type Transaction } from "#platform";
import { withdrawInvitationsBy } from "./links.ts";

export type MemberRow = {
  user_id: string;
  name: string;
  email: string;
  role: MemberRole;
  has_second_factor: boolean;
  last_seen_at: Date | null;
  joined_at: Date;
  version: number;
};

/** A user's accounts with what the dashboard's shell shows of each, sorted by name. */
export async function listMembershipsOf(db: Queryable, userId: string) {
  const roles = await db.query<{ account_id: string; role: MemberRole }>(sql`
    select account_id, role from memberships where user_id = ${userId}`);
  const byId = new Map(roles.map(({ account_id, role }) => [account_id, role]));
  const accounts = await findAccounts(db, [...byId.keys()]);
  return accounts
    .map(({ account_id, name, balance, low_credits }) => ({
      accountId: account_id,
      name,
      role: byId.get(account_id) ?? ("viewer" as const),
      balance,
      lowCredits: low_credits,
    }))
    .toSorted((a, b) => a.name.localeCompare(b.name, "en") || (a.accountId < b.accountId ? -1 : 1));
}

const select = sql`
  select u.user_id, u.name, u.email, m.role, u.totp is not null as has_second_factor, u.last_seen_at,
         m.joined_at, m.version
    from memberships m
    join users u on u.user_id = m.user_id`;

export function browseMembers(
  db: Queryable,
  { accountId, ...page }: Page & { accountId: string },
): Promise<Looked<MemberRow>> {
  return listPage(db, {
    ...page,
    select,
    where: sql`m.account_id = ${accountId}`,
    id: sql`m.user_id`,
  });
}

export async function countMembers(
  db: Queryable,
  accountId: string,
): Promise<{ totalCount: number; ownerCount: number }> {
  const [counts] = await db.query<{ total: number; owners: number }>(sql`
    select count(*) as total, count(*) filter (where role = 'owner') as owners
      from memberships
     where account_id = ${accountId}`);
  return { totalCount: counts?.total ?? 0, ownerCount: counts?.owners ?? 0 };
}

export async function findMember(
  db: Queryable,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<MemberRow | undefined> {
  const [member] = await db.query<MemberRow>(sql`
    ${select} where m.account_id = ${accountId} and m.user_id = ${userId}`);
  return member;
}

/**
 * Locks all members of the account: of two owners who demote each other, one stays owner. A person
 * who is no longer an owner cannot invite, and their open invitations are withdrawn.
 */
export async function changeRole(
  tx: Transaction,
  {
    accountId,
    userId,
    role,
    version,
    now,
  }: { accountId: string; userId: string; role: MemberRole; version: number; now: Date },
): Promise<{ before: MemberRole; withdrawnInvitations: number }> {
  const member = requireMember(await lockMembers(tx, accountId), userId);
  if (member.version !== version) throw new Problem("VERSION_CONFLICT");
  if (member.isLastOwner && role !== "owner") throw new Problem("LAST_OWNER");
  await tx.query(sql`
    update memberships
       set role = ${role}, version = version + 1
     where account_id = ${accountId} and user_id = ${userId}`);
  const withdrawnInvitations =
    role === "owner" ? 0 : await withdrawInvitationsBy(tx, { accountId, userId, now });
  return { before: member.role, withdrawnInvitations };
}

export async function removeMember(
  tx: Transaction,
  { accountId, userId, now }: { accountId: string; userId: string; now: Date },
): Promise<{ role: MemberRole; withdrawnInvitations: number }> {
  const { role, isLastOwner } = requireMember(await lockMembers(tx, accountId), userId);
  if (isLastOwner) throw new Problem("LAST_OWNER");
  await tx.query(sql`
    delete from memberships where account_id = ${accountId} and user_id = ${userId}`);
  const withdrawnInvitations = await withdrawInvitationsBy(tx, { accountId, userId, now });
  return { role, withdrawnInvitations };
}

type LockedMember = { user_id: string; role: MemberRole; version: number };

/** Take this lock before the one on their invitations, everywhere; otherwise it deadlocks. */
export function lockMembers(tx: Transaction, accountId: string): Promise<LockedMember[]> {
  return tx.query<LockedMember>(sql`
    select user_id, role, version
      from memberships
     where account_id = ${accountId}
     order by user_id
       for update`);
}

function requireMember(members: readonly LockedMember[], userId: string) {
  const member = members.find(({ user_id }) => user_id === userId);
  if (!member) throw new Problem("MEMBER_NOT_FOUND");
  const owners = members.filter(({ role }) => role === "owner");
  return { ...member, isLastOwner: member.role === "owner" && owners.length === 1 };
}

/** Undefined if the user is not a member. The role cannot change until the transaction ends. */
export async function lockRole(
  tx: Transaction,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<MemberRole | undefined> {
  const [member] = await tx.query<{ role: MemberRole }>(sql`
    select role from memberships where account_id = ${accountId} and user_id = ${userId} for share`);
  return member?.role;
}
