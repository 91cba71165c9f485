import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Database, type Sql, sql, systemClock } from "#platform";
import { startConsole, type TestAccount } from "../../test/support/console.ts";
import { eventually } from "../../test/support/eventually.ts";
import { somebodyWaits } from "../../test/support/locks.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { onePass } from "../../test/support/one-pass.ts";
import { streamHub } from "./stream-hub.ts";

const shared = await startConsole();
after(() => shared[Symbol.asyncDispose]());

test("a stream that opens while the others' permission is being checked is not ended", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const [first, second] = [await newSession(console), await newSession(console)];
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  const ended: string[] = [];
  const open = async (sessionId: string) =>
    (await hub.open({ userId: accountId, sessionId, accountId, role: "developer" }))({
      write: () => true,
      end: () => void ended.push(sessionId),
      onClose: () => undefined,
      lastEventId: undefined,
    });
  await open(first);

  const { pass } = await db.transaction(async (tx) => {
    await tx.query(sql`lock table memberships in access exclusive mode`);
    const asking = onePass(hub.loop);
    await somebodyWaits(db);
    await open(second);
    return { pass: asking };
  });
  await pass;

  assert.deepEqual(ended, []);
});

test("a stream ends if its reader's role has changed or they are no operator, whatever else they watch", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const sessionId = await newSession(console);
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  const ended: (string | null)[] = [];
  for (const watched of [
    { accountId, role: "developer" },
    { accountId, role: "owner" },
    { accountId: null, role: null },
  ] as const)
    (await hub.open({ userId: accountId, sessionId, ...watched }))({
      write: () => true,
      end: () => void ended.push(watched.role),
      onClose: () => undefined,
      lastEventId: undefined,
    });

  await onePass(hub.loop);

  assert.deepEqual(ended, ["owner", null]);
});

test("every stream ends when the server closes, and at once if it opens then", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  const ended: string[] = [];
  const watcher = { userId: accountId, sessionId: accountId, accountId };
  const answer = await hub.open({ ...watcher, role: "developer" });
  const open = (name: string) =>
    answer({
      write: () => true,
      end: () => void ended.push(name),
      onClose: () => undefined,
      lastEventId: undefined,
    });

  open("before");
  hub.close();
  open("after");

  assert.deepEqual(ended, ["before", "after"]);
});

test("a person has at most twenty streams, however many sessions", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  const leave: (() => void)[] = [];
  const open = async (userId: string, sessionId: string) =>
    (await hub.open({ userId, sessionId, accountId, role: "developer" }))({
      write: () => true,
      end: () => undefined,
      onClose: (left) => void leave.push(left),
      lastEventId: undefined,
    });

  for (let n = 0; n < 20; n += 1) await open("one", `session ${n}`);
  await assert.rejects(open("one", "the next"), { code: "RATE_LIMITED" });
  await open("another", "theirs");
  leave[0]?.();
  await open("one", "the next");
});

test("a reader who returns to an account that nobody watched in between is told to read everything", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const sessionId = await newSession(console);
  const hub = streamHub({ db, clock: systemClock, operatorNews: async () => [] });
  const told: string[] = [];
  await db.query(sql`
    insert into watched_changes (account_id, kind, ids) values (${accountId}, 'key', '{K}')`);
  await db.query(sql`
    insert into watched_accounts (account_id, since, until)
    values (${accountId}, now() - interval '1 hour', now() - interval '2 seconds')`);

  const watcher = { userId: accountId, sessionId, accountId, role: "developer" as const };
  (await hub.open(watcher))({
    write: (text) => told.push(...(text.match(/data: .+/g) ?? [])) >= 0,
    end: () => undefined,
    onClose: () => undefined,
    lastEventId: `1.${Date.now() - 1_000}`,
  });
  // This waits for the transactions that other tests have on the same server.
  while (told.length === 0) await onePass(hub.loop);

  assert.deepEqual(told, ['data: {"type":"all"}']);
});

test("every 15 s each stream sends a beat, as a comment and as an event that pages can hear", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const sessionId = await newSession(console);
  const clock = manualClock(new Date());
  const hub = streamHub({ db, clock, operatorNews: async () => [] });
  const written: string[] = [];
  const watcher = { userId: accountId, sessionId, accountId, role: "developer" as const };
  (await hub.open(watcher))({
    write: (text) => written.push(text) > 0,
    end: () => undefined,
    onClose: () => undefined,
    lastEventId: undefined,
  });
  const beats = async () => {
    await onePass(hub.loop);
    return written.filter((text) => text === ": beat\nevent: beat\ndata:\n\n").length;
  };

  clock.advance(14_999);
  assert.equal(await beats(), 0);
  clock.advance(1);
  assert.equal(await beats(), 1);
});

test("a reader who left silently is noticed at the next beat, even if there is nothing to tell", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const sessionId = await newSession(console);
  const clock = manualClock(new Date());
  const hub = streamHub({ db, clock, operatorNews: async () => [] });
  const watcher = { userId: accountId, sessionId, accountId, role: "developer" as const };
  let isEnded = false;
  (await hub.open(watcher))({
    write: (text) => !text.includes("beat"),
    end: () => void (isEnded = true),
    onClose: () => undefined,
    lastEventId: undefined,
  });

  clock.advance(15_000);
  await onePass(hub.loop);

  assert.ok(isEnded);
});

/** The session of somebody who signed in just now. */
async function newSession({ db, member }: TestAccount): Promise<string> {
  const { userId } = await member("developer");
  const [session] = await db.query<{ id: string }>(sql`
    select session_id as id from sessions where user_id = ${userId}`);
  return session?.id ?? "";
}

/** A hub with a clock of its own, whose streams record what they are told. */
async function quietHub(console: TestAccount, through: Database = console.db) {
  const { accountId } = console;
  const sessionId = await newSession(console);
  const clock = manualClock(new Date());
  const hub = streamHub({ db: through, clock, operatorNews: async () => [] });
  const watcher = { userId: accountId, sessionId, accountId, role: "developer" as const };
  const pass = () => onePass(hub.loop);
  return {
    clock,
    pass,
    /** This waits for the transactions that other tests have on the same server. */
    readsAll: (told: () => string[]) =>
      eventually("it is told to read all", async () => {
        await pass();
        return told().at(-1) === `id ${ALL}`;
      }),
    async open(lastEventId?: string) {
      const told: string[] = [];
      (await hub.open(watcher))({
        write: (text) => told.push(text) > 0,
        end: () => undefined,
        onClose: () => undefined,
        lastEventId,
      });
      /** What was told since the last call; an event that carries an id begins with `id`. */
      return () =>
        told
          .splice(0)
          .filter((text) => text.includes("data: {"))
          .map((text) => text.replace(/^id: \d+\.\d+\n/gm, "id ").trim());
    },
    /** A change of a key, which the stream reports by its id. */
    change: (tx: Pick<Database, "query">, id: string, ageSeconds = 0) =>
      tx.query(sql`
        insert into watched_changes (account_id, kind, ids, at)
        values (${accountId}, 'key', array[${id}], clock_timestamp() - make_interval(secs => ${ageSeconds}))`),
  };
}

const ALL = 'data: {"type":"all"}';
const key = (id: string) => `data: {"type":"key","id":"${id}"}`;

test("a long transaction does not hold up others' changes; its own are told when it ends, however old", async () => {
  const console = await shared.another();
  const { db } = console;
  const { clock, pass, open, change, readsAll } = await quietHub(console);
  const first = await open();
  await readsAll(first);

  const second = await db.transaction(async (tx) => {
    await change(tx, "slow", 3_600);
    await change(db, "quick");
    await pass();
    assert.deepEqual(first(), [`id ${key("quick")}`]);

    const late = await open();
    await change(db, "quicker");
    await pass();
    assert.deepEqual(first(), [`id ${key("quicker")}`]);
    // No event id: the stream may still have missed changes from before it opened.
    assert.deepEqual(late(), [key("quicker")]);
    clock.advance(5_000);
    await pass();
    assert.deepEqual([first(), late()], [[], [ALL]]);
    clock.advance(9_999);
    await pass();
    assert.deepEqual([first(), late()], [[], []], "each wait is twice the one before");
    clock.advance(1);
    await pass();
    assert.deepEqual([first(), late()], [[], [ALL]]);
    return late;
  });
  clock.advance(30_000);
  await pass();

  assert.deepEqual(first(), [`id ${key("slow")}`]);
  await readsAll(second);
});

test("who returns within 45 s is told only what they missed; after that, or with a place of elsewhere, to read all", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const { clock, pass, open, change, readsAll } = await quietHub(console);
  const first = await open();
  await readsAll(first);
  await db.query(sql`
    update watched_accounts set since = since - interval '1 hour' where account_id = ${accountId}`);
  const [here] = await db.query<{ xid: string }>(sql`
    select pg_snapshot_xmin(pg_current_snapshot())::text as xid`);
  const place = (xid = "", agoMs: number) => `${xid}.${clock.now().getTime() - agoMs}`;

  await change(db, "K");
  const back = await open(place(here?.xid, 44_999));
  const late = await open(place(here?.xid, 45_000));
  const elsewhere = await open(place("9".repeat(18), 0));
  await pass();
  assert.deepEqual(back(), [`id ${key("K")}`]);
  await change(db, "L");
  await pass();

  assert.deepEqual(back(), [`id ${key("L")}`]);
  for (const told of [late, elsewhere])
    await eventually("it is told to read all", async () => {
      await pass();
      return told().includes(`id ${ALL}`);
    });
});

test("a stream is not ready while a transaction is open that began before its watch was committed", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const [isAsked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  /** It begins after the watch and does not see it, as when a message is accepted just then. */
  const unaware = async () => {
    await db.transaction(async (tx) => {
      await tx.query(sql`set local idle_in_transaction_session_timeout = 0`);
      const seen = await tx.query(sql`select pg_current_xact_id(), is_watched(${accountId})`);
      assert.partialDeepStrictEqual(seen, [{ is_watched: false }]);
      isAsked.resolve();
      await mayEnd.promise;
    });
  };
  let ended: Promise<void> | undefined;
  const through: Database = {
    ...db,
    query: <Row extends object>(statement: Sql) =>
      db.transaction(async (tx) => {
        const rows = await tx.query<Row>(statement);
        ended ??= unaware();
        await Promise.race([isAsked.promise, ended]);
        return rows;
      }),
  };
  const { pass, open, readsAll } = await quietHub(console, through);
  const told = await open();

  await pass();
  const toldMeanwhile = told();
  mayEnd.resolve();
  await ended;

  assert.deepEqual(toldMeanwhile, []);
  await readsAll(told);
});

test("changes seen a minute ago are forgotten; a node that saw nothing for that long says to read all", async () => {
  const console = await shared.another();
  const { db, accountId } = console;
  const { clock, pass, open, change, readsAll } = await quietHub(console);
  const told = await open();
  await change(db, "old", 3_600);
  await change(db, "young");
  await readsAll(told);

  clock.advance(59_999);
  await pass();
  assert.deepEqual(told(), [`id ${ALL}`]);
  const kept = () =>
    db.query(sql`select ids from watched_changes where account_id = ${accountId} order by at`);
  assert.deepEqual(await kept(), [{ ids: ["old"] }, { ids: ["young"] }]);
  clock.advance(10_000);
  await pass();
  assert.deepEqual(told(), []);
  assert.deepEqual(await kept(), [{ ids: ["young"] }]);
});

test("after a crash of the database, which forgets its watchers, all are told to read anew", async () => {
  await using console = await startConsole();
  const { db } = console;
  let isAway = false;
  const shaky: Database = {
    ...db,
    query: (statement) => (isAway ? Promise.reject(new Error("away")) : db.query(statement)),
  };
  const { pass, open, change, readsAll } = await quietHub(console, shaky);
  const told = await open();
  await readsAll(told);

  isAway = true;
  await assert.rejects(pass(), /away/);
  await db.query(sql`truncate watched_accounts, watched_changes`);
  isAway = false;
  await readsAll(told);
  await change(db, "later");
  await pass();

  assert.deepEqual(told(), [`id ${key("later")}`]);
});

test("if the look for a returning reader fails, the others are still told of its changes", async () => {
  const console = await shared.another();
  const { db } = console;
  let isFailing = false;
  const shaky: Database = {
    ...db,
    query: (statement) =>
      isFailing && statement.text.includes("order by at")
        ? Promise.reject(new Error("away"))
        : db.query(statement),
  };
  const { pass, open, change, readsAll } = await quietHub(console, shaky);
  const first = await open();
  await readsAll(first);
  const [standing] = await db.query<{ id: string }>(sql`
    select pg_snapshot_xmin(pg_current_snapshot()) || '.' || ceil(extract(epoch from clock_timestamp()) * 1000) as id`);

  await change(db, "K");
  const back = await open(standing?.id);
  isFailing = true;
  await assert.rejects(pass(), /away/);
  isFailing = false;
  await pass();

  assert.deepEqual(first(), [`id ${key("K")}`]);
  await readsAll(back);
});
