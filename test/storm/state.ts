import { findSigningSecrets } from "#accounts";
import type { Status } from "#contract";
import { type Database, rawSql, type SecretBox, sql, type Transaction } from "#platform";

export type MessageState = {
  messageId: string;
  accountId: string;
  recipient: string;
  text: string;
  reference: string;
  status: Status;
  credits: number;
  errorCode: string | null;
  isScheduled: boolean;
  /** Both in wall time, in milliseconds. */
  createdAt: number;
  expiresAt: number;
};
export type EventState = {
  messageId: string;
  sequence: number;
  status: Status;
  eventId: string;
  body: string | null;
};
export type SubmissionState = {
  messageId: string;
  segment: number;
  outcome: string | null;
  inDoubt: boolean;
  matchId: string | null;
  receipts: number;
};
export type LedgerState = {
  accountId: string;
  seq: number;
  messageId: string | null;
  kind: string;
  amount: number;
  balanceAfter: number;
  note: string | null;
};
export type AttemptState = {
  messageId: string;
  sequence: number;
  tries: number;
  ended: string | null;
};

/** The contents of the database after the storm. */
export type State = {
  accounts: { accountId: string; balance: number; secret: string }[];
  messages: MessageState[];
  events: EventState[];
  submissions: SubmissionState[];
  ledger: LedgerState[];
  /** Ids in receipts that match no recorded submission. */
  parked: string[];
  /** Per event: the number of attempts, and how its delivery ended. */
  attempts: AttemptState[];
  /** Deliveries that are still to be made. */
  waiting: { messageId: string; sequence: number }[];
};

/** Everything in one snapshot. */
export function readState(db: Database, secrets: SecretBox): Promise<State> {
  return db.transaction(async (tx) => {
    await tx.query(rawSql("set transaction isolation level repeatable read, read only"));
    return readWithin(tx, secrets);
  });
}

async function readWithin(db: Transaction, secrets: SecretBox): Promise<State> {
  const accounts = await db.query<{ accountId: string; balance: number }>(sql`
    select account_id as "accountId", balance from accounts`);
  const opened = await findSigningSecrets(db, {
    accountIds: accounts.map(({ accountId }) => accountId),
    secrets,
  });
  return {
    accounts: accounts.map((account) => ({
      ...account,
      secret: opened.get(account.accountId)?.current ?? "",
    })),
    messages: await db.query<MessageState>(sql`
      select message_id as "messageId", account_id as "accountId", recipient, text, coalesce(reference, '') as reference,
             status, credits, error_code as "errorCode", coalesce(send_at > clock_timestamp(), false) as "isScheduled",
             extract(epoch from created_at) * 1000 as "createdAt", extract(epoch from expires_at) * 1000 as "expiresAt"
        from messages`),
    events: await db.query<EventState>(sql`
      select message_id as "messageId", sequence, status, event_id(message_id, sequence) as "eventId",
             convert_from(body, 'UTF8') as body
        from events order by message_id, sequence`),
    submissions: await db.query<SubmissionState>(sql`
      select message_id as "messageId", segment, outcome, in_doubt_at is not null as "inDoubt", match_id as "matchId",
             coalesce(jsonb_array_length(receipts), 0) as receipts
        from submissions`),
    ledger: await db.query<LedgerState>(sql`
      select account_id as "accountId", seq, message_id as "messageId", kind, amount, balance_after as "balanceAfter", note
        from ledger order by account_id, seq`),
    parked: (
      await db.query<{ id: string }>(sql`select unnest(match_ids) as id from parked_receipts`)
    ).map(({ id }) => id),
    attempts: await db.query<AttemptState>(sql`
      select message_id as "messageId", sequence, count(*) as tries, max(ended) as ended
        from webhook_attempts group by message_id, sequence`),
    waiting: await db.query<{ messageId: string; sequence: number }>(sql`
      select message_id as "messageId", sequence from webhook_deliveries`),
  };
}
