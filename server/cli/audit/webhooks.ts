import { sql } from "#platform";
import type { Invariant } from "./invariant.ts";

/** What receivers are told agrees with what happened. */
export const webhooks: readonly Invariant[] = [
  {
    name: "I10",
    rule: "an event has a stored body exactly if its message has a callback address",
    violations: sql`
      select e.message_id as "messageId", e.sequence
        from events e
        join messages m on m.account_id = e.account_id and m.message_id = e.message_id
       where (m.callback_url is not null) <> (e.body is not null)
          or e.callback_url is distinct from m.callback_url`,
  },
  {
    // Compared as octets: the body is what is posted, and all of them begin with these four fields.
    name: "I10",
    rule: "a stored body tells of its own event, message, recipient and status",
    violations: sql`
      select e.message_id as "messageId", e.sequence
        from events e
        join messages m on m.account_id = e.account_id and m.message_id = e.message_id
       where position(
               convert_to(
                 format('{"event":"message.%s","messageId":"%s","recipient":"%s","status":"%s",',
                        lower(e.status), e.message_id, m.recipient, e.status),
                 'UTF8')
               in e.body) <> 1`,
  },
  {
    // Attempts are kept for a limited time; one day less leaves room for clocks that disagree.
    name: "I11",
    rule: "each webhook delivery is either waiting or has ended once, unless it was replayed",
    violations: sql`
      select e.message_id as "messageId", e.sequence, coalesce(d.n, 0) as waiting, coalesce(t.n, 0) as ended
        from events e
        left join (select message_id, sequence, count(*) as n, count(*) filter (where replay_id is null) as own
                     from webhook_deliveries group by message_id, sequence) d
               using (message_id, sequence)
        left join (select message_id, sequence, count(*) as n, count(*) filter (where replay_id is null) as own
                     from webhook_attempts where ended is not null
                    group by message_id, sequence) t using (message_id, sequence)
       where e.body is not null
         and e.at > (select attempts_kept_since()) + interval '1 day'
         -- One that was replayed while it waited goes on, and ends, as part of that replay.
         and (coalesce(d.n, 0) + coalesce(t.n, 0) = 0 or coalesce(d.own, 0) + coalesce(t.own, 0) > 1)`,
  },
  {
    // The step counts failures from 0. A host that is only being probed exhausts events that are a
    // day old at the attempt's end; the minute leaves room for clocks that disagree.
    name: "I11",
    rule: "a webhook is exhausted after 7 attempts, or after a day",
    violations: sql`
      select t.message_id as "messageId", t.sequence, t.step
        from webhook_attempts t
        join events e on e.message_id = t.message_id and e.sequence = t.sequence
       where t.ended = 'exhausted'
         and t.replay_id is null
         and t.step < 6
         and t.error_class <> 'interrupted'
         and t.at + t.total_ms * interval '1 millisecond' < e.at + interval '24 hours' - interval '1 minute'`,
  },
];
