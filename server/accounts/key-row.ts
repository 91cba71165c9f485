import type { Scope } from "#contract";
import { type Sql, sql } from "#platform";

export type KeyRow = {
  key_id: string;
  account_id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
  created_at: Date;
  created_by: string;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
};

/** Columns from `keys k` and `key_usage u`. */
export const keyColumns = sql`
  k.key_id, k.account_id, k.name, k.prefix, k.scopes, k.created_at, k.created_by, k.expires_at,
  k.revoked_at, u.last_used_at`;

/** Keeps a runaway script from filling the table. The dashboard shows the count against it. */
export const MAX_ACTIVE_KEYS = 50;

/** The validity of a row of `keys k` at this moment. */
export type JudgedKey = "valid" | "revoked" | "expired";
export const judgedNow = sql`
  case when k.revoked_at is not null then 'revoked'
       when k.expires_at <= clock_timestamp() then 'expired'
       else 'valid'
  end`;

/** Whether a row of `keys` is active at `moment`. */
export function isActiveAt(moment: Date | Sql): Sql {
  return sql`(revoked_at is null and (expires_at is null or expires_at > ${moment}))`;
}
