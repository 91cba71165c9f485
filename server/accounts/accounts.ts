import { type Database, isId, newId, type Queryable, type SecretBox, sql } from "#platform";
import { type Change, recordAudit } from "./audit-log.ts";
import { lockAccounts } from "./lock-accounts.ts";
import { insertFirstSecret } from "./signing-secrets.ts";

export type AccountRow = {
  account_id: string;
  name: string;
  balance: number;
  default_sender: string | null;
  /** Credits are low if the balance is at or below this. */
  low_credits: number;
  /** The version of the settings. An update names the version that it is based on. */
  version: number;
  created_at: Date;
};

export const accountColumns = sql`account_id, name, balance, default_sender, low_credits, version, created_at`;

/** Creates an account with its signing secret. The caller books its credits. */
export function createAccount(
  db: Database,
  { name, actor, now, secrets }: Change & { name: string; secrets: SecretBox },
): Promise<{ accountId: string; signingSecret: string }> {
  const accountId = newId(now.getTime());
  return db.transaction(async (tx) => {
    await tx.query(sql`
      insert into accounts (account_id, name, created_at) values (${accountId}, ${name}, ${now})`);
    const signingSecret = await insertFirstSecret(tx, { accountId, now, secrets });
    const details = { name };
    const action = "account.created";
    await recordAudit(tx, action, { actor, now, accountId, objectId: accountId, details });
    return { accountId, signingSecret };
  });
}

export function listAccounts(db: Queryable): Promise<AccountRow[]> {
  return db.query<AccountRow>(sql`select ${accountColumns} from accounts order by account_id`);
}

export async function findAccount(
  db: Queryable,
  accountId: string,
): Promise<AccountRow | undefined> {
  if (!isId(accountId)) return undefined;
  const [account] = await findAccounts(db, [accountId]);
  return account;
}

export function findAccounts(db: Queryable, accountIds: readonly string[]): Promise<AccountRow[]> {
  return db.query<AccountRow>(sql`
    select ${accountColumns} from accounts where account_id = any (${accountIds}::uuid[]) order by account_id`);
}

export async function findAccountNames(
  db: Queryable,
  accountIds: Iterable<string>,
): Promise<Map<string, string>> {
  const accounts = await findAccounts(db, [...new Set(accountIds)]);
  return new Map(accounts.map(({ account_id, name }) => [account_id, name]));
}

export type AccountChange = { name?: string; defaultSender?: string | null; lowCredits?: number };

/** Returns false if the settings changed since `version`: no change is overwritten unseen. */
export function updateAccount(
  db: Database,
  {
    accountId,
    version,
    change,
    actor,
    now,
  }: Change & { accountId: string; version: number; change: AccountChange },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [accountId]);
    const before = await findAccount(tx, accountId);
    if (!before || before.version !== version) return false;
    const { name = before.name, lowCredits = before.low_credits } = change;
    const defaultSender =
      change.defaultSender === undefined ? before.default_sender : change.defaultSender;
    await tx.query(sql`
      update accounts
         set name = ${name}, default_sender = ${defaultSender}, low_credits = ${lowCredits}, version = version + 1
       where account_id = ${accountId}`);
    const details = {
      before: {
        name: before.name,
        defaultSender: before.default_sender,
        lowCredits: before.low_credits,
      },
      after: { name, defaultSender, lowCredits },
    };
    const action = "account.changed";
    await recordAudit(tx, action, { actor, now, accountId, objectId: accountId, details });
    return true;
  });
}
