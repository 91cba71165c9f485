import { type Queryable, sql } from "#platform";

/** Notes that an event of the account arrived without a webhook: by a test or a listener. */
export async function noteTried(db: Queryable, accountId: string): Promise<void> {
  await db.query(sql`
    insert into tried_webhooks (account_id) values (${accountId}) on conflict do nothing`);
}

/** Whether that ever happened. */
export async function hasTried(db: Queryable, accountId: string): Promise<boolean> {
  const rows = await db.query(sql`
    select 1 as tried from tried_webhooks where account_id = ${accountId}`);
  return rows.length > 0;
}
