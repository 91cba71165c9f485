import type { MemberRole } from "#contract";
import { deletePage, newId, type Queryable, sql, type Transaction } from "#platform";

const IDLE_HOURS = 12;
const LIFE_DAYS = 7;
/** A session that still lacks its second factor opens nothing, and soon ends. */
const PENDING_MINUTES = 10;
/** A session's time of last use is updated at most this often. */
const TOUCH_MINUTES = 5;

export type SessionRow = {
  session_id: string;
  user_id: string;
  is_pending: boolean;
  created_at: Date;
  seen_at: Date;
  proven_at: Date;
  address: string | null;
  user_agent: string | null;
};

/** A session with its user, and the user's role in the account in question. */
export type FoundSession = SessionRow & {
  name: string;
  email: string;
  is_operator: boolean;
  role: MemberRole | null;
};

export type NewSession = {
  userId: string;
  tokenHash: Buffer;
  isPending: boolean;
  address: string | null;
  userAgent: string | null;
  now: Date;
};

export async function insertSession(tx: Queryable, session: NewSession): Promise<void> {
  const { userId, tokenHash, isPending, address, userAgent, now } = session;
  await tx.query(sql`
    with seen as (
      update users set last_seen_at = ${now} where user_id = ${userId}
    )
    insert into sessions (session_id, token_hash, user_id, is_pending, created_at, seen_at, proven_at, address, user_agent)
    values (${newId(now.getTime())}, ${tokenHash}, ${userId}, ${isPending}, ${now}, ${now}, ${now}, ${address},
            ${userAgent?.slice(0, 300) ?? null})`);
}

/** Nothing is cached: the next request, on any node, refuses a session that was ended. */
export async function findSession(
  db: Queryable,
  { tokenHash, accountId, now }: { tokenHash: Buffer; accountId: string | null; now: Date },
): Promise<FoundSession | undefined> {
  const [session] = await db.query<FoundSession>(sql`
    select s.session_id, s.user_id, s.is_pending, s.created_at, s.seen_at, s.proven_at, s.address, s.user_agent,
           u.name, u.email, u.is_operator, m.role
      from sessions s
      join users u on u.user_id = s.user_id
      left join memberships m on m.user_id = s.user_id and m.account_id = ${accountId}
     where s.token_hash = ${tokenHash} and ${isAlive(now)}`);
  if (session && isUntouched(session, now)) await touchSession(db, session, now);
  return session;
}

function isAlive(now: Date) {
  return sql`
    s.seen_at > ${now}::timestamptz - make_interval(hours => ${IDLE_HOURS})
    and s.created_at > ${now}::timestamptz - make_interval(days => ${LIFE_DAYS})
    and (not s.is_pending or s.created_at > ${now}::timestamptz - make_interval(mins => ${PENDING_MINUTES}))`;
}

function isUntouched({ seen_at }: SessionRow, now: Date): boolean {
  return now.getTime() - seen_at.getTime() > TOUCH_MINUTES * 60_000;
}

/** Locks the user's row before the session's, as password changes do; otherwise it deadlocks. */
async function touchSession(db: Queryable, session: SessionRow, now: Date): Promise<void> {
  await db.query(sql`
    with seen as (
      update users set last_seen_at = ${now} where user_id = ${session.user_id} returning user_id
    )
    update sessions s
       set seen_at = ${now}
      from seen u
     where s.session_id = ${session.session_id} and s.user_id = u.user_id`);
}

/**
 * The session goes on under a new token, so any copy of the old cookie is worthless. False if it
 * was already ended.
 */
export async function renewSession(
  tx: Transaction,
  { sessionId, tokenHash, now }: { sessionId: string; tokenHash: Buffer; now: Date },
): Promise<boolean> {
  const renewed = await tx.query(sql`
    update sessions
       set token_hash = ${tokenHash}, is_pending = false, seen_at = ${now}, proven_at = ${now}
     where session_id = ${sessionId}
    returning session_id`);
  return renewed.length > 0;
}

/** The same for a session that is fully signed in. */
export async function renewToken(
  tx: Transaction,
  { sessionId, tokenHash }: { sessionId: string; tokenHash: Buffer },
): Promise<boolean> {
  const renewed = await tx.query(sql`
    update sessions set token_hash = ${tokenHash} where session_id = ${sessionId} returning session_id`);
  return renewed.length > 0;
}

/** False if the session was ended. */
export async function noteProof(db: Queryable, sessionId: string, now: Date): Promise<boolean> {
  const noted = await db.query(sql`
    update sessions set proven_at = ${now} where session_id = ${sessionId} returning session_id`);
  return noted.length > 0;
}

/** Whether the session is there. If it is, nobody can end it until the transaction ends. */
export async function lockSession(tx: Transaction, sessionId: string): Promise<boolean> {
  const [row] = await tx.query<{ held: boolean }>(sql`select hold_session(${sessionId}) as held`);
  return row?.held === true;
}

export async function endSession(
  db: Queryable,
  { sessionId, userId }: { sessionId: string; userId: string },
): Promise<boolean> {
  const ended = await db.query(sql`
    delete from sessions where session_id = ${sessionId} and user_id = ${userId} returning session_id`);
  return ended.length > 0;
}

/** Called in the transaction that changes a password, second factor, role or membership. */
export async function endSessionsOf(
  tx: Queryable,
  userId: string,
  { except = null }: { except?: string | null } = {},
): Promise<number> {
  const ended = await tx.query(sql`
    delete from sessions
     where user_id = ${userId} and session_id is distinct from ${except}::uuid
    returning session_id`);
  return ended.length;
}

export function listSessions(db: Queryable, userId: string, now: Date): Promise<SessionRow[]> {
  return db.query<SessionRow>(sql`
    select s.session_id, s.user_id, s.is_pending, s.created_at, s.seen_at, s.proven_at, s.address, s.user_agent
      from sessions s
     where s.user_id = ${userId} and not s.is_pending and ${isAlive(now)}
     order by s.seen_at desc, s.session_id desc
     limit 100`);
}

/** For each session of an open stream: whether it is still alive and still has this role. */
export async function stillAllowed(
  db: Queryable,
  asked: { sessionId: string; accountId: string | null; role: MemberRole | null }[],
  now: Date,
): Promise<boolean[]> {
  const rows = await db.query<{ n: number }>(sql`
    select a.n
      from unnest(${asked.map(({ sessionId }) => sessionId)}::uuid[], ${asked.map(({ accountId }) => accountId)}::uuid[],
                  ${asked.map(({ role }) => role)}::text[]) with ordinality as a (session_id, account_id, role, n)
      join sessions s on s.session_id = a.session_id
      join users u on u.user_id = s.user_id
      left join memberships m on m.user_id = s.user_id and m.account_id = a.account_id
     where ${isAlive(now)} and case when a.account_id is null then u.is_operator else m.role = a.role end`);
  const allowed = new Set(rows.map(({ n }) => n));
  return asked.map((_each, position) => allowed.has(position + 1));
}

/** Deletes sessions that are over, a page at a time. */
export function sweepSessions(db: Queryable, now: Date): Promise<number> {
  return deletePage(db, sql`from sessions s`, sql`not (${isAlive(now)})`);
}
