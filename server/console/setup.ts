import { recordAudit, type RemoteActor } from "#accounts";
import { openAccount } from "#credits";
import { type Clock, type Database, type SecretBox, type Transaction, within } from "#platform";
import { type FoundLink, insertLink, takeLink } from "./links.ts";
import { completeInstallation, insertMembership, insertUser, isInstalled } from "./users.ts";

/** What the first account starts with: enough to try everything on the simulator. */
export const FIRST_CREDITS = 1_000;

/**
 * The link by which the operator is made, while there is none. Each start prints a new one; those
 * printed before hold until their day is over, so that several nodes may start at once.
 */
export async function setupLink({
  db,
  clock,
  publicUrl,
}: {
  db: Database;
  clock: Clock;
  publicUrl: string;
}): Promise<string | undefined> {
  if (await isInstalled(db)) return undefined;
  const request = { kind: "setup", createdBy: "system", now: clock.now(), publicUrl } as const;
  return (await insertLink(db, request)).link;
}

export type SetupRequest = {
  token: string;
  name: string;
  email: string;
  passwordHash: string;
  accountName: string;
  actor: RemoteActor;
  now: Date;
};

export type SetupOutcome =
  | { outcome: "done"; userId: string; accountId: string }
  | { outcome: "installed" }
  | { outcome: Refusal };

type Refusal = "email_taken" | Exclude<FoundLink["outcome"], "open">;

/** The operator and the first account, all or nothing; of many at once, one makes the singleton row. */
export async function completeSetup(
  { db, secrets }: { db: Database; secrets: SecretBox },
  request: SetupRequest,
): Promise<SetupOutcome> {
  try {
    return await db.transaction((tx) => setUp(tx, secrets, request));
  } catch (error) {
    if (error instanceof SetupRefused) return { outcome: error.outcome };
    throw error;
  }
}

async function setUp(
  tx: Transaction,
  secrets: SecretBox,
  { token, name, email, passwordHash, accountName, actor, now }: SetupRequest,
): Promise<SetupOutcome> {
  // Inserting first makes the others wait here until this transaction ends, one way or the other.
  if (!(await completeInstallation(tx, now))) return { outcome: "installed" };
  const link = await takeLink(tx, { token, kind: "setup", now });
  if (link.outcome !== "open") throw new SetupRefused(link.outcome);
  const userId = await insertUser(tx, { email, name, passwordHash, isOperator: true, now });
  if (userId === undefined) throw new SetupRefused("email_taken");
  const by = { ...actor, name: `user:${userId}` };
  const account = { name: accountName.trim(), credits: FIRST_CREDITS, actor: by, now, secrets };
  const { accountId } = await openAccount(within(tx), account);
  await insertMembership(tx, { accountId, userId, role: "owner", now });
  await recordAudit(tx, "setup.completed", { actor: by, now, accountId, objectId: userId });
  return { outcome: "done", userId, accountId };
}

/** Rolls back the singleton row: what is refused must not close the set-up. */
class SetupRefused extends Error {
  readonly outcome: Refusal;

  constructor(outcome: Refusal) {
    super(`The set-up was refused: ${outcome}.`);
    this.outcome = outcome;
  }
}
