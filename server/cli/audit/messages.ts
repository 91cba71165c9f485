import { sql } from "#platform";
import type { Invariant } from "./invariant.ts";
import { messagesKeptSince } from "./messages-kept.ts";

/** Messages, history, submissions and queue agree. The message row itself stands for QUEUED. */
export const messages: readonly Invariant[] = [
  {
    name: "I5",
    rule: "a message's history is a valid path through the statuses, numbered from 2 without gaps",
    violations: sql`
      select message_id as "messageId", sequence, was, status
        from (select message_id, sequence, status, lag(status, 1, 'QUEUED') over w as was, row_number() over w + 1 as n
                from events
              window w as (partition by message_id order by sequence)) e
       where sequence <> n
          or (was, status) not in (('QUEUED', 'SENT'), ('QUEUED', 'FAILED'), ('SENT', 'DELIVERED'),
                                   ('SENT', 'UNDELIVERED'), ('SENT', 'FAILED'))`,
  },
  {
    name: "I6",
    rule: "a message's status, times and error match the end of its history",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", m.status, m.sequence, e.status as "lastEvent"
        from messages m
        left join events e on e.message_id = m.message_id and e.sequence = m.sequence
        left join events s on s.message_id = m.message_id and s.status = 'SENT'
       where m.status <> coalesce(e.status, 'QUEUED')
          or (m.sequence > 1) <> (e.message_id is not null)
          or m.sent_at is distinct from s.at
          or m.final_at is distinct from case when m.status in ('DELIVERED', 'UNDELIVERED', 'FAILED') then e.at end
          or (m.status in ('FAILED', 'UNDELIVERED')) <> (m.error_code is not null)`,
  },
  {
    name: "I6",
    rule: "every event has its message, and none is numbered beyond the message's own count",
    violations: sql`
      select e.message_id as "messageId", e.sequence, m.sequence as "lastSequence"
        from events e
        left join messages m on m.account_id = e.account_id and m.message_id = e.message_id
       where e.sequence > m.sequence
          or (m.message_id is null and e.message_id >= ${messagesKeptSince})`,
  },
  {
    name: "I7",
    rule: "a message is in the send queue exactly while it is QUEUED",
    violations: sql`
      select coalesce(m.message_id, q.message_id) as "messageId", m.status, q.message_id is not null as "isInQueue"
        from messages m
        full join send_queue q on q.message_id = m.message_id and q.account_id = m.account_id
       where (m.status = 'QUEUED') is distinct from (q.message_id is not null)`,
  },
  {
    name: "I8",
    rule: "SENT means that the carrier accepted every segment",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", m.segments, coalesce(s.accepted, 0) as accepted
        from messages m
        left join (select message_id, count(distinct segment) as accepted, bool_or(is_whole) as is_whole
                     from submissions
                    where outcome = 'accepted'
                    group by message_id) s using (message_id)
       where m.sent_at is not null
         and m.segments > coalesce(s.accepted, 0) and s.is_whole is not true`,
  },
  {
    // Of a segment submitted twice, one delivery is enough; a failure counts once neither is open.
    name: "I8",
    rule: "no message is still SENT once receipts have come for all of its segments, or a negative one for any",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", s.decided
        from messages m
        join (select message_id, count(*) as segments, count(effect) as decided, bool_or(effect <> 'delivered') as is_bad
                from (select message_id, segment,
                             case when bool_or(receipt_effect = 'delivered') then 'delivered'
                                  when bool_and(receipt_effect is not null) then max(receipt_effect)
                             end as effect
                        from submissions
                       where outcome = 'accepted'
                       group by message_id, segment) by_segment
               group by message_id) s using (message_id)
       where m.status = 'SENT' and (s.decided = s.segments or s.is_bad)`,
  },
  {
    // A refusal without a carrier's code was ours: the text did not fit the carrier's alphabet.
    name: "I9",
    rule: "a segment is handed over again only after a doubt or a temporary refusal, and in doubt at most twice",
    violations: sql`
      select message_id as "messageId", segment, count(*) as submissions, count(in_doubt_at) as doubts
        from submissions
       group by message_id, segment
      having count(in_doubt_at) > 2
          or count(*) - 1 > count(*) filter (
               where in_doubt_at is not null
                  or outcome in ('refused_temporarily', 'unsent')
                  or (outcome = 'refused' and carrier_code is null))`,
  },
  {
    name: "I12",
    rule: "an idempotency key refers only to messages of its own account, and no message has two keys",
    violations: sql`
      select i.message_id as "messageId", count(*) as keys
        from (select account_id, unnest(message_ids) as message_id from idempotency) i
        left join messages m on m.message_id = i.message_id and m.account_id = i.account_id
       group by i.message_id
      having count(*) > 1 or count(m.message_id) = 0`,
  },
];
