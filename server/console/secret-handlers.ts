import {
  describeSigningSecret,
  revealSigningSecret,
  rotateSigningSecret,
  type SigningSecrets,
} from "#accounts";
import { type Clock, type Database, type SecretBox, within } from "#platform";
import type { ConsoleHandlers } from "./console-call.ts";

type Deps = { db: Database; clock: Clock; secrets: SecretBox };

/** The signing secret: masked for all, revealed and rotated by those who may, and on record. */
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

    async rotateSigningSecret({ account: { accountId }, body, actor, problem, holdAccess }) {
      const { overlapHours, dropPrevious: dropsPrevious = false } = body;
      const wish = { accountId, actor, now: clock.now(), secrets, overlapHours, dropsPrevious };
      const rotated = await db.transaction(async (tx) => {
        await holdAccess(tx);
        return rotateSigningSecret(within(tx), wish);
      });
      switch (rotated.outcome) {
        case "rotated":
          return presentSecrets(rotated.secrets);
        case "unconfirmed":
          throw problem("ROTATION_UNCONFIRMED");
        case "not_found":
          throw problem("ACCOUNT_NOT_FOUND");
      }
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
