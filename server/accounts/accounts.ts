import {
  type Database,
  isId,
  newId,
  type Queryable,
  type SecretBox,
  sql,
  type Transaction,
} from "#platform";
import { type Actor, recordAudit } from "./audit-log.ts";
import { insertFirstSecret } from "./signing-secrets.ts";

export type AccountRow = {
  account_id: string;
  name: string;
  balance: number;
  default_sender: string | null;
  created_at: Date;
};

/** Makes an account with its signing secret; credits are booked by whoever gives them. */
export function createAccount(
  db: Database,
  { name, actor, now, secrets }: { name: string; actor: Actor; now: Date; secrets: SecretBox },
): Promise<{ accountId: string; signingSecret: string }> {
  const accountId = newId(now.getTime());
  return db.transaction(async (tx) => {
    await tx.query(sql`
      insert into accounts (account_id, name, created_at) values (${accountId}, ${name}, ${now})`);
    const signingSecret = await insertFirstSecret(tx, { accountId, now, secrets });
    await recordAudit(tx, {
      at: now,
      accountId,
      actor,
      action: "account.created",
      objectId: accountId,
      details: { name },
    });
    return { accountId, signingSecret };
  });
}

export function judgeAccountName(name: string): string[] {
  const length = [...name.trim()].length;
  return length < 1 || length > 60 ? ["The account's name must have 1 to 60 characters."] : [];
}

export function listAccounts(db: Queryable): Promise<AccountRow[]> {
  return db.query<AccountRow>(sql`
    select account_id, name, balance, default_sender, created_at
      from accounts
     order by account_id
     limit 10000`);
}

export async function findAccount(
  db: Queryable,
  accountId: string,
): Promise<AccountRow | undefined> {
  if (!isId(accountId)) return undefined;
  const [account] = await db.query<AccountRow>(sql`
    select account_id, name, balance, default_sender, created_at
      from accounts
     where account_id = ${accountId}`);
  return account;
}

/**
 * Takes the locks that order everything about these accounts' money, by id, so that nobody
 * deadlocks. First of all locks, everywhere: accounts, then queue rows, then messages.
 */
export async function lockAccounts(tx: Transaction, accountIds: readonly string[]): Promise<void> {
  await tx.query(sql`
    select account_id
      from accounts
     where account_id = any (${accountIds}::uuid[])
     order by account_id
       for no key update`);
}
