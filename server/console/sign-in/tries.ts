import { hash } from "node:crypto";
import { type Queryable, type Sql, sql } from "#platform";

/** Whether a try is allowed, or how long to wait for the next. */
export type Verdict = { isAllowed: true } | { isAllowed: false; waitSeconds: number };

type Subject =
  | { userTries: string }
  | { proofTries: string }
  | { factorTries: string }
  | { addressTries: string };

const FREE_TRIES = 5;
const LONGEST_BLOCK_MINUTES = 15;
const FACTOR_WINDOW_MINUTES = 15;
const ADDRESS_TRIES_PER_MINUTE = 20;
const FORGET_HOURS = 24;

/**
 * Takes one try. The statement that judges a try also counts it, before the password is checked: of
 * a hundred at once, only those allowed go on. `forgive` takes a successful try back.
 *
 * A user has 5 tries, then waits 1, 2, 4 … 15 minutes after each. Proving the password again in an
 * open session has the same limit but its own count, so strangers at the sign-in cannot block it. A
 * second factor has 5 in 15 minutes; an address has 20 a minute.
 */
export async function takeTry(db: Queryable, subject: Subject, now: Date): Promise<Verdict> {
  const [taken] = await db.query(takeStatement(subject, now));
  if (taken) return { isAllowed: true };
  const [state] = await db.query<{ wait: number }>(sql`
    select extract(epoch from blocked_until - ${now}::timestamptz) as wait
      from sign_in_tries
     where subject = ${subjectOf(subject)}`);
  return { isAllowed: false, waitSeconds: Math.max(1, Math.ceil(state?.wait ?? 1)) };
}

/** The try succeeded: the count starts again. */
export async function forgive(db: Queryable, subject: Subject): Promise<void> {
  await db.query(sql`delete from sign_in_tries where subject = ${subjectOf(subject)}`);
}

/** The try was no failure, or was never judged: it is not counted. */
export async function giveBack(db: Queryable, subject: Subject): Promise<void> {
  await db.query(sql`
    update sign_in_tries
       set tries = greatest(0, tries - 1), blocked_until = '-infinity'
     where subject = ${subjectOf(subject)}`);
}

/** E-mails are hashed: nobody should be able to read what strangers typed. */
function subjectOf(subject: Subject): string {
  if ("userTries" in subject)
    return `user:${hash("sha256", subject.userTries, "hex").slice(0, 32)}`;
  if ("proofTries" in subject) return `proof:${subject.proofTries}`;
  if ("factorTries" in subject) return `factor:${subject.factorTries}`;
  return `address:${subject.addressTries}`;
}

function takeStatement(subject: Subject, now: Date): Sql {
  const { tries, blockedUntil } = rulesOf(subject, now);
  return sql`
    insert into sign_in_tries as t (subject, tries, at, blocked_until)
    values (${subjectOf(subject)}, 1, ${now}, '-infinity')
        on conflict (subject) do update
       set tries = ${tries},
           at = ${"factorTries" in subject ? windowStart(now) : sql`${now}::timestamptz`},
           blocked_until = ${blockedUntil}
     where t.blocked_until <= ${now}::timestamptz
    returning subject`;
}

/** What this try makes of the count, and until when that forbids the next try. */
function rulesOf(subject: Subject, now: Date): { tries: Sql; blockedUntil: Sql } {
  if ("userTries" in subject || "proofTries" in subject) {
    const tries = sql`(case when t.at < ${now}::timestamptz - make_interval(hours => ${FORGET_HOURS})
                            then 0 else t.tries end + 1)`;
    const minutes = sql`least(2 ^ least(${tries} - ${FREE_TRIES}, 10), ${LONGEST_BLOCK_MINUTES})`;
    return {
      tries,
      blockedUntil: blockedAfter(
        tries,
        FREE_TRIES,
        sql`${now}::timestamptz + make_interval(mins => (${minutes})::int)`,
      ),
    };
  }
  if ("factorTries" in subject) {
    const tries = sql`(case when ${windowStart(now)} > t.at then 0 else t.tries end + 1)`;
    return {
      tries,
      blockedUntil: blockedAfter(
        tries,
        FREE_TRIES,
        sql`${windowStart(now)} + make_interval(mins => ${FACTOR_WINDOW_MINUTES})`,
      ),
    };
  }
  const leaked = sql`extract(epoch from ${now}::timestamptz - t.at) * ${ADDRESS_TRIES_PER_MINUTE / 60}`;
  const tries = sql`(greatest(0, t.tries - greatest(0, ${leaked})) + 1)`;
  // At the limit, the next try waits until one has leaked away.
  const leakSeconds = 60 / ADDRESS_TRIES_PER_MINUTE;
  const until = sql`${now}::timestamptz + make_interval(secs => ${leakSeconds})`;
  return { tries, blockedUntil: blockedAfter(tries, ADDRESS_TRIES_PER_MINUTE, until) };
}

function windowStart(now: Date): Sql {
  return sql`(case when t.at < ${now}::timestamptz - make_interval(mins => ${FACTOR_WINDOW_MINUTES})
                   then ${now}::timestamptz else t.at end)`;
}

function blockedAfter(tries: Sql, allowed: number, until: Sql): Sql {
  return sql`(case when ${tries} >= ${allowed} then ${until} else '-infinity' end)`;
}
