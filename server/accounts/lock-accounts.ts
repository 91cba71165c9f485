import { type Queryable, sql, type Transaction } from "#platform";

/**
 * Takes the locks that order everything about these accounts' money and keys, by id, so that nobody
 * deadlocks. First of all locks, everywhere: accounts, then queue rows, then messages; only the role
 * of the person who asks is held before. Answers how many of the accounts there are.
 */
export async function lockAccounts(
  tx: Transaction,
  accountIds: readonly string[],
): Promise<number> {
  const locked = await tx.query(sql`
    select account_id
      from accounts
     where account_id = any (${accountIds}::uuid[])
     order by account_id
       for no key update`);
  return locked.length;
}

/** Which of these accounts somebody has locked at this moment. Waits for nobody, and holds nothing. */
export async function findHeldAccounts(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Set<string>> {
  const free = await db.query<{ account_id: string }>(sql`
    select account_id
      from accounts
     where account_id = any (${accountIds}::uuid[])
       for no key update skip locked`);
  return new Set(accountIds).difference(new Set(free.map(({ account_id }) => account_id)));
}
