import { listPage, type Looked, type Page, type Queryable, sql } from "#platform";
import { accountColumns, type AccountRow } from "./accounts.ts";

export function browseAccounts(
  db: Queryable,
  { words, ...page }: Page & { words: string | null },
): Promise<Looked<AccountRow>> {
  return listPage(db, {
    ...page,
    select: sql`select ${accountColumns} from accounts`,
    where: sql`(${words}::text is null or strpos(lower(name), lower(${words})) > 0 or account_id::text = lower(${words}))`,
    id: sql`account_id`,
  });
}
