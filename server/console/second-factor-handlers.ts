import { recordAudit } from "#accounts";
import type { ConsoleHandlers } from "./console-call.ts";
import { required } from "./field-problems.ts";
import { keepOnlySession, lockPerson } from "./keep-session.ts";
import { isRightCode, provePassword, type SignInDeps, spendTry } from "./proofs.ts";
import {
  acceptCode,
  beginSecondFactor,
  renewRecoveryCodes,
  switchOffSecondFactor,
  switchOnSecondFactor,
} from "./second-factor.ts";
import { PROOF_MS } from "./serve-console-operations.ts";
import { noteProof, renewSession } from "./sign-in/sessions.ts";
import { otpauthUrl } from "./sign-in/totp.ts";
import { forgive } from "./sign-in/tries.ts";
import { lockUser } from "./users.ts";

/** The second factor, its recovery codes, and proving one's identity again. */
export function secondFactorHandlers(deps: SignInDeps) {
  const { db, clock, cookie } = deps;
  return {
    async giveSecondFactor({ body, person, actor, header, problem }) {
      const now = clock.now();
      if (!person.isPending) return { state: "signed_in" };
      const tries = { factorTries: person.userId };
      await spendTry(db, tries, now);
      const { header: setCookie, tokenHash } = cookie.issue();
      const isAccepted = await db.transaction(async (tx) => {
        const user = await lockUser(tx, person.userId);
        if (!user || !(await acceptCode(tx, deps, { user, code: body.code, now }))) return false;
        const renewed = await renewSession(tx, { sessionId: person.sessionId, tokenHash, now });
        if (!renewed) throw problem("SESSION_REQUIRED");
        await recordAudit(tx, "user.second_factor_given", { actor, now, objectId: person.userId });
        return true;
      });
      if (!isAccepted) throw problem("SECOND_FACTOR_FAILED");
      await forgive(db, tries);
      header("set-cookie", setCookie);
      return { state: "signed_in" };
    },

    async enrolSecondFactor({ person, actor }) {
      const now = clock.now();
      return db.transaction(async (tx) => {
        await lockPerson(tx, person);
        const secret = await beginSecondFactor(tx, deps, person.userId);
        const action = "user.second_factor_enrolled";
        await recordAudit(tx, action, { actor, now, objectId: person.userId });
        return { secret, otpauthUrl: otpauthUrl(secret, person.email) };
      });
    },

    async confirmSecondFactor({ body, person, actor, header, problem }) {
      const now = clock.now();
      const issued = cookie.issue();
      const tries = { factorTries: person.userId };
      await spendTry(db, tries, now);
      const recoveryCodes = await db.transaction(async (tx) => {
        const user = await lockUser(tx, person.userId);
        const codes =
          user && (await switchOnSecondFactor(tx, deps, { user, code: body.code, now }));
        if (!codes) return undefined;
        await keepOnlySession(tx, person, issued.tokenHash);
        const action = "user.second_factor_switched_on";
        await recordAudit(tx, action, { actor, now, objectId: person.userId });
        await forgive(tx, tries);
        return codes;
      });
      if (!recoveryCodes) throw problem("SECOND_FACTOR_FAILED");
      header("set-cookie", issued.header);
      return { recoveryCodes };
    },

    async switchOffSecondFactor({ person, actor, header }) {
      const now = clock.now();
      const issued = cookie.issue();
      await db.transaction(async (tx) => {
        await switchOffSecondFactor(tx, person.userId);
        await keepOnlySession(tx, person, issued.tokenHash);
        const action = "user.second_factor_switched_off";
        await recordAudit(tx, action, { actor, now, objectId: person.userId });
      });
      header("set-cookie", issued.header);
      return null;
    },

    async renewRecoveryCodes({ person, actor, problem }) {
      const now = clock.now();
      const recoveryCodes = await db.transaction(async (tx) => {
        const user = await lockPerson(tx, person);
        if (!user?.totp) return undefined;
        const action = "user.recovery_codes_renewed";
        await recordAudit(tx, action, { actor, now, objectId: person.userId });
        return renewRecoveryCodes(tx, person.userId);
      });
      if (!recoveryCodes) throw problem("SECOND_FACTOR_FAILED");
      return { recoveryCodes };
    },

    async giveProof({ body, person, actor, problem }) {
      const now = clock.now();
      if (body.password === undefined && body.code === undefined)
        throw problem("VALIDATION_FAILED", [required("password")]);
      const isProven =
        body.password === undefined
          ? await isRightCode(deps, person, body.code ?? "")
          : (await provePassword(deps, person, body.password)) !== undefined;
      if (!isProven) throw problem("PROOF_FAILED");
      await db.transaction(async (tx) => {
        if (!(await noteProof(tx, person.sessionId, now))) throw problem("SESSION_REQUIRED");
        await recordAudit(tx, "user.proof_given", { actor, now, objectId: person.userId });
      });
      return { provenUntil: new Date(now.getTime() + PROOF_MS).toISOString() };
    },
  } satisfies Partial<ConsoleHandlers>;
}
