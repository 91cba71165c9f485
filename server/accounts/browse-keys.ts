import { listPage, type Looked, type Page, type Queryable, sql } from "#platform";
import { isActiveAt, keyColumns, type KeyRow } from "./key-row.ts";

export type KeyState = "active" | "expires_soon" | "expired" | "revoked";

/** A key's state at `now`. A key that expires soon is still active. */
function stateAt(now: Date, soonDays: number) {
  return sql`
    case when k.revoked_at is not null then 'revoked'
         when k.expires_at <= ${now} then 'expired'
         when k.expires_at <= ${now}::timestamptz + make_interval(days => ${soonDays}) then 'expires_soon'
         else 'active'
    end`;
}

type KeyFilter = {
  accountId: string;
  states: readonly KeyState[] | null;
  now: Date;
  soonDays: number;
};

export function browseKeys(
  db: Queryable,
  { accountId, states, now, soonDays, ...page }: Page & KeyFilter,
): Promise<Looked<KeyRow & { state: KeyState }>> {
  const state = stateAt(now, soonDays);
  return listPage(db, {
    ...page,
    select: sql`
      select ${keyColumns}, ${state} as state
        from keys k
        left join key_usage u on u.key_id = k.key_id`,
    where: sql`k.account_id = ${accountId} and (${states}::text[] is null or ${state} = any (${states}::text[]))`,
    id: sql`k.key_id`,
  });
}

export async function countKeys(
  db: Queryable,
  { accountId, now }: { accountId: string; now: Date },
): Promise<{ active: number; total: number }> {
  const [counts] = await db.query<{ active: number; total: number }>(sql`
    select count(*) filter (where ${isActiveAt(now)}) as active,
           count(*) as total
      from keys
     where account_id = ${accountId}`);
  return counts ?? { active: 0, total: 0 };
}

/** The names of an account's keys, including revoked ones. */
export async function findKeyNames(
  db: Queryable,
  accountId: string,
  keyIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.query<{ key_id: string; name: string }>(sql`
    select key_id, name from keys where account_id = ${accountId} and key_id = any (${keyIds}::uuid[])`);
  return new Map(rows.map(({ key_id, name }) => [key_id, name]));
}
