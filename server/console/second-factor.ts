import { type Database, type Queryable, type SecretBox, sql, type Transaction } from "#platform";
import { hashRecoveryCode, makeRecoveryCodes, plainCode } from "./sign-in/recovery-codes.ts";
import { acceptedStep, makeSeed } from "./sign-in/totp.ts";
import { lockUser, type UserRow } from "./users.ts";

export type FactorDeps = { secrets: SecretBox };

function context(userId: string): string {
  return `second factor of ${userId}`;
}

/** The caller has locked the user's row: no other call can accept the same step or code. */
export async function acceptCode(
  tx: Transaction,
  { secrets }: FactorDeps,
  { user, code, now }: { user: UserRow; code: string; now: Date },
): Promise<boolean> {
  if (!user.totp) return false;
  const plain = plainCode(code);
  const seed = secrets.open(user.totp, context(user.user_id));
  const step = acceptedStep(plain, { seed, lastStep: user.totp_step, now });
  if (step !== undefined) {
    await tx.query(sql`update users set totp_step = ${step} where user_id = ${user.user_id}`);
    return true;
  }
  const used = await tx.query(sql`
    update recovery_codes
       set used_at = ${now}
     where user_id = ${user.user_id} and hash = ${hashRecoveryCode(plain, user.user_id)} and used_at is null
    returning user_id`);
  return used.length > 0;
}

/** The new seed waits beside the present one, if any, until the user enters a code made from it. */
export async function beginSecondFactor(
  tx: Transaction,
  { secrets }: FactorDeps,
  userId: string,
): Promise<string> {
  const seed = makeSeed();
  await tx.query(sql`
    update users set totp_pending = ${secrets.seal(seed, context(userId))} where user_id = ${userId}`);
  return seed;
}

/** The recovery codes, or undefined if the code was not made from the pending seed. */
export async function switchOnSecondFactor(
  tx: Transaction,
  { secrets }: FactorDeps,
  { user, code, now }: { user: UserRow; code: string; now: Date },
): Promise<string[] | undefined> {
  if (!user.totp_pending) return undefined;
  const seed = secrets.open(user.totp_pending, context(user.user_id));
  const step = acceptedStep(plainCode(code), { seed, lastStep: 0, now });
  if (step === undefined) return undefined;
  await tx.query(sql`
    update users
       set totp = totp_pending, totp_pending = null, totp_step = ${step}, version = version + 1
     where user_id = ${user.user_id}`);
  return renewRecoveryCodes(tx, user.user_id);
}

export async function switchOffSecondFactor(tx: Transaction, userId: string): Promise<void> {
  await tx.query(sql`
    update users
       set totp = null, totp_pending = null, version = version + 1
     where user_id = ${userId}`);
  await tx.query(sql`delete from recovery_codes where user_id = ${userId}`);
}

/** The codes are shown only now; the table keeps only hashes. */
export async function renewRecoveryCodes(tx: Transaction, userId: string): Promise<string[]> {
  const codes = makeRecoveryCodes();
  await tx.query(sql`delete from recovery_codes where user_id = ${userId}`);
  await tx.query(sql`
    insert into recovery_codes (user_id, hash)
    select ${userId}, hash from unnest(${codes.map((code) => hashRecoveryCode(code, userId))}::bytea[]) as hash`);
  return codes;
}

export async function recoveryCodesLeft(db: Queryable, userId: string): Promise<number> {
  const [left] = await db.query<{ count: number }>(sql`
    select count(*) as count from recovery_codes where user_id = ${userId} and used_at is null`);
  return left?.count ?? 0;
}

/** Reseals what an earlier SECRET_KEY sealed; returns for how many users. */
export async function resealSecondFactors(db: Database, secrets: SecretBox): Promise<number> {
  const users = await db.query<{ user_id: string }>(sql`
    select user_id from users where totp is not null or totp_pending is not null`);
  let count = 0;
  for (const { user_id: userId } of users) {
    if (await db.transaction((tx) => resealSeeds(tx, secrets, userId))) count += 1;
  }
  return count;
}

async function resealSeeds(tx: Transaction, secrets: SecretBox, userId: string): Promise<boolean> {
  // Locked: one switched on meanwhile must not keep its old seal: the earlier key goes next.
  const { totp = null, totp_pending: pending = null } = (await lockUser(tx, userId)) ?? {};
  const newTotp = totp && secrets.reseal(totp, context(userId));
  const newPending = pending && secrets.reseal(pending, context(userId));
  if (newTotp === null && newPending === null) return false;
  await tx.query(sql`
    update users
       set totp = coalesce(${newTotp}, totp), totp_pending = coalesce(${newPending}, totp_pending)
     where user_id = ${userId}`);
  return true;
}
