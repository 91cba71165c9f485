import { findAccount, judgeName, recordAudit, updateAccount } from "#accounts";
import type { Account, Invitation, Member, MemberRole } from "#contract";
import { judgeSender } from "#contract/sender";
import { type Pager, Problem } from "#http";
import type { Clock, Database } from "#platform";
import { type ActorNames, findActors } from "./actors.ts";
import type { ConsoleHandlers } from "./console-call.ts";
import { refuseFields } from "./field-problems.ts";
import { takeFormKey } from "./form-keys.ts";
import { keepOnlySession } from "./keep-session.ts";
import { browseInvitations, insertLink, type LinkRow, withdrawInvitation } from "./links.ts";
import {
  browseMembers,
  changeRole,
  countMembers,
  findMember,
  lockMembers,
  type MemberRow,
  removeMember,
} from "./members.ts";
import type { SessionCookie } from "./sign-in/session-cookie.ts";
import { endSessionsOf } from "./sign-in/sessions.ts";

type Deps = { db: Database; clock: Clock; pager: Pager; publicUrl: string; cookie: SessionCookie };

/** The account's settings, its members and invitations. */
export function teamHandlers({ db, clock, pager, publicUrl, cookie }: Deps) {
  return {
    readAccount: ({ account }) => readAccount(db, account),

    async updateAccount({ account, body, actor, problem }) {
      const { defaultSender } = body;
      const judged = typeof defaultSender === "string" ? judgeSender(defaultSender) : undefined;
      refuseFields(
        { name: body.name === undefined ? [] : judgeName(body.name) },
        judged?.outcome === "invalid"
          ? [{ field: "defaultSender", code: "SENDER_INVALID", message: judged.message }]
          : [],
      );
      const change = {
        ...(body.name === undefined ? {} : { name: body.name.trim() }),
        ...(defaultSender === undefined
          ? {}
          : { defaultSender: judged?.outcome === "valid" ? judged.sender : null }),
        ...(body.lowCredits === undefined ? {} : { lowCredits: body.lowCredits }),
      };
      const { accountId } = account;
      const { version } = body;
      const isChanged = await updateAccount(db, {
        accountId,
        version,
        change,
        actor,
        now: clock.now(),
      });
      if (!isChanged) throw problem("VERSION_CONFLICT");
      return readAccount(db, account);
    },

    async listMembers({ account: { accountId }, query, person }) {
      const [{ rows, cursors }, counts] = await Promise.all([
        pager.list(query, {
          boundTo: ["members", accountId],
          browse: (page) => browseMembers(db, { accountId, ...page }),
          idOf: (row) => row.user_id,
        }),
        countMembers(db, accountId),
      ]);
      const data = rows.map((row) => presentMember(row, person.userId));
      return { data, ...cursors, ...counts };
    },

    async changeRole(call) {
      const { account, params, person, body, actor, header, holdAccess } = call;
      const now = clock.now();
      const [{ accountId }, { userId }, { role, version }] = [account, params, body];
      const isOwn = userId === person.userId;
      const issued = cookie.issue();
      const member = await db.transaction(async (tx) => {
        await lockMembers(tx, accountId);
        await holdAccess(tx);
        const changed = await changeRole(tx, { accountId, userId, role, version, now });
        // Open pages show what the old role could see, so all the member's sessions end. If people
        // change their own role, their present session stays.
        if (isOwn) await keepOnlySession(tx, person, issued.tokenHash);
        else await endSessionsOf(tx, userId);
        const details = { ...changed, after: role };
        const action = "member.role_changed";
        await recordAudit(tx, action, { actor, now, accountId, objectId: userId, details });
        return (await findMember(tx, { accountId, userId })) as MemberRow;
      });
      if (isOwn) header("set-cookie", issued.header);
      return presentMember(member, person.userId);
    },

    async removeMember({ account, params: { userId }, actor, holdAccess }) {
      const now = clock.now();
      const { accountId } = account;
      await db.transaction(async (tx) => {
        await lockMembers(tx, accountId);
        await holdAccess(tx);
        const details = await removeMember(tx, { accountId, userId, now });
        await endSessionsOf(tx, userId);
        const action = "member.removed";
        await recordAudit(tx, action, { actor, now, accountId, objectId: userId, details });
      });
      return null;
    },

    async leaveAccount({ account: { accountId }, person, actor }) {
      const now = clock.now();
      await db.transaction(async (tx) => {
        const { userId, sessionId } = person;
        const details = await removeMember(tx, { accountId, userId, now });
        await endSessionsOf(tx, userId, { except: sessionId });
        await recordAudit(tx, "member.left", { actor, now, accountId, objectId: userId, details });
      });
      return null;
    },

    async listInvitations({ account: { accountId }, query }) {
      const now = clock.now();
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["invitations", accountId],
        browse: (page) => browseInvitations(db, { accountId, now, ...page }),
        idOf: (row) => row.link_id,
      });
      const actors = await findActors(
        db,
        rows.map(({ created_by }) => created_by),
      );
      return { data: rows.map((row) => presentInvitation(row, actors)), ...cursors };
    },

    async invite({
      account: { accountId },
      person,
      body: { role, forWhom: name },
      actor,
      idempotencyKey,
      problem,
      holdAccess,
    }) {
      const forWhom = name?.trim() || null;
      if (forWhom !== null) refuseFields({ forWhom: judgeName(forWhom) });
      const now = clock.now();
      const made = await db.transaction(async (tx) => {
        await holdAccess(tx);
        const form = { userId: person.userId, key: idempotencyKey, operation: "invite", now };
        if (!(await takeFormKey(tx, form)).isFirst) throw problem("LINK_ALREADY_MADE");
        const wish = {
          kind: "invitation",
          createdBy: actor.name,
          now,
          publicUrl,
          accountId,
          role,
          forWhom,
        } as const;
        const link = await insertLink(tx, wish);
        const details = { role, forWhom };
        const action = "member.invited";
        await recordAudit(tx, action, { actor, now, accountId, objectId: link.linkId, details });
        return link;
      });
      const createdBy = (await findActors(db, [actor.name]))(actor.name);
      const [createdAt, expiresAt] = [now.toISOString(), made.expiresAt.toISOString()];
      const invitation = {
        invitationId: made.linkId,
        role,
        forWhom,
        createdBy,
        createdAt,
        expiresAt,
      };
      return { invitation, link: made.link, expiresAt };
    },

    async withdrawInvitation({ account: { accountId }, params, actor, problem }) {
      const now = clock.now();
      await db.transaction(async (tx) => {
        const link = await withdrawInvitation(tx, { linkId: params.invitationId, accountId, now });
        if (!link) throw problem("INVITATION_NOT_FOUND");
        const details = { role: link.role, forWhom: link.for_whom };
        const action = "member.invitation_withdrawn";
        await recordAudit(tx, action, { actor, now, accountId, objectId: link.link_id, details });
      });
      return null;
    },
  } satisfies Partial<ConsoleHandlers>;
}

async function readAccount(
  db: Database,
  { accountId, role }: { accountId: string; role: MemberRole },
): Promise<Account> {
  const account = await findAccount(db, accountId);
  if (!account) throw new Problem("ACCOUNT_NOT_FOUND");
  return {
    accountId,
    name: account.name,
    role,
    defaultSender: account.default_sender,
    lowCredits: account.low_credits,
    createdAt: account.created_at.toISOString(),
    version: account.version,
  };
}

function presentMember(row: MemberRow, ownId: string): Member {
  return {
    userId: row.user_id,
    name: row.name,
    email: row.email,
    role: row.role,
    hasSecondFactor: row.has_second_factor,
    lastSeenAt: row.last_seen_at?.toISOString() ?? null,
    joinedAt: row.joined_at.toISOString(),
    isYou: row.user_id === ownId,
    version: row.version,
  };
}

function presentInvitation(row: LinkRow, actors: ActorNames): Invitation {
  return {
    invitationId: row.link_id,
    role: row.role ?? "viewer",
    forWhom: row.for_whom,
    createdBy: actors(row.created_by),
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  };
}
