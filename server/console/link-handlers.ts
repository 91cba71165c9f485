import { type Change, findAccount, judgeName, recordAudit } from "#accounts";
import { Problem } from "#http";
import type { Transaction } from "#platform";
import type { ConsoleHandlers } from "./console-call.ts";
import { fieldDetails, refuseFields, required } from "./field-problems.ts";
import {
  type FoundLink,
  findLink,
  type LinkKind,
  type LinkRow,
  takeLink,
  withdrawResets,
} from "./links.ts";
import { completeSetup, FIRST_CREDITS } from "./setup.ts";
import { lockMembers } from "./members.ts";
import type { SignInDeps } from "./proofs.ts";
import { switchOffSecondFactor } from "./second-factor.ts";
import { judgePassword } from "./sign-in/password.ts";
import { endSessionsOf, insertSession } from "./sign-in/sessions.ts";
import { forgive } from "./sign-in/tries.ts";
import {
  findUser,
  findUserByEmail,
  insertMembership,
  insertUser,
  judgeEmail,
  lockUser,
  setPassword,
} from "./users.ts";

/** Of a user that was made in the terminal, before there was an operator. */
const OTHER_EMAIL = "There is a user with this e-mail already. Give another one.";

type NewPerson = { name: string; email: string; password: string };

/** The set-up of the installation, and the links that a person passes on: invitations and resets. */
export function linkHandlers(deps: SignInDeps) {
  const { db, clock, cookie, passwords } = deps;
  return {
    readSetup: () => Promise.resolve({ credits: FIRST_CREDITS }),

    async completeSetup({ body, actor, address, userAgent, header, problem }) {
      const now = clock.now();
      // A stranger without the link makes us hash nothing.
      openOrRefuse(await findLink(db, body.token, now), "setup");
      refuseFields({ ...judgePerson(body), accountName: judgeName(body.accountName) });
      const passwordHash = await passwords.hash(body.password);
      const done = await completeSetup(deps, { ...body, passwordHash, actor, now });
      if (done.outcome === "installed") throw problem("ROUTE_NOT_FOUND");
      if (done.outcome === "email_taken")
        throw problem("EMAIL_TAKEN", fieldDetails({ email: [OTHER_EMAIL] }));
      if (done.outcome !== "done") throw linkProblem(done.outcome);
      const { userId, accountId } = done;
      const visit = { isPending: false, address, userAgent, now };
      const issued = cookie.issue();
      // A crash before this line leaves an operator who signs in with the password just chosen.
      await insertSession(db, { ...visit, userId, tokenHash: issued.tokenHash });
      header("set-cookie", issued.header);
      return { userId, accountId };
    },

    async readLink({ body }) {
      const found = await findLink(db, body.token, clock.now());
      if (found.outcome !== "open") throw linkProblem(found.outcome);
      const { link } = found;
      const [account, inviter, user] = await Promise.all([
        link.account_id === null ? undefined : findAccount(db, link.account_id),
        findUser(db, link.created_by.replace(/^user:/, "")),
        link.user_id === null ? undefined : findUser(db, link.user_id),
      ]);
      const isInvitation = link.kind === "invitation";
      return {
        kind: link.kind,
        expiresAt: link.expires_at.toISOString(),
        inviter: isInvitation ? (inviter?.name ?? "Posthorn") : null,
        accountName: account?.name ?? null,
        role: link.role,
        forWhom: link.for_whom,
        email: user?.email ?? null,
        dropsSecondFactor: link.drops_second_factor,
      };
    },

    async joinAccount({ body, person, actor, address, userAgent, header, problem }) {
      const now = clock.now();
      const { token } = body;
      const open = openOrRefuse(await findLink(db, token, now), "invitation");
      const accountId = open.account_id ?? "";
      if (person && !person.isPending) {
        const { userId, sessionId: keep } = person;
        await db.transaction((tx) => join(tx, { token, accountId, userId, actor, now, keep }));
        return { accountId };
      }
      const wish = newPerson(body);
      if (await findUserByEmail(db, wish.email)) throw problem("EMAIL_TAKEN");
      const passwordHash = await passwords.hash(wish.password);
      const visit = { isPending: false, address, userAgent, now };
      const issued = cookie.issue();
      const isJoined = await db.transaction(async (tx) => {
        const userId = await insertUser(tx, { ...wish, passwordHash, isOperator: false, now });
        if (userId === undefined) return false;
        const by = { ...actor, name: `user:${userId}` };
        await join(tx, { token, accountId, userId, actor: by, now, keep: null });
        await insertSession(tx, { ...visit, userId, tokenHash: issued.tokenHash });
        return true;
      });
      if (!isJoined) throw problem("EMAIL_TAKEN");
      header("set-cookie", issued.header);
      return { accountId };
    },

    async resetPassword({ body, actor }) {
      const now = clock.now();
      const open = openOrRefuse(await findLink(db, body.token, now), "reset");
      const user = await findUser(db, open.user_id ?? "");
      if (!user) throw linkProblem("unknown");
      refuseFields({ password: judgePassword(body.password, user.email) });
      const passwordHash = await passwords.hash(body.password);
      await db.transaction(async (tx) => {
        // The user's row before the links: of two resets at once, the second finds its link withdrawn.
        await lockUser(tx, user.user_id);
        const found = await takeLink(tx, { token: body.token, kind: "reset", now });
        const { drops_second_factor: dropsSecondFactor } = openOrRefuse(found, "reset");
        await withdrawResets(tx, { userId: user.user_id, now });
        await setPassword(tx, user.user_id, passwordHash);
        if (dropsSecondFactor) await switchOffSecondFactor(tx, user.user_id);
        await endSessionsOf(tx, user.user_id);
        const by = { ...actor, name: `user:${user.user_id}` };
        const details = { dropsSecondFactor };
        const action = "user.password_reset";
        await recordAudit(tx, action, { actor: by, now, objectId: user.user_id, details });
      });
      await forgive(db, { userTries: user.email });
      return null;
    },
  } satisfies Partial<ConsoleHandlers>;
}

/** Uses the invitation up and makes the member; a throw rolls back both. */
async function join(
  tx: Transaction,
  {
    token,
    accountId,
    userId,
    actor,
    now,
    keep,
  }: Change & { token: string; accountId: string; userId: string; keep: string | null },
): Promise<void> {
  await lockMembers(tx, accountId);
  const link = openOrRefuse(await takeLink(tx, { token, kind: "invitation", now }), "invitation");
  const role = link.role ?? "viewer";
  const isNew = await insertMembership(tx, { accountId, userId, role, now });
  // Nothing would change, and whom the link was meant for could not use it.
  if (!isNew) throw new Problem("MEMBER_ALREADY");
  await endSessionsOf(tx, userId, { except: keep });
  const details = { role, invitation: link.link_id };
  await recordAudit(tx, "member.joined", { actor, now, accountId, objectId: userId, details });
}

/** The person, or one problem that names everything missing or wrong. */
function newPerson(given: Partial<NewPerson>): NewPerson {
  const missing = (["name", "email", "password"] as const).filter((field) => !(field in given));
  refuseFields(judgePerson(given), missing.map(required));
  return given as NewPerson;
}

function judgePerson({ name, email, password }: Partial<NewPerson>) {
  return {
    name: name === undefined ? [] : judgeName(name),
    email: email === undefined ? [] : judgeEmail(email),
    password: password === undefined ? [] : judgePassword(password, email ?? ""),
  };
}

/** The link, if it is open and for this; otherwise the problem that says what became of it. */
function openOrRefuse(found: FoundLink, kind: LinkKind): LinkRow {
  if (found.outcome !== "open") throw linkProblem(found.outcome);
  if (found.link.kind !== kind) throw linkProblem("unknown");
  return found.link;
}

const LINK_WORDS = {
  unknown: "This link is not known here. Check that it was copied whole.",
  used: "This link was used already; it works once.",
  withdrawn: "This link was withdrawn.",
  expired: "This link is out of date.",
} as const;

function linkProblem(outcome: keyof typeof LINK_WORDS): Problem {
  return new Problem("LINK_INVALID", [
    { field: "token", code: "FIELD_INVALID", message: LINK_WORDS[outcome] },
  ]);
}
