import { type Position, type Queryable, sideOf, sql } from "#platform";
import { accountColumns, type AccountRow } from "./accounts.ts";

/** Accounts on one side of a position, nearest first; one more than `limit` tells that there are more. */
export function browseAccounts(
  db: Queryable,
  { words, position, limit }: { words: string | null; position: Position; limit: number },
): Promise<AccountRow[]> {
  const { beyond, order } = sideOf(position);
  return db.query<AccountRow>(sql`
    select ${accountColumns}
      from accounts
     where (${position?.id ?? null}::uuid is null or account_id ${beyond} ${position?.id ?? null})
       and (${words}::text is null or strpos(lower(name), lower(${words})) > 0 or account_id::text = lower(${words}))
     order by account_id ${order}
     limit ${limit + 1}`);
}
