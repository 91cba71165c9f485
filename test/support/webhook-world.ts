import { createAccount, findSigningSecrets } from "#accounts";
import type { Status, ToldStatus } from "#contract";
import { hostKeyOf, moveMessages, newMessageId } from "#messages";
import {
  type Clock,
  createMetrics,
  openDatabase,
  type SecretBox,
  silentLog,
  type Sql,
  sql,
  systemClock,
} from "#platform";
import { deliveryLoop, laneKeeper } from "#webhooks";
import type { DeliveryLoop } from "../../server/webhooks/delivery-loop.ts";
import type { Lanes } from "../../server/webhooks/lanes.ts";
import { poster } from "../../server/webhooks/post.ts";
import { testEgress } from "./egress.ts";
import { eventually } from "./eventually.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";
import { readScrape, type Scrape } from "./scrape.ts";
import { TEST_SECRETS } from "./secret-key.ts";
import { unheard } from "./messages.ts";

type WorkerOptions = Parameters<typeof testEgress>[0] & {
  /** The limit of one attempt; long if a receiver is to hold its slot until the test ends it. */
  deadlineMs?: number;
  clock?: Clock;
};

export type Worker = AsyncDisposable & {
  loop: DeliveryLoop;
  lanes: Lanes;
  /** The names of receivers that it knew to be healthy when it started. */
  recalled: string[];
  scrape(): Promise<Scrape>;
};

export type WebhookWorld = AsyncDisposable & {
  db: TestDatabase;
  accountId: string;
  secrets: SecretBox;
  /** The live secrets of an account, newest first. */
  signingSecrets(accountId?: string): Promise<string[]>;
  newAccount(): Promise<string>;
  /** Creates a QUEUED message. */
  message(options: { url: string | null; accountId?: string }): Promise<string>;
  /** Moves a message on, as a carrier's answer or receipt would. */
  move(messageId: string, to: ToldStatus): Promise<void>;
  /** Messages that just became SENT; with `attempts`, their webhooks have been tried before. */
  sent(
    count: number,
    options: { url: string; accountId?: string; attempts?: number },
  ): Promise<string[]>;
  /** One message for each of these addresses. */
  sentTo(urls: string[], options?: { accountId?: string; attempts?: number }): Promise<string[]>;
  /** A node that delivers webhooks. */
  worker(options?: WorkerOptions): Worker;
  /** Once this many deliveries wait for a retry, makes them due at once. */
  hurry(count: number): Promise<void>;
  /** Expires every lease, as if the holders had long been silent. */
  expireLeases(): Promise<void>;
  /** Resolves once this many deliveries are left. */
  left(count: number): Promise<void>;
  /** Resolves once the statement returns a row whose `holds` is true. */
  until(what: string, condition: Sql): Promise<void>;
  attempts(messageId?: string): Promise<AttemptEntry[]>;
};

export type AttemptEntry = {
  message_id: string;
  sequence: number;
  attempt: number;
  step: number;
  http_status: number | null;
  error_class: string | null;
  ended: string | null;
  replay_id: string | null;
};

/** A database with an account, and the nodes that a test starts on it. */
export async function webhookWorld(given: { db?: TestDatabase } = {}): Promise<WebhookWorld> {
  const db = given.db ?? (await testDatabase());
  const secrets = TEST_SECRETS;
  const workers = new Set<Worker>();

  async function newAccount(): Promise<string> {
    const now = systemClock.now();
    return (await createAccount(db, { name: "test", actor: "test", now, secrets })).accountId;
  }
  const accountId = await newAccount();

  async function insertMessages(
    urls: (string | null)[],
    { accountId: owner = accountId }: { accountId?: string },
  ): Promise<string[]> {
    const now = systemClock.now();
    const ids = urls.map(() => newMessageId(now.getTime()));
    await db.query(sql`
      insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status, callback_url,
                            created_at, expires_at)
      select ${owner}, id, '4915112345678', 'Hello', 'gsm7', 1, 1, 'QUEUED', url, ${now}, ${now}::timestamptz + interval '1 day'
        from unnest(${ids}::uuid[], ${urls}::text[]) as u (id, url)`);
    return ids;
  }

  async function moveAll(messageIds: string[], to: ToldStatus, attempts = 0): Promise<void> {
    const rows = await db.query<{
      account_id: string;
      message_id: string;
      recipient: string;
      callback_url: string | null;
      status: Status;
    }>(sql`
      select account_id, message_id, recipient, callback_url, status
        from messages where message_id = any (${messageIds}::uuid[]) order by message_id`);
    const moves = rows.map((row) => ({
      accountId: row.account_id,
      messageId: row.message_id,
      recipient: row.recipient,
      callbackUrl: row.callback_url,
      from: row.status,
      at: systemClock.now(),
      ...(to === "SENT" || to === "DELIVERED"
        ? { to }
        : { to, error: { code: "UNKNOWN", carrierCode: null } as const }),
    }));
    const moved = await db.transaction(async (tx) => {
      const ids = await moveMessages(tx, moves, unheard);
      if (attempts > 0)
        await tx.query(sql`
          update webhook_deliveries set attempts = ${attempts}, step = ${attempts}
           where message_id = any (${messageIds}::uuid[])`);
      return ids;
    });
    if (moved.size !== messageIds.length) throw new Error(`${moved.size} messages moved.`);
  }

  async function sentTo(
    urls: string[],
    { attempts = 0, ...options }: { accountId?: string; attempts?: number } = {},
  ): Promise<string[]> {
    const ids = await insertMessages(urls, options);
    await moveAll(ids, "SENT", attempts);
    return ids;
  }

  function worker(options: WorkerOptions = {}): Worker {
    const egress = testEgress(options);
    const deliverDb = openDatabase({
      url: db.url,
      log: silentLog,
      maxConnections: 4,
      genericPlans: true,
    });
    const lanes = laneKeeper({ clock: systemClock });
    const metrics = createMetrics();
    const recalled: string[] = [];
    const { deadlineMs, clock = systemClock } = options;
    const loop = deliveryLoop({
      db: deliverDb,
      clock,
      log: silentLog,
      metrics,
      secrets,
      lanes,
      poster: poster({
        ...egress,
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
      }),
      policy: egress.policy,
      version: "test",
      onRecalled: (hostnames) => void recalled.push(...hostnames),
    });
    loop.start();
    const started: Worker = {
      loop,
      lanes,
      recalled,
      scrape: async () => readScrape(await metrics.registry.metrics()),
      async [Symbol.asyncDispose]() {
        if (!workers.delete(started)) return;
        await loop.stop();
        await deliverDb.close();
      },
    };
    workers.add(started);
    return started;
  }

  async function until(what: string, condition: Sql): Promise<void> {
    await eventually(what, async () => {
      const [row] = await db.query<{ holds: boolean }>(condition);
      return row?.holds === true;
    });
  }

  return {
    db,
    accountId,
    secrets,
    newAccount,
    worker,
    async signingSecrets(owner = accountId) {
      const found = (await findSigningSecrets(db, { accountIds: [owner], secrets })).get(owner);
      return [found?.current, found?.previous?.secret].filter(
        (secret) => typeof secret === "string",
      );
    },
    async message({ url, ...options }) {
      const [messageId] = await insertMessages([url], options);
      return messageId as string;
    },
    move: (messageId, to) => moveAll([messageId], to),
    sent: (count, { url, ...options }) =>
      sentTo(
        Array.from({ length: count }, () => url),
        options,
      ),
    sentTo,
    async hurry(count) {
      await until(
        `${count} deliveries wait`,
        sql`
        select count(*) = ${count} as holds from webhook_deliveries
         where leased_until is null and next_at > clock_timestamp()`,
      );
      await db.query(sql`
        update webhook_deliveries set next_at = clock_timestamp()
         where leased_until is null and next_at > clock_timestamp()`);
    },
    async expireLeases() {
      await db.query(sql`
        update webhook_deliveries set leased_until = clock_timestamp(), next_at = clock_timestamp()
         where leased_until is not null`);
    },
    left: (count) =>
      until(
        `${count} deliveries are left`,
        sql`
        select count(*) = ${count} as holds from webhook_deliveries`,
      ),
    until,
    attempts: (messageId) =>
      db.query<AttemptEntry>(sql`
        select message_id, sequence, attempt, step, http_status, error_class, ended, replay_id
          from webhook_attempts
         where ${messageId ?? null}::uuid is null or message_id = ${messageId ?? null}::uuid
         order by message_id, sequence, attempt, at`),
    async [Symbol.asyncDispose]() {
      for (const started of workers) await started[Symbol.asyncDispose]();
      if (given.db === undefined) await db[Symbol.asyncDispose]();
    },
  };
}

/** The lane of an account and a URL, as a query parameter. */
export function laneOf(accountId: string, url: string): string {
  return hostKeyOf(accountId, url).toString();
}
