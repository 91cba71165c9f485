import { sql } from "#platform";
import type { Invariant } from "./invariant.ts";

/** Once load has stopped and the carriers are up, nothing that could proceed is left waiting. */
export const liveness: readonly Invariant[] = [
  {
    name: "I17",
    rule: "no message has been due for sending for over a minute, unless its carrier is paused",
    violations: sql`
      select q.message_id as "messageId", q.account_id as "accountId", q.due_at as "dueAt"
        from send_queue q
        left join carriers c on c.carrier_id = q.carrier_id
       where q.due_at < now() - interval '60 s' and not coalesce(c.paused, false)`,
  },
  {
    name: "I17",
    rule: "no message is still QUEUED a minute after it expired",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", m.expires_at as "expiresAt"
        from messages m
       where m.status = 'QUEUED' and m.expires_at < now() - interval '60 s'`,
  },
  {
    name: "I17",
    rule: "no parked receipt matches a submission",
    violations: sql`
      select distinct p.parked_id as "parkedId", s.message_id as "messageId"
        from parked_receipts p
        join submissions s on s.carrier_id = p.carrier_id and s.match_id = any (p.match_ids)
       where p.at < now() - interval '60 s' and s.at >= p.since`,
  },
  {
    name: "I17",
    rule: "no webhook has been due for over a minute",
    violations: sql`
      select d.message_id as "messageId", d.sequence, d.next_at as "nextAt"
        from webhook_deliveries d
       where d.next_at < now() - interval '60 s'`,
  },
];
