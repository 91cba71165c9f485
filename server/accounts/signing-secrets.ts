import { randomBytes } from "node:crypto";
import { type Database, type Queryable, type SecretBox, sql, type Transaction } from "#platform";
import { type Change, recordAudit } from "./audit-log.ts";
import { lockAccounts } from "./lock-accounts.ts";

/** The secret that signs now, and the previous one while it is still valid. */
export type SigningSecrets = {
  current: string;
  previous: { secret: string; until: Date } | null;
};

/** The current secret first. Leaves out a previous one that has expired since both were read. */
export function signingNow({ current, previous }: SigningSecrets, now: Date): string[] {
  return previous && previous.until > now ? [current, previous.secret] : [current];
}

type SecretRow = { account_id: string; version: number; sealed: Buffer; not_after: Date | null };

function makeSigningSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

/** Account and version are part of the seal, so a ciphertext cannot be moved to another account. */
function context(accountId: string, version: number): string {
  return `signing secret of ${accountId}, version ${version}`;
}

export async function insertFirstSecret(
  tx: Transaction,
  { accountId, now, secrets }: { accountId: string; now: Date; secrets: SecretBox },
): Promise<string> {
  const secret = makeSigningSecret();
  await insertSecret(tx, { accountId, version: 1, secret, now, secrets });
  return secret;
}

/** Uses the database's clock, so that an overlap ends at the same moment on every node. */
export async function findSigningSecrets(
  db: Queryable,
  { accountIds, secrets }: { accountIds: readonly string[]; secrets: SecretBox },
): Promise<Map<string, SigningSecrets>> {
  const rows = await db.query<SecretRow>(sql`
    select account_id, version, sealed, not_after
      from signing_secrets
     where account_id = any (${accountIds}::uuid[])
       and (not_after is null or not_after > clock_timestamp())
     order by version desc`);
  const found = new Map<string, SigningSecrets>();
  for (const { account_id, version, sealed, not_after } of rows) {
    const secret = secrets.open(sealed, context(account_id, version));
    const known = found.get(account_id);
    if (!known) found.set(account_id, { current: secret, previous: null });
    else if (not_after) known.previous = { secret, until: not_after };
  }
  return found;
}

/** Reseals what an earlier SECRET_KEY sealed. Returns how many secrets that were. */
export async function resealSigningSecrets(db: Database, secrets: SecretBox): Promise<number> {
  const rows = await db.query<SecretRow>(sql`
    select account_id, version, sealed, not_after from signing_secrets`);
  let count = 0;
  for (const { account_id, version, sealed } of rows) {
    const anew = secrets.reseal(sealed, context(account_id, version));
    if (anew === null) continue;
    await db.query(sql`
      update signing_secrets set sealed = ${anew}
       where account_id = ${account_id} and version = ${version} and sealed = ${sealed}`);
    count += 1;
  }
  return count;
}

/** When the current secret was made, and until when the previous one signs. Opens neither. */
export async function describeSigningSecret(
  db: Queryable,
  accountId: string,
): Promise<{ createdAt: Date; previousUntil: Date | null } | undefined> {
  const [described] = await db.query<{ createdAt: Date; previousUntil: Date | null }>(sql`
    select max(created_at) filter (where not_after is null) as "createdAt",
           max(not_after) filter (where not_after > clock_timestamp()) as "previousUntil"
      from signing_secrets
     where account_id = ${accountId}
    having count(*) filter (where not_after is null) > 0`);
  return described;
}

export type Rotation = Change & {
  accountId: string;
  /** How long the old secret keeps signing too; 0 drops it at once. */
  overlapHours: number;
  /** Confirms dropping an older secret that still signs. Not needed if `overlapHours` is 0. */
  dropsPrevious: boolean;
  secrets: SecretBox;
};

export type Rotated =
  | { outcome: "rotated"; secrets: SigningSecrets }
  | { outcome: "not_found" }
  | { outcome: "unconfirmed"; previousUntil: Date };

/** The new secret signs at once. If two are valid already, dropping the older needs consent. */
export function rotateSigningSecret(db: Database, rotation: Rotation): Promise<Rotated> {
  const { accountId, overlapHours, dropsPrevious, actor, now, secrets } = rotation;
  const secret = makeSigningSecret();
  return db.transaction(async (tx) => {
    await lockAccounts(tx, [accountId]);
    const described = await describeSigningSecret(tx, accountId);
    if (!described) return { outcome: "not_found" };
    const { previousUntil } = described;
    if (previousUntil && overlapHours > 0 && !dropsPrevious)
      return { outcome: "unconfirmed", previousUntil };
    await tx.query(sql`
      update signing_secrets
         set not_after = clock_timestamp()
       where account_id = ${accountId} and not_after > clock_timestamp()`);
    const [old] = await tx.query<{ version: number }>(sql`
      update signing_secrets
         set not_after = clock_timestamp() + make_interval(hours => ${overlapHours}::int)
       where account_id = ${accountId} and not_after is null
      returning version`);
    await insertSecret(tx, { accountId, version: (old?.version ?? 0) + 1, secret, now, secrets });
    const details = { overlapHours };
    const action = "secret.rotated";
    await recordAudit(tx, action, { actor, now, accountId, objectId: accountId, details });
    const found = await findSigningSecrets(tx, { accountIds: [accountId], secrets });
    const live = found.get(accountId);
    return live ? { outcome: "rotated", secrets: live } : { outcome: "not_found" };
  });
}

/** The audit log records who looked at the secret before it is shown. */
export function revealSigningSecret(
  db: Database,
  { accountId, actor, now, secrets }: Change & { accountId: string; secrets: SecretBox },
): Promise<SigningSecrets | undefined> {
  return db.transaction(async (tx) => {
    const found = (await findSigningSecrets(tx, { accountIds: [accountId], secrets })).get(
      accountId,
    );
    if (found)
      await recordAudit(tx, "secret.revealed", { actor, now, accountId, objectId: accountId });
    return found;
  });
}

async function insertSecret(
  tx: Transaction,
  {
    accountId,
    version,
    secret,
    now,
    secrets,
  }: { accountId: string; version: number; secret: string; now: Date; secrets: SecretBox },
): Promise<void> {
  await tx.query(sql`
    insert into signing_secrets (account_id, version, sealed, created_at)
    values (${accountId}, ${version}, ${secrets.seal(secret, context(accountId, version))}, ${now})`);
}
