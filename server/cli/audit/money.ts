import { sql } from "#platform";
import type { Invariant } from "./invariant.ts";
import { messagesKeptSince } from "./messages-kept.ts";

/** Balances, the ledger, charges and refunds agree. */
export const money: readonly Invariant[] = [
  {
    name: "I1",
    rule: "an account's balance and counter match its ledger",
    violations: sql`
      select a.account_id as "accountId", a.balance, l.total as "ledgerSum", a.ledger_seq as "counter", l.last as "lastSeq"
        from accounts a
        left join (select account_id, sum(amount) as total, max(seq) as last
                     from ledger group by account_id) l using (account_id)
       where a.balance < 0
          or a.balance <> coalesce(l.total, 0)
          or a.ledger_seq <> coalesce(l.last, 0)`,
  },
  {
    name: "I1",
    rule: "every ledger entry belongs to an account",
    violations: sql`
      select l.account_id as "accountId", count(*) as entries
        from ledger l
       where not exists (select from accounts a where a.account_id = l.account_id)
       group by l.account_id`,
  },
  {
    name: "I2",
    rule: "each ledger entry starts where the previous one ended, with the right kind, sign and owner",
    violations: sql`
      select account_id as "accountId", seq, kind, amount, balance_after as "balanceAfter"
        from (select l.*, lag(balance_after, 1, 0::bigint) over w as before, row_number() over w as n
                from ledger l
              window w as (partition by account_id order by seq)) l
       where balance_after <> before + amount
          or balance_after < 0
          or seq <> n
          or kind not in ('charge', 'refund', 'topup', 'adjustment')
          or (kind in ('charge', 'refund')) <> (message_id is not null)
          or (kind = 'charge' and amount > 0)
          or (kind in ('refund', 'topup') and amount < 0)
          or (kind in ('topup', 'adjustment')) <> (actor is not null)`,
  },
  {
    // The index ledger_once_per_message excludes a second charge and a second refund.
    name: "I3",
    rule: "every message has exactly one charge, equal to its price",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", m.credits, c.amount as charged
        from messages m
        left join ledger c on c.message_id = m.message_id and c.kind = 'charge'
       where c.amount is distinct from -m.credits or c.account_id <> m.account_id`,
  },
  {
    // Retention drops the oldest messages and never the ledger.
    name: "I3",
    rule: "every charge has its message, as far back as messages are kept",
    violations: sql`
      select c.account_id as "accountId", c.message_id as "messageId", c.seq
        from ledger c
       where c.kind in ('charge', 'refund')
         and c.message_id >= ${messagesKeptSince}
         and not exists (select from messages m where m.account_id = c.account_id and m.message_id = c.message_id)`,
  },
  {
    name: "I4",
    rule: "a message has a refund, of the same amount, exactly if it FAILED",
    violations: sql`
      select m.account_id as "accountId", m.message_id as "messageId", m.status, m.credits, r.amount as refunded
        from messages m
        left join ledger r on r.message_id = m.message_id and r.kind = 'refund'
       where (m.status = 'FAILED') <> (r.seq is not null) or r.amount <> m.credits or r.account_id <> m.account_id`,
  },
];
