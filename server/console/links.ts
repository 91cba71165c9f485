import { hash, randomBytes } from "node:crypto";
import type { MemberRole } from "#contract";
import { Problem } from "#http/problem";
import {
  HOUR_MS,
  listPage,
  type Looked,
  newId,
  type Page,
  type Queryable,
  type Sql,
  sql,
  type Transaction,
} from "#platform";

export type LinkKind = "setup" | "invitation" | "reset";

export type LinkRow = {
  link_id: string;
  kind: LinkKind;
  created_at: Date;
  created_by: string;
  expires_at: Date;
  account_id: string | null;
  role: MemberRole | null;
  for_whom: string | null;
  user_id: string | null;
  drops_second_factor: boolean;
  used_at: Date | null;
  withdrawn_at: Date | null;
};

const LIFE_HOURS: Record<LinkKind, number> = { setup: 24, invitation: 48, reset: 48 };
const PAGES: Record<LinkKind, string> = { setup: "/setup", invitation: "/join", reset: "/reset" };

const columns = sql`
  link_id, kind, created_at, created_by, expires_at, account_id, role, for_whom, user_id, drops_second_factor,
  used_at, withdrawn_at`;

export type NewLink = {
  kind: LinkKind;
  createdBy: string;
  now: Date;
  publicUrl: string;
  accountId?: string;
  role?: MemberRole;
  forWhom?: string | null;
  userId?: string;
  dropsSecondFactor?: boolean;
};

/** Only the returned link has the token. It is in the URL fragment, which browsers never send. */
export async function insertLink(
  tx: Queryable,
  wish: NewLink,
): Promise<{ linkId: string; link: string; expiresAt: Date }> {
  const { kind, createdBy, now, publicUrl, accountId = null, role = null, userId = null } = wish;
  const { forWhom = null, dropsSecondFactor = false } = wish;
  const token = randomBytes(32).toString("base64url");
  const linkId = newId(now.getTime());
  const expiresAt = new Date(now.getTime() + LIFE_HOURS[kind] * HOUR_MS);
  await tx.query(sql`
    insert into links (link_id, kind, token_hash, created_at, created_by, expires_at, account_id, role, for_whom,
                       user_id, drops_second_factor)
    values (${linkId}, ${kind}, ${hashToken(token)}, ${now}, ${createdBy}, ${expiresAt}, ${accountId}, ${role},
            ${forWhom}, ${userId}, ${dropsSecondFactor})`);
  return { linkId, link: `${publicUrl}${PAGES[kind]}#token=${token}`, expiresAt };
}

type Wanted = {
  token: string;
  /** Any kind if left out. */
  kind?: LinkKind;
  now: Date;
};

/** The open link of a token, or a problem that tells the token's holder what became of it. */
export async function findLink(db: Queryable, wanted: Wanted): Promise<LinkRow> {
  const [link] = await db.query<LinkRow>(sql`
    select ${columns} from links where token_hash = ${hashToken(wanted.token)}`);
  return openOrRefuse(link, wanted);
}

/** Uses up a link; of several attempts at once, only one finds it open. */
export async function takeLink(tx: Transaction, wanted: Required<Wanted>): Promise<LinkRow> {
  const [link] = await tx.query<LinkRow>(sql`
    select ${columns} from links where token_hash = ${hashToken(wanted.token)} for update`);
  const open = openOrRefuse(link, wanted);
  await tx.query(sql`update links set used_at = ${wanted.now} where link_id = ${open.link_id}`);
  return open;
}

function openOrRefuse(link: LinkRow | undefined, { kind, now }: Wanted): LinkRow {
  if (!link) throw linkProblem("unknown");
  if (link.used_at) throw linkProblem("used");
  if (link.withdrawn_at) throw linkProblem("withdrawn");
  if (link.expires_at <= now) throw linkProblem("expired");
  if (kind !== undefined && link.kind !== kind) throw linkProblem("unknown");
  return link;
}

const LINK_WORDS = {
  unknown: "This link is unknown. Check that you copied all of it.",
  used: "This link has already been used; it works only once.",
  withdrawn: "This link was withdrawn.",
  expired: "This link has expired.",
} as const;

export function linkProblem(outcome: keyof typeof LINK_WORDS): Problem {
  return new Problem("LINK_INVALID", [
    { field: "token", code: "FIELD_INVALID", message: LINK_WORDS[outcome] },
  ]);
}

const isOpen = (now: Date) => sql`used_at is null and withdrawn_at is null and expires_at > ${now}`;

export function browseInvitations(
  db: Queryable,
  { accountId, now, ...page }: Page & { accountId: string; now: Date },
): Promise<Looked<LinkRow>> {
  return listPage(db, {
    ...page,
    select: sql`select ${columns} from links`,
    where: sql`account_id = ${accountId} and ${isOpen(now)}`,
    id: sql`link_id`,
  });
}

/** Withdraws those of them that are still open. */
function withdraw(tx: Transaction, which: Sql, now: Date): Promise<LinkRow[]> {
  return tx.query<LinkRow>(sql`
    update links set withdrawn_at = ${now} where ${which} and ${isOpen(now)} returning ${columns}`);
}

export async function withdrawInvitation(
  tx: Transaction,
  { linkId, accountId, now }: { linkId: string; accountId: string; now: Date },
): Promise<LinkRow | undefined> {
  const which = sql`link_id = ${linkId} and account_id = ${accountId}`;
  return (await withdraw(tx, which, now))[0];
}

/** Withdraws the open invitations that a person made; returns how many. */
export async function withdrawInvitationsBy(
  tx: Transaction,
  { accountId, userId, now }: { accountId: string; userId: string; now: Date },
): Promise<number> {
  const which = sql`account_id = ${accountId} and created_by = ${`user:${userId}`}`;
  return (await withdraw(tx, which, now)).length;
}

/** Called before a new one is made: however many links were handed out, one person joins. */
export async function withdrawOwnerLinks(
  tx: Transaction,
  { accountId, now }: { accountId: string; now: Date },
): Promise<void> {
  await withdraw(tx, sql`account_id = ${accountId} and role = 'owner'`, now);
}

/** Withdraws what only an operator could make: resets, and invitations to others' accounts. */
export async function withdrawLinksOfOperator(
  tx: Transaction,
  { userId, now }: { userId: string; now: Date },
): Promise<void> {
  const which = sql`
    created_by = ${`user:${userId}`}
    and not exists (
      select from memberships m
       where m.account_id = links.account_id and m.user_id = ${userId} and m.role = 'owner'
    )`;
  await withdraw(tx, which, now);
}

/** Called when a password is set: no older link, wherever it is, may set another. */
export async function withdrawResets(
  tx: Transaction,
  { userId, now }: { userId: string; now: Date },
): Promise<void> {
  await withdraw(tx, sql`user_id = ${userId}`, now);
}

/** A token of 256 random bits needs no slow hash. */
function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
