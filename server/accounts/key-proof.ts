import { type Queryable, type SecretBox, sql } from "#platform";

const CONTEXT = "proof of SECRET_KEY";

/** The first key that is used becomes the right one, also when several nodes start at once. */
export async function proveSecretKey(db: Queryable, secrets: SecretBox): Promise<void> {
  await db.query(sql`
    insert into key_proof (sealed) values (${secrets.seal("posthorn", CONTEXT)}) on conflict do nothing`);
}

/** Whether this database has ever been used with a key. */
export async function hasKeyProof(db: Queryable): Promise<boolean> {
  return (await findProof(db)) !== undefined;
}

/** Whether the database was first used with this key; true if it was never used with any. */
export async function isSecretKeyRight(db: Queryable, secrets: SecretBox): Promise<boolean> {
  const proof = await findProof(db);
  try {
    if (proof) secrets.open(proof, CONTEXT);
    return true;
  } catch {
    return false;
  }
}

/** Call this last, after everything else is resealed: from then on the earlier key is refused. */
export async function resealKeyProof(db: Queryable, secrets: SecretBox): Promise<void> {
  const proof = await findProof(db);
  const anew = proof && secrets.reseal(proof, CONTEXT);
  if (anew) await db.query(sql`update key_proof set sealed = ${anew} where sealed = ${proof}`);
}

async function findProof(db: Queryable): Promise<Buffer | undefined> {
  const [proof] = await db.query<{ sealed: Buffer }>(sql`select sealed from key_proof`);
  return proof?.sealed;
}
