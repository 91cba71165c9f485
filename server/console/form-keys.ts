import { Problem } from "#http";
import { isIdempotencyKey } from "#messages";
import { sql, type Transaction } from "#platform";

type Form = { userId: string; key: string | undefined; operation: string; now: Date };

/**
 * Notes that a form was sent, in the transaction that does its work. If the form is sent twice, at
 * once or in sequence, the work is done once. A form without a key always counts as the first.
 */
export async function takeFormKey(tx: Transaction, form: Form): Promise<{ isFirst: boolean }> {
  const { userId, key, operation, now } = form;
  if (key === undefined) return { isFirst: true };
  if (!isIdempotencyKey(key)) throw new Problem("IDEMPOTENCY_KEY_INVALID");
  const inserted = await tx.query(sql`
    insert into form_keys (user_id, key, operation, created_at) values (${userId}, ${key}, ${operation}, ${now})
        on conflict (user_id, key) do nothing
    returning key`);
  if (inserted.length > 0) return { isFirst: true };
  const [before] = await tx.query<{ operation: string }>(sql`
    select operation from form_keys where user_id = ${userId} and key = ${key}`);
  if (before?.operation !== operation) throw new Problem("IDEMPOTENCY_KEY_REUSED");
  return { isFirst: false };
}
