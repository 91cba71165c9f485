import { type Queryable, sql } from "#platform";

/** An event of the account has arrived that no webhook carried: a test, or one that was listened to. */
export async function noteTried(db: Queryable, accountId: string): Promise<void> {
  await db.query(sql`
    insert into tried_webhooks (account_id) values (${accountId}) on conflict do nothing`);
}

/** Whether that ever was so. */
export async function hasTried(db: Queryable, accountId: string): Promise<boolean> {
  const rows = await db.query(sql`
    select 1 as tried from tried_webhooks where account_id = ${accountId}`);
  return rows.length > 0;
}
