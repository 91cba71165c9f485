import {
  describeSigningSecret,
  revealSigningSecret,
  rotateSigningSecret,
  type SigningSecrets,
} from "#accounts";
import { type Clock, type Database, type SecretBox, within } from "#platform";
import type { ConsoleHandlers } from "./console-call.ts";
import { takeFormKey } from "./form-keys.ts";

type Deps = { db: Database; clock: Clock; secrets: SecretBox };

/** The signing secret: masked for all; those allowed may reveal and rotate it, on record. */
export function secretHandlers({ db, clock, secrets }: Deps) {
  return {
    async readSigningSecret({ account: { accountId }, problem }) {
      const described = await describeSigningSecret(db, accountId);
      if (!described) throw problem("ACCOUNT_NOT_FOUND");
      return {
        mask: "whsec_••••••••",
        createdAt: described.createdAt.toISOString(),
        previousUntil: described.previousUntil?.toISOString() ?? null,
      };
    },

    async revealSigningSecret({ account: { accountId }, actor, problem, holdAccess }) {
      const wish = { accountId, actor, now: clock.now(), secrets };
      const revealed = await db.transaction(async (tx) => {
        await holdAccess(tx);
        return revealSigningSecret(within(tx), wish);
      });
      if (!revealed) throw problem("ACCOUNT_NOT_FOUND");
      return presentSecrets(revealed);
    },

    async rotateSigningSecret(call) {
      const { account, person, body, actor, idempotencyKey, problem, holdAccess } = call;
      const { accountId } = account;
      const { overlapHours, dropPrevious: dropsPrevious = false } = body;
      const now = clock.now();
      const wish = { accountId, actor, now, secrets, overlapHours, dropsPrevious };
      const operation = `rotateSigningSecret ${accountId} ${overlapHours}`;
      const form = { userId: person.userId, key: idempotencyKey, operation, now };
      const live = await db.transaction(async (tx) => {
        await holdAccess(tx);
        // Rotating twice would drop the secret that receivers still verify with.
        if (!(await takeFormKey(tx, form)).isFirst) return revealSigningSecret(within(tx), wish);
        const rotated = await rotateSigningSecret(within(tx), wish);
        if (rotated.outcome === "unconfirmed") throw problem("ROTATION_UNCONFIRMED");
        return rotated.outcome === "rotated" ? rotated.secrets : undefined;
      });
      if (!live) throw problem("ACCOUNT_NOT_FOUND");
      return presentSecrets(live);
    },
  } satisfies Partial<ConsoleHandlers>;
}

function presentSecrets({ current, previous }: SigningSecrets) {
  return {
    signingSecret: current,
    previousSigningSecret: previous?.secret ?? null,
    previousUntil: previous?.until.toISOString() ?? null,
  };
}
