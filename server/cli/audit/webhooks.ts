import { sql } from "#platform";
import type { Invariant } from "./invariant.ts";

/** What is to be told to receivers agrees with what happened. */
export const webhooks: readonly Invariant[] = [
  {
    name: "I10",
    rule: "an event has a frozen body exactly where its message has a callback address",
    violations: sql`
      select e.message_id as "messageId", e.sequence
        from events e
        join messages m on m.account_id = e.account_id and m.message_id = e.message_id
       where (m.callback_url is not null) <> (e.body is not null)
          or e.callback_url is distinct from m.callback_url`,
  },
];
