import { findSigningSecrets, type SigningSecrets } from "#accounts";
import type { ToldStatus } from "#contract";
import {
  type Database,
  DatabaseUnavailable,
  LEASE_MS,
  type LocalMoment,
  type SecretBox,
  sql,
  violates,
} from "#platform";
import type { Kind } from "./lane-slots.ts";

/** A delivery that this node has leased. */
export type Claim = {
  messageId: string;
  sequence: number;
  accountId: string;
  hostKey: bigint;
  replayId: string | null;
  /** The number of this POST of the event. */
  attempt: number;
  /** Failures so far that used a step of the schedule. */
  step: number;
  epoch: number;
  createdAt: Date;
  /** When it was claimed, by the database's clock and by this node's. */
  claimedAt: Date;
  claimedHere: LocalMoment;
};

/** A claim with everything its POST needs. */
export type ClaimedDelivery = Claim & {
  status: ToldStatus;
  /** When the status changed. */
  eventAt: Date;
  url: string;
  body: Buffer;
  secrets: SigningSecrets;
};

export type Claims = {
  deliveries: ClaimedDelivery[];
  /** Interrupted too often in a row; the claim has ended them. */
  poison: Claim[];
  /** Their event is gone: there is nothing to send. */
  eventless: Claim[];
  /** Nothing can sign them now. */
  unsigned: Claim[];
  away: ReadSecrets["away"];
  /** How many a node held when their lease ran out. */
  interrupted: number;
};

type Row = {
  message_id: string;
  sequence: number;
  account_id: string;
  host_key: string;
  replay_id: string | null;
  attempts: number;
  step: number;
  lease_epoch: number;
  created_at: Date;
  is_poison: boolean;
  was_interrupted: boolean;
  claimed_at: Date;
  status: ClaimedDelivery["status"] | null;
  at: Date;
  url: string;
  body: Buffer;
};

export type ClaimRequest = {
  lanes: { hostKey: bigint; most: number }[];
  kind: Kind;
  moment: LocalMoment;
  secrets: SecretBox;
};

/** Leases what is due in these lanes; the lease is committed before any HTTP. */
export async function claimDeliveries(db: Database, request: ClaimRequest): Promise<Claims> {
  const rows = await claimRows(db, request);
  const [poison, alive] = split(rows, ({ is_poison }) => is_poison);
  const [eventless, whole] = split(alive, ({ status }) => status === null);
  // Read with each claim and never kept: a removed secret signs nothing more, on any node.
  const { found: secrets, away } = await readSecrets(
    db,
    whole.map(({ account_id }) => account_id),
    request.secrets,
  );
  const [signed, unsigned] = split(whole, ({ account_id }) => secrets.has(account_id));
  const claim = (row: Row) => claimOf(row, request.moment);
  return {
    deliveries: signed.map((row) => ({
      ...claim(row),
      status: row.status as ClaimedDelivery["status"],
      eventAt: row.at,
      url: row.url,
      body: row.body,
      secrets: secrets.get(row.account_id) as SigningSecrets,
    })),
    poison: poison.map(claim),
    eventless: eventless.map(claim),
    unsigned: unsigned.map(claim),
    away,
    interrupted: rows.filter(({ was_interrupted }) => was_interrupted).length,
  };
}

const TRIES = 5;

/**
 * Two nodes may claim two events of one message at the same moment. The index that forbids this
 * makes one of them start over, and by then it sees the other's lease.
 */
async function claimRows(db: Database, request: ClaimRequest): Promise<Row[]> {
  const { lanes, kind } = request;
  const statement = sql`
    select message_id, sequence, account_id, host_key::text, replay_id, attempts, step, lease_epoch, created_at,
           is_poison, was_interrupted, claimed_at, status, at, url, body
      from claim_deliveries(
        ${lanes.map(({ hostKey }) => hostKey.toString())}::bigint[], ${lanes.map(({ most }) => most)}::integer[],
        ${kind === "first"}, make_interval(secs => ${LEASE_MS / 1000})
      )`;
  for (let tried = 1; ; tried += 1) {
    try {
      return await db.query<Row>(statement);
    } catch (error) {
      const isCrossed = violates(error, "one_delivery_in_flight_per_message");
      if (!isCrossed || tried === TRIES) throw error;
    }
  }
}

type ReadSecrets = {
  /** The live secrets, by account. */
  found: Map<string, SigningSecrets>;
  /** Set if the database could not be asked, which says nothing about the secrets. */
  away: DatabaseUnavailable | undefined;
};

/** A secret that cannot be opened does not affect other accounts. */
export async function readSecrets(
  db: Database,
  accounts: readonly string[],
  box: SecretBox,
): Promise<ReadSecrets> {
  const accountIds = [...new Set(accounts)];
  const found = new Map<string, SigningSecrets>();
  if (accountIds.length === 0) return { found, away: undefined };
  try {
    return {
      found: await findSigningSecrets(db, { accountIds, secrets: box }),
      away: undefined,
    };
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return { found, away: error };
    if (accountIds.length === 1) return { found, away: undefined };
    const each = await Promise.all(accountIds.map((id) => readSecrets(db, [id], box)));
    return {
      found: new Map(each.flatMap((read) => [...read.found])),
      away: each.find(({ away }) => away)?.away,
    };
  }
}

function claimOf(row: Row, moment: LocalMoment): Claim {
  return {
    messageId: row.message_id,
    sequence: row.sequence,
    accountId: row.account_id,
    hostKey: BigInt(row.host_key),
    replayId: row.replay_id,
    attempt: row.attempts,
    step: row.step,
    epoch: row.lease_epoch,
    createdAt: row.created_at,
    claimedAt: row.claimed_at,
    claimedHere: moment,
  };
}

function split<Item>(items: Item[], isLeft: (item: Item) => boolean): [Item[], Item[]] {
  const left: Item[] = [];
  const right: Item[] = [];
  for (const item of items) (isLeft(item) ? left : right).push(item);
  return [left, right];
}
