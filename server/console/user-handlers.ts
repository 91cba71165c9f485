import { judgeName, recordAudit } from "#accounts";
import type { Me } from "#contract";
import { type Clock, type Database, sql } from "#platform";
import type { ConsoleHandlers, Person } from "./console-call.ts";
import { refuseFields } from "./field-problems.ts";
import { listMembershipsOf } from "./members.ts";
import { recoveryCodesLeft } from "./second-factor.ts";
import { PROOF_MS } from "./serve-console-operations.ts";
import { findUser, lockUser, type Preferences } from "./users.ts";

type Deps = { db: Database; clock: Clock; publicUrl: string; version: string };

const DEFAULTS: Preferences = { theme: "system", zone: "browser", shortcuts: true };

/** The person who is signed in: profile, preferences, accounts. */
export function userHandlers(deps: Deps) {
  const { db, clock } = deps;
  return {
    readMe: ({ person }) => readMe(deps, person),

    async updateMe({ person, body, actor, problem }) {
      const now = clock.now();
      if (body.name !== undefined) refuseFields({ name: judgeName(body.name) });
      await db.transaction(async (tx) => {
        const user = await lockUser(tx, person.userId);
        if (!user || user.version !== body.version) throw problem("VERSION_CONFLICT");
        const name = body.name?.trim() ?? user.name;
        const preferences = { ...user.preferences, ...body.preferences };
        await tx.query(sql`
          update users
             set name = ${name}, preferences = ${JSON.stringify(preferences)}, version = version + 1
           where user_id = ${person.userId}`);
        const details = {
          before: { name: user.name, ...user.preferences },
          after: { name, ...preferences },
        };
        await recordAudit(tx, "user.changed", { actor, now, objectId: person.userId, details });
      });
      return readMe(deps, person);
    },
  } satisfies Partial<ConsoleHandlers>;
}

async function readMe({ db, publicUrl, version }: Deps, person: Person): Promise<Me> {
  const [user, memberships, codesLeft] = await Promise.all([
    findUser(db, person.userId),
    listMembershipsOf(db, person.userId),
    recoveryCodesLeft(db, person.userId),
  ]);
  if (!user) throw new Error("A session belongs to a user who is not there.");
  return {
    userId: user.user_id,
    name: user.name,
    email: user.email,
    isOperator: user.is_operator,
    hasSecondFactor: user.totp !== null,
    recoveryCodesLeft: codesLeft,
    preferences: { ...DEFAULTS, ...user.preferences },
    version: user.version,
    accounts: memberships,
    provenUntil: new Date(person.provenAt.getTime() + PROOF_MS).toISOString(),
    publicUrl,
    softwareVersion: version,
  };
}
