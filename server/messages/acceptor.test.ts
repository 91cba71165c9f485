import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { lockAccounts } from "#accounts";
import {
  type Clock,
  createMetrics,
  type Database,
  DatabaseUnavailable,
  newId,
  openDatabase,
  silentLog,
  sql,
  systemClock,
} from "#platform";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { held } from "../../test/support/locks.ts";
import { queuedMessage } from "../../test/support/messages.ts";
import type { AcceptRequest } from "./accept.ts";
import { type Accepted, acceptor, type Intake } from "./acceptor.ts";
import { newMessageId } from "./message-id.ts";
import type { MessageRow } from "./message-row.ts";

test("a connection with the broken one's pid that began at another time is not ended", async () => {
  await using api = await startApi();
  const bystander = openDatabase({ url: api.db.url, log: silentLog, maxConnections: 1 });
  const readPid = async () => {
    const [row] = await bystander.query<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    return row?.pid ?? 0;
  };
  const pid = await readPid();
  const startedAt = "2026-01-01 00:00:00+00";
  const lost = Object.assign(new DatabaseUnavailable(), { unknownBackend: { pid, startedAt } });

  await assert.rejects(acceptOnce(api, [() => Promise.reject(lost)]), lost);

  assert.equal(await readPid(), pid);
  await bystander.close();
});

test("if settling fails the outcome is unknown, and the reserved place is free again", async () => {
  await using api = await startApi();
  const unknownBackend = { pid: 1, startedAt: "2026-01-01 00:00:00+00" };
  const lost = Object.assign(new DatabaseUnavailable(), { unknownBackend });
  const kept = new Set<MessageRow>();

  const accepted = await acceptOnce(
    api,
    [() => Promise.reject(lost), () => Promise.reject(new Error("permission denied"))],
    kept,
  );

  assert.deepEqual(accepted, { outcome: "unknown" });
  assert.equal(kept.size, 0);
});

test("locked accounts keep no other of their lane waiting, and rejoin it once they are free", async () => {
  await using api = await startApi();
  const busy = [api.accountId, await neighbourOf(api), await neighbourOf(api)];
  const other = await neighbourOf(api);
  const asked: string[][] = [];
  const accept = acceptorOn(impatient(api.db, asked));
  const request = await requestOf(api);
  const letGo = await holdAccounts(api.db, busy);
  let isAnswered = false;
  const acceptBusy = () =>
    busy.map((each) => accept(request(each)).finally(() => (isAnswered = true)));
  const waiting = acceptBusy();

  const first = await accept(request(other));
  waiting.push(...acceptBusy());
  const second = await accept(request(other));
  const wasAnswered = isAnswered;
  await letGo();
  const late = await Promise.all(waiting);

  const outcomes = [first, second, ...late].map(({ outcome }) => outcome);
  assert.deepEqual([wasAnswered, ...outcomes], [false, ...Array(8).fill("accepted")]);
  const together = asked.filter(({ length }) => length > 1);
  assert.equal(together.length, 1, "only the first time");
  await Promise.all([...acceptBusy(), accept(request(other))]);
  assert.equal(asked.at(-1)?.length, 4, "and when they are free");
});

test("the two lanes take turns, and one whose batch hangs holds up the other only for a moment", async () => {
  await using api = await startApi();
  const request = await requestOf(api);
  const neighbour = await neighbourOf(api);
  const others = [await strangerOf(api), await strangerOf(api)];
  const asked: string[][] = [];
  const hangs: Database = {
    ...api.db,
    query: ({ values }) => {
      asked.push(values.find((value) => Array.isArray(value)) as string[]);
      return new Promise(() => {});
    },
  };
  const clock = manualClock(systemClock.now());
  const accept = acceptorOn(hangs, undefined, clock);

  void accept(request(api.accountId));
  await nextTurn();
  for (const each of [neighbour, ...others]) void accept(request(each));
  await nextTurn();
  clock.advance(24);
  assert.deepEqual(asked, [[api.accountId]]);
  clock.advance(1);

  assert.deepEqual(asked, [[api.accountId], others]);
});

test("a lane begins while the batch of the other commits", async () => {
  await using api = await startApi();
  const request = await requestOf(api);
  const stranger = await strangerOf(api);
  // Commits of what costs two credits wait for whoever holds this lock.
  await api.db.query(sql`
    create function wait_to_commit() returns trigger language plpgsql set lock_timeout = 0 as $$
    begin
      perform pg_advisory_xact_lock(1);
      return null;
    end $$`);
  await api.db.query(sql`
    create constraint trigger slow after insert on ledger deferrable initially deferred
      for each row when (new.amount = -2) execute function wait_to_commit()`);
  const accept = acceptorOn(api.db, undefined, manualClock(systemClock.now()));
  const slow = request(api.accountId);
  const dear = { ...slow, messages: slow.messages.map((each) => ({ ...each, credits: 2 })) };
  const ended: string[] = [];
  const note = (name: string, accepted: Promise<Accepted>) =>
    accepted.then(({ outcome }) => ended.push(`${name} ${outcome}`));

  const { committing } = await held(api.db, async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(1)`);
    const slowly = note("slow", accept(dear));
    await nextTurn();
    void note("other", accept(request(stranger)));
    await eventually("the other is accepted", async () => ended.length > 0);
    return { committing: slowly };
  });
  await committing;

  assert.deepEqual(ended, ["other accepted", "slow accepted"]);
});

test("no more is kept waiting than fits into memory, whichever field is large", async () => {
  await using api = await startApi();
  const request = (await requestOf(api))(api.accountId);
  for (const field of ["text", "metadata", "callback_url", "reference"] as const) {
    const messages = request.messages.map((each) => ({ ...each, [field]: "a".repeat(100_000) }));
    const accept = acceptorOn({ ...api.db, query: () => new Promise(() => {}) });

    const calls = Array.from({ length: 200 }, () => accept({ ...request, messages }));
    const first = await Promise.race([...calls, nextTurn("all are kept")]);

    assert.deepEqual(first, { outcome: "queue_full" }, field);
  }
});

test("of simultaneous requests with one key, those after a refusal are judged in the same batch", async () => {
  await using api = await startApi({ credits: 2 });
  const asked: string[][] = [];
  const accept = acceptorOn(impatient(api.db, asked));
  const request = await requestOf(api);
  const priced = (credits: number) => {
    const { messages, ...rest } = request(api.accountId);
    const fingerprint = Buffer.from([credits]);
    const dear = messages.map((message) => ({ ...message, credits }));
    return { ...rest, idempotencyKey: "k", fingerprint, messages: dear };
  };

  const refused = await Promise.all(Array.from({ length: 20 }, () => accept(priced(7))));
  const askedFor = asked.length;
  const mixed = await Promise.all([7, 1, 1, 7].map((credits) => accept(priced(credits))));

  assert.deepEqual(
    new Set(refused.map(({ outcome }) => outcome)),
    new Set(["credits_insufficient"]),
  );
  assert.equal(askedFor, 1);
  assert.deepEqual(
    mixed.map(({ outcome }) => outcome),
    ["credits_insufficient", "accepted", "replayed", "key_reused"],
  );
});

test("if no account is locked, and the wait was for something else, each account is tried alone", async () => {
  await using api = await startApi();
  const accounts = [api.accountId, await neighbourOf(api)];
  const asked: string[][] = [];
  const db = impatient(api.db, asked);
  const waitsInVain: Database = {
    ...db,
    query: (statement) =>
      statement.text.includes("accept_messages") && asked.push([]) === 1
        ? db.query(sql`do $$ begin raise lock_not_available; end $$`)
        : db.query(statement),
  };
  const accept = acceptorOn(waitsInVain);
  const request = await requestOf(api);

  const accepted = await Promise.all(accounts.map((each) => accept(request(each))));

  assert.deepEqual(
    accepted.map(({ outcome }) => outcome),
    ["accepted", "accepted"],
  );
  assert.ok(asked.every(({ length }) => length < 2));
});

test("a key of another account, an unknown key and an unknown account send nothing", async () => {
  await using api = await startApi();
  const accept = acceptorOn(api.db);
  const request = await requestOf(api);
  const other = await api.createAccount();
  const nobody = newId(systemClock.now().getTime());

  const refused = await Promise.all(
    [
      { ...request(api.accountId), keyId: other.keyId },
      { ...request(api.accountId), keyId: nobody },
      request(nobody),
    ].map(accept),
  );

  const outcomes = refused.map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, Array(3).fill("key_revoked"));
});

/** An account in the same lane as the first one. */
function neighbourOf(api: TestApi): Promise<string> {
  return accountOf(api, (lane) => lane === laneOf(api.accountId));
}

/** An account in the other lane. */
function strangerOf(api: TestApi): Promise<string> {
  return accountOf(api, (lane) => lane !== laneOf(api.accountId));
}

async function accountOf(api: TestApi, isWanted: (lane: number) => boolean): Promise<string> {
  for (;;) {
    const { accountId } = await api.createAccount();
    if (isWanted(laneOf(accountId))) return accountId;
  }
}

function laneOf(accountId: string): number {
  return accountId.charCodeAt(accountId.length - 1) % 2;
}

/** Waits only briefly for the locks of several accounts, and notes each statement's accounts. */
function impatient(db: Database, asked: string[][]): Database {
  return {
    ...db,
    query: (statement) => {
      if (!statement.text.includes("accept_messages")) return db.query(statement);
      const accounts = statement.values.find((value) => Array.isArray(value)) as string[];
      const several = [...new Set(accounts)];
      asked.push(several);
      if (several.length === 1) return db.query(statement);
      return db.transaction(async (tx) => {
        await tx.query(sql`set local lock_timeout = '100ms'`);
        return tx.query(statement);
      });
    },
  };
}

/** Locks the accounts' rows. Call the returned function to release them. */
async function holdAccounts(db: Database, accountIds: string[]): Promise<() => Promise<void>> {
  const [isHeld, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = held(db, async (tx) => {
    await lockAccounts(tx, accountIds);
    isHeld.resolve();
    await end.promise;
  });
  await isHeld.promise;
  return () => {
    end.resolve();
    return holding;
  };
}

test("the sender hears of a message that has no place once it is stored, and not before", async () => {
  await using api = await startApi();
  const request = (await requestOf(api))(api.accountId);
  const found: Promise<object[]>[] = [];
  const accept = acceptorOn(api.db, {
    reserve: () => false,
    take: () => assert.fail("it has no place"),
    release: ({ message_id: id }) =>
      void found.push(api.db.query(sql`select from send_queue where message_id = ${id}`)),
  });

  const { outcome } = await accept(request);

  assert.equal(outcome, "accepted");
  assert.deepEqual((await Promise.all(found)).flat(), [{}]);
});

/** Makes requests for one message, by any account, as they would be drafted now. */
async function requestOf(api: TestApi): Promise<(accountId: string) => AcceptRequest> {
  const [routing] = await api.db.query<{ version: number }>(
    sql`select version from routing_version`,
  );
  const message = await queuedMessage(api);
  return (accountId) => ({
    accountId,
    keyId: null,
    routingVersion: routing?.version ?? assert.fail("there is no routing"),
    idempotencyKey: null,
    fingerprint: null,
    messages: [{ ...message, message_id: newMessageId(systemClock.now().getTime()) }],
  });
}

function acceptorOn(db: Database, intake?: Intake, clock: Clock = systemClock) {
  return acceptor({
    db,
    clock,
    log: silentLog,
    metrics: createMetrics(),
    settings: { nodeId: newId(systemClock.now().getTime()), sends: 100, sendsBurst: 100 },
    intake,
  });
}

/** Accepts one message. The first statements get `answers`, later ones reach the database. */
async function acceptOnce(
  api: TestApi,
  answers: (() => Promise<never>)[],
  kept = new Set<MessageRow>(),
): Promise<Accepted> {
  const request = await requestOf(api);
  const scripted: Database = {
    ...api.db,
    query: (statement) => answers.shift()?.() ?? api.db.query(statement),
  };
  const accept = acceptorOn(scripted, {
    reserve: (each) => kept.add(each).has(each),
    take: (each) => kept.delete(each),
    release: (each) => kept.delete(each),
  });
  return accept(request(api.accountId));
}
