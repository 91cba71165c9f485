import type { Scope } from "#contract";
import { type Database, isId, newId, type Queryable, sql, type Transaction } from "#platform";
import { actorName, type Change, recordAudit } from "./audit-log.ts";
import { countKeys } from "./browse-keys.ts";
import { hashKey, keyPrefix, makeKey } from "./key.ts";
import { type JudgedKey, judgedNow, keyColumns, type KeyRow, MAX_ACTIVE_KEYS } from "./key-row.ts";
import { lockAccounts } from "./lock-accounts.ts";
import { judgeName } from "./names.ts";

export type NewKey = Change & {
  accountId: string;
  name: string;
  scopes: readonly Scope[];
  expiresAt: Date | null;
};

export type CreatedKey =
  | { outcome: "created"; keyId: string; key: string }
  | { outcome: "account_unknown" }
  | { outcome: "limit_reached" };

/** Everything that is wrong with a key to be made, in words; empty if nothing is. */
export function judgeNewKey({ name, expiresAt, now }: NewKey): string[] {
  return [
    ...judgeName(name),
    ...(expiresAt && expiresAt <= now ? ["The expiry must be in the future."] : []),
  ];
}

/** Returns the only copy of the full key: the database keeps its hash and first characters. */
export function createKey(db: Database, wish: NewKey): Promise<CreatedKey> {
  const key = makeKey();
  const keyId = newId(wish.now.getTime());
  const { accountId, name, expiresAt, actor, now } = wish;
  const scopes = [...new Set(wish.scopes)];
  return db.transaction(async (tx) => {
    if ((await lockAccounts(tx, [accountId])) === 0) return { outcome: "account_unknown" };
    const { active } = await countKeys(tx, { accountId, now });
    if (active >= MAX_ACTIVE_KEYS) return { outcome: "limit_reached" };
    await tx.query(sql`
      insert into keys (key_id, account_id, name, hash, prefix, scopes, created_at, created_by, expires_at)
      values (${keyId}, ${accountId}, ${name}, ${hashKey(key)}, ${keyPrefix(key)}, ${scopes}, ${now},
              ${actorName(actor)}, ${expiresAt})`);
    const details = { name, scopes, prefix: keyPrefix(key), expiresAt };
    await recordAudit(tx, "key.created", { actor, now, accountId, objectId: keyId, details });
    return { outcome: "created", keyId, key };
  });
}

export type Revocation =
  | { outcome: "revoked" | "already_revoked"; key: KeyRow }
  | { outcome: "unknown" };

/**
 * In force once this returns: it takes the account's lock, which every acceptance holds while it
 * checks its keys, so no message by this key can commit afterwards. No clock is involved:
 * `revoked_seq` marks the place in the ledger.
 */
export function revokeKey(
  db: Database,
  { keyId, accountId, actor, now }: Change & { keyId: string; accountId?: string },
): Promise<Revocation> {
  if (!isId(keyId)) return Promise.resolve({ outcome: "unknown" });
  return db.transaction(async (tx) => {
    const [key] = await findKeys(tx, sql`k.key_id = ${keyId}`);
    if (!key || (accountId && key.account_id !== accountId)) return { outcome: "unknown" };
    await lockAccounts(tx, [key.account_id]);
    const changed = await tx.query(sql`
      update keys k
         set revoked_at = ${now}, revoked_seq = a.ledger_seq
        from accounts a
       where k.key_id = ${keyId} and a.account_id = k.account_id and k.revoked_at is null
      returning k.key_id`);
    const [current] = await findKeys(tx, sql`k.key_id = ${keyId}`);
    if (changed.length === 0) return { outcome: "already_revoked", key: current ?? key };
    const details = { name: key.name, prefix: key.prefix };
    const about = { accountId: key.account_id, objectId: keyId, details };
    await recordAudit(tx, "key.revoked", { actor, now, ...about });
    return { outcome: "revoked", key: current ?? key };
  });
}

/**
 * Judges a key for a caller that holds its account's lock, so it cannot be revoked until that is
 * released. A missing key counts as revoked, as it does when messages are accepted.
 */
export async function judgeKey(
  tx: Transaction,
  { keyId, accountId }: { keyId: string; accountId: string },
): Promise<JudgedKey> {
  const [key] = await tx.query<{ outcome: JudgedKey }>(sql`
    select ${judgedNow} as outcome
      from keys k
     where k.key_id = ${keyId} and k.account_id = ${accountId}`);
  return key?.outcome ?? "revoked";
}

/** Newest first, including revoked keys. */
export function listKeys(db: Queryable, accountId: string): Promise<KeyRow[]> {
  return findKeys(db, sql`k.account_id = ${accountId}`);
}

function findKeys(db: Queryable, condition: ReturnType<typeof sql>): Promise<KeyRow[]> {
  return db.query<KeyRow>(sql`
    select ${keyColumns}
      from keys k
      left join key_usage u on u.key_id = k.key_id
     where ${condition}
     order by k.key_id desc`);
}
