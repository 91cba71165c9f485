import { type Queryable, sql, type Transaction } from "#platform";

/**
 * Takes the locks that order everything about these accounts' money and keys, by id, so that nobody
 * deadlocks. The order everywhere is accounts, then queue rows, then messages; only the acting
 * user's role is locked earlier. Returns how many of the accounts exist.
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

/** Which of these accounts are locked right now. Waits for no lock, and keeps none. */
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
