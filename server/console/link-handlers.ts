import { type Change, findAccount, judgeName, recordAudit } from "#accounts";
import { openAccount } from "#credits";
import { Problem } from "#http";
import { type Transaction, within } from "#platform";
import type { ConsoleHandlers } from "./console-call.ts";
import { fieldDetails, refuseFields, required } from "./field-problems.ts";
import { findLink, linkProblem, takeLink, withdrawResets } from "./links.ts";
import { lockMembers } from "./members.ts";
import type { SignInDeps } from "./proofs.ts";
import { switchOffSecondFactor } from "./second-factor.ts";
import { judgePassword } from "./sign-in/password.ts";
import { endSessionsOf, insertSession } from "./sign-in/sessions.ts";
import { forgive } from "./sign-in/tries.ts";
import {
  completeInstallation,
  findUser,
  findUserByEmail,
  insertMembership,
  insertUser,
  judgeEmail,
  lockUser,
  setPassword,
} from "./users.ts";

/** What the first account starts with: enough to try everything on the simulator. */
const FIRST_CREDITS = 1_000;

/** The e-mail of a user who was created in the terminal before there was an operator. */
const OTHER_EMAIL = "There is already a user with this e-mail. Use another one.";

type NewPerson = { name: string; email: string; password: string };

/** The setup of the installation, and the links that people pass on: invitations and resets. */
export function linkHandlers(deps: SignInDeps) {
  const { db, clock, cookie, passwords, secrets } = deps;
  return {
    readSetup: () => Promise.resolve({ credits: FIRST_CREDITS }),

    async completeSetup({ body, actor, address, userAgent, header, problem }) {
      const now = clock.now();
      const link = { token: body.token, kind: "setup", now } as const;
      // Check the link before hashing: strangers without one must not make us hash.
      await findLink(db, link);
      refuseFields({ ...judgePerson(body), accountName: judgeName(body.accountName) });
      const passwordHash = await passwords.hash(body.password);
      const visit = { isPending: false, address, userAgent, now };
      const issued = cookie.issue();
      const made = await db.transaction(async (tx) => {
        // First of all: concurrent setups wait here until this transaction ends.
        if (!(await completeInstallation(tx, now))) throw problem("ROUTE_NOT_FOUND");
        await takeLink(tx, link);
        const userId = await insertUser(tx, { ...body, passwordHash, isOperator: true, now });
        if (userId === undefined)
          throw problem("EMAIL_TAKEN", fieldDetails({ email: [OTHER_EMAIL] }));
        const by = { actor: { ...actor, name: `user:${userId}` }, now };
        const account = { name: body.accountName.trim(), credits: FIRST_CREDITS, secrets, ...by };
        const { accountId } = await openAccount(within(tx), account);
        await insertMembership(tx, { accountId, userId, role: "owner", now });
        await recordAudit(tx, "setup.completed", { ...by, accountId, objectId: userId });
        await insertSession(tx, { ...visit, userId, tokenHash: issued.tokenHash });
        return { userId, accountId };
      });
      header("set-cookie", issued.header);
      return made;
    },

    async readLink({ body }) {
      const link = await findLink(db, { token: body.token, now: clock.now() });
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
      const open = await findLink(db, { token, kind: "invitation", now });
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
      const link = { token: body.token, kind: "reset", now } as const;
      const open = await findLink(db, link);
      const user = await findUser(db, open.user_id ?? "");
      if (!user) throw linkProblem("unknown");
      refuseFields({ password: judgePassword(body.password, user.email) });
      const passwordHash = await passwords.hash(body.password);
      await db.transaction(async (tx) => {
        // Lock the user before the links: a second reset at once finds its link withdrawn.
        await lockUser(tx, user.user_id);
        const { drops_second_factor: dropsSecondFactor } = await takeLink(tx, link);
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

/** Uses up the invitation and creates the membership; if it throws, both are rolled back. */
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
  const link = await takeLink(tx, { token, kind: "invitation", now });
  const role = link.role ?? "viewer";
  const isNew = await insertMembership(tx, { accountId, userId, role, now });
  // The link would be used up for nothing, and the person it was meant for could not use it.
  if (!isNew) throw new Problem("MEMBER_ALREADY");
  await endSessionsOf(tx, userId, { except: keep });
  const details = { role, invitation: link.link_id };
  await recordAudit(tx, "member.joined", { actor, now, accountId, objectId: userId, details });
}

/** The new person, or one problem that names everything missing or wrong. */
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
