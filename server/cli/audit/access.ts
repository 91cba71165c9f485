import { isActiveAt, MAX_ACTIVE_KEYS } from "#accounts";
import { rawSql, sql } from "#platform";
import type { Invariant } from "./invariant.ts";

/** Keys, secrets and accounts: nothing was done without permission, or without a record. */
export const access: readonly Invariant[] = [
  {
    // A revocation notes its place in the ledger, so no clock decides. An expiry is a time: the
    // clocks of node and database may differ by what doctor tolerates.
    name: "I13",
    rule: "no message was sent with a key that was revoked, expired, of another account or without the scope",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", m.key_id as "keyId"
        from messages m
        left join keys k on k.key_id = m.key_id
        left join ledger c on c.message_id = m.message_id and c.kind = 'charge'
       where m.key_id is not null
         and (k.key_id is null
              or c.seq > k.revoked_seq
              or m.created_at >= k.expires_at + interval '1 minute'
              or k.account_id <> m.account_id
              or not 'messages:send' = any (k.scopes))`,
  },
  ...["events", "submissions", "send_queue", "webhook_deliveries", "webhook_attempts"].map(
    (table): Invariant => ({
      name: "I14",
      rule: `every row of ${table} names the account of its message`,
      violations: sql`
        select t.message_id as "messageId", t.account_id as "accountId", m.account_id as "ownerId"
          from ${rawSql(table)} t
          join messages m on m.message_id = t.message_id
         where t.account_id <> m.account_id`,
    }),
  ),
  {
    name: "I15",
    rule: `an account has at most ${MAX_ACTIVE_KEYS} active keys`,
    violations: sql`
      select account_id as "accountId", count(*) as keys
        from keys
       where ${isActiveAt(sql`now()`)}
       group by account_id
      having count(*) > ${MAX_ACTIVE_KEYS}`,
  },
  {
    name: "I15",
    rule: "an account has one current signing secret and at most one previous one",
    violations: sql`
      select a.account_id as "accountId", count(s.version) as live
        from accounts a
        left join signing_secrets s on s.account_id = a.account_id and (s.not_after is null or s.not_after > now())
       group by a.account_id
      having count(s.version) not in (1, 2) or count(s.version) filter (where s.not_after is null) <> 1`,
  },
  {
    name: "I16",
    rule: "every creation or revocation of a key is in the audit log",
    violations: sql`
      select k.key_id as "keyId", k.account_id as "accountId"
        from keys k
       where not exists (select from audit_log l where l.object_id = k.key_id::text and l.action = 'key.created')
          or (k.revoked_at is not null
              and not exists (select from audit_log l where l.object_id = k.key_id::text and l.action = 'key.revoked'))`,
  },
  {
    name: "I16",
    rule: "every rotation of a signing secret is in the audit log",
    violations: sql`
      select s.account_id as "accountId", s.rotations, count(l.audit_id) as logged
        from (select account_id, max(version) - 1 as rotations from signing_secrets group by account_id) s
        left join audit_log l on l.account_id = s.account_id and l.action = 'secret.rotated'
       group by s.account_id, s.rotations
      having count(l.audit_id) <> s.rotations`,
  },
  {
    // A member came to the present role once more often than they left it. Counting needs no clock
    // to order the entries, and shows a manual change even after a later one that is on record.
    name: "I16",
    rule: "every member has the role that follows from the audit log",
    violations: sql`
      select m.account_id as "accountId", m.user_id as "userId", m.role
        from memberships m
       where 1 <> (
         select count(*) filter (where case l.action when 'setup.completed' then 'owner'
                                                     when 'user.created' then l.details ->> 'role'
                                                     when 'member.joined' then l.details ->> 'role'
                                                     when 'member.role_changed' then l.details ->> 'after' end = m.role)
              - count(*) filter (where case l.action when 'member.role_changed' then l.details ->> 'before'
                                                     when 'member.left' then l.details ->> 'role'
                                                     when 'member.removed' then l.details ->> 'role' end = m.role)
           from audit_log l
          where l.object_id = m.user_id::text and l.account_id = m.account_id)`,
  },
  {
    name: "I16",
    rule: "the operators are exactly those that follow from the audit log",
    violations: sql`
      select u.user_id as "userId", u.is_operator as "isOperator"
        from users u
       where u.is_operator::int <> (
         select count(*) filter (where l.action = 'setup.completed'
                                    or (l.action = 'user.created' and l.details @> '{"isOperator": true}')
                                    or (l.action = 'user.operator_changed' and l.details @> '{"after": true}'))
              - count(*) filter (where l.action = 'user.operator_changed' and l.details @> '{"before": true}')
           from audit_log l
          where l.object_id = u.user_id::text)`,
  },
  {
    name: "I16",
    rule: "every manual booking of credits is in the audit log",
    violations: sql`
      select b.account_id as "accountId", b.bookings, count(l.audit_id) as logged
        from (select account_id, count(*) as bookings
                from ledger where kind in ('topup', 'adjustment') group by account_id) b
        left join audit_log l on l.account_id = b.account_id and l.action = 'credits.booked'
       group by b.account_id, b.bookings
      having count(l.audit_id) <> b.bookings`,
  },
];
