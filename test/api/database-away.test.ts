import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client } from "pg";
import { lockAccounts } from "#accounts";
import { operations } from "#contract";
import { sql } from "#platform";
import { problemOf } from "../support/answers.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { limitedRole } from "../support/limited-role.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { type TestDatabase, testDatabase } from "../support/postgres.ts";
import { assertSound } from "../support/sound.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const message = { recipient: "4915112345678", text: "Hello" };
const withKey = (key: string) => ({ headers: { "idempotency-key": key } });

/** A service that reaches its database through a proxy; `db` bypasses it. */
async function startBehindProxy(): Promise<
  AsyncDisposable & { api: TestApi; db: TestDatabase; proxy: TcpProxy }
> {
  await using stack = new AsyncDisposableStack();
  const db = stack.use(await testDatabase());
  const url = new URL(db.url);
  const proxy = stack.use(await startTcpProxy({ host: url.hostname, port: Number(url.port) }));
  url.port = String(proxy.port);
  url.search = "";
  const api = stack.use(
    await startApi({ credits: 1_000, db: { ...db, url: url.href }, settings: MANY }),
  );
  assert.equal((await answered(() => api.send(message))).statusCode, 202);
  const all = stack.move();
  return { api, db, proxy, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const MANY = { RATE_LIMIT_SENDS_BURST: "100000", RATE_LIMIT_READS_BURST: "100000" };

async function storedCount(db: TestDatabase, reference: string): Promise<number> {
  return (await db.query(sql`select from messages where reference = ${reference}`)).length;
}

async function untilStored(db: TestDatabase, reference: string): Promise<void> {
  await eventually("it is stored", async () => (await storedCount(db, reference)) > 0);
}

type Answer = Awaited<ReturnType<TestApi["send"]>>;

/** On a busy machine, connecting may take longer than a request waits: 503 asks to retry. */
function answered(ask: () => Promise<Answer>): Promise<Answer> {
  return eventually("the service reaches its database", async () => {
    const answer = await ask();
    return answer.statusCode !== 503 && answer;
  });
}

/** Several run at once, because they spend most of their time waiting. */
describe("when the way to the database breaks", { concurrency: 4 }, () => {
  test("a commit whose answer was lost is found again: 202 with the remaining allowance, stored and charged once", async () => {
    await using setup = await startBehindProxy();
    const { api, db, proxy } = setup;
    await db.query(sql`update accounts set default_sender = 'House'`);
    proxy.withholdReplies();
    const [own, house] = [{ ...message, reference: "lost", sender: "Own" }, message];
    const sending = api.post("/v1/messages/batch", { messages: [own, house] });
    await untilStored(db, "lost");
    await proxy.replyWithheld();

    proxy.cut();
    proxy.release();
    const answer = await sending;

    assert.equal(answer.statusCode, 202, answer.body);
    const { data } = answer.json() as { data: { messageId: string; sender: string }[] };
    assert.deepEqual(
      data.map(({ sender }) => sender),
      ["Own", "House"],
    );
    const { RATE_LIMIT_SENDS_BURST: burst } = MANY;
    assert.ok(Number(answer.headers["ratelimit-remaining"]) > Number(burst) / 2, "what is left");
    for (const told of data) {
      const read = await api.get(`/v1/messages/${told.messageId}`);
      assert.deepEqual(read.json(), told);
    }
    assert.equal(await storedCount(db, "lost"), 1);
    await assertSound(db);
  });

  test("a batch of many requests is settled one by one: those that committed are 202", async () => {
    await using setup = await startBehindProxy();
    const { api, db, proxy } = setup;
    await db.query(sql`update accounts set default_sender = 'House'`);
    proxy.withholdReplies();
    const sending = Array.from({ length: 20 }, (_, n) =>
      api.send({ ...message, reference: `many ${n}`, ...(n % 2 ? { sender: "Own" } : {}) }),
    );
    await untilStored(db, "many 0");
    proxy.cut();
    proxy.release();

    for (const [n, answer] of (await Promise.all(sending)).entries()) {
      const count = await storedCount(db, `many ${n}`);
      if (answer.statusCode === 202) {
        assert.equal(count, 1);
        assert.equal(answer.json().sender, n % 2 ? "Own" : "House");
      } else {
        problemOf(answer, "UNAVAILABLE");
        assert.equal(count, 0);
      }
    }
    await assertSound(db);
  });

  test("an uncommitted statement is ended so that it never commits: 503, nothing stored", async () => {
    await using setup = await startBehindProxy();
    const { api, db, proxy } = setup;

    const answer = await held(db, async (tx) => {
      await tx.query(sql`select from accounts for update`);
      const sending = api.send({ ...message, reference: "never" });
      await somebodyWaits(db);
      proxy.cut();
      return await sending;
    });

    problemOf(answer, "UNAVAILABLE");
    const later = await answered(() => api.send(message));
    assert.equal(later.statusCode, 202, "the lock is free and so is the way");
    assert.equal(await storedCount(db, "never"), 0);
    await assertSound(db);
  });

  test("an outcome that cannot be determined is 500, and a retry with the same key reveals it", async () => {
    await using setup = await startBehindProxy();
    const { api, db, proxy } = setup;
    const body = { ...message, reference: "unknown" };
    proxy.withholdReplies();
    const sending = api.send(body, withKey("k"));
    await untilStored(db, "unknown");
    proxy.refuse(true);
    proxy.cut();

    const problem = problemOf(await sending, "INTERNAL");
    assert.match(problem.message, /same Idempotency-Key/);
    proxy.refuse(false);
    proxy.release();
    const again = await answered(() => api.send(body, withKey("k")));

    assert.equal(again.statusCode, 202);
    assert.equal(again.headers["idempotency-replayed"], "true");
    assert.equal(await storedCount(db, "unknown"), 1);
    await assertSound(db);
  });

  test("a cancel whose commit got no answer is 500, which does not claim that nothing was done", async () => {
    await using setup = await startBehindProxy();
    const { api, proxy } = setup;
    const { messageId } = (await answered(() => api.send(message))).json();
    const cancel = () => api.post(`/v1/messages/${messageId}/cancel`);
    const begun = proxy.clientSent((chunk) => chunk.includes("delete from send_queue"));
    // A first connection that takes too long is 503, and then nothing is begun.
    const canceling = answered(cancel);
    await begun;
    await proxy.clientSent((chunk) => chunk.includes("commit"));
    proxy.withholdReplies();
    await proxy.replyWithheld();

    proxy.cut();
    proxy.release();

    problemOf(await canceling, "INTERNAL");
    assert.equal((await answered(cancel)).json().error.code, "CANCELED");
  });

  test("a database that hangs without closing its connections does not block a request for ever", async () => {
    await using setup = await startBehindProxy();
    const { api, db, proxy } = setup;
    proxy.hold();

    const [read, sent] = await Promise.all([
      api.get("/v1/credits"),
      api.send({ ...message, reference: "silent" }, withKey("k")),
    ]);
    problemOf(read, "UNAVAILABLE");
    problemOf(sent, "INTERNAL");
    proxy.cut();
    proxy.release();

    const again = await answered(() => api.send({ ...message, reference: "silent" }, withKey("k")));
    assert.equal(again.statusCode, 202);
    assert.equal(await storedCount(db, "silent"), 1);
    await assertSound(db);
  });

  test("every operation answers 503 while the database is away, and works once it is back", async () => {
    await using setup = await startBehindProxy();
    const { api, proxy } = setup;
    const { messageId } = (await answered(() => api.send(message))).json();
    const calls = Object.values(operations).map(({ method, path }) => () => {
      const url = path.replace("{messageId}", messageId);
      const payload = path.endsWith("batch") ? { messages: [message] } : message;
      const headers = { "x-api-key": api.key };
      const body = method === "POST" ? { payload } : {};
      return api.inject({ method, url, headers, ...body });
    });
    proxy.refuse(true);
    proxy.cut();

    for (const call of calls) {
      const answer = await call();
      problemOf(answer, "UNAVAILABLE");
      assert.equal(answer.headers["retry-after"], "1");
    }
    const unready = await api.get("/readyz");
    assert.deepEqual([unready.statusCode, unready.headers["retry-after"]], [503, "1"]);
    assert.partialDeepStrictEqual(unready.json(), {
      status: "not ready",
      error: { code: "UNAVAILABLE" },
    });
    assert.equal((await api.get("/healthz")).statusCode, 200);
    proxy.refuse(false);

    for (const call of calls) {
      const answer = await answered(call);
      assert.ok(answer.statusCode < 300, answer.body);
    }
    assert.equal((await answered(() => api.get("/readyz"))).statusCode, 200);
  });

  test("a node whose database lacks a migration is not ready, and names the migration", async () => {
    await using api = await startApi();
    const ready = await answered(() => api.get("/readyz"));
    const [last] = await api.db.query<{ name: string }>(sql`
      delete from migrations where name = (select max(name) from migrations) returning name`);

    const unready = await api.get("/readyz");

    assert.deepEqual(ready.json(), { status: "ready", missing: [] });
    assert.equal(unready.statusCode, 503);
    assert.deepEqual(unready.json().missing, [`the database lacks ${last?.name}`]);
  });

  test("with no connections left on the server 503 is answered, and service resumes once there are some", async () => {
    await using db = await testDatabase();
    await using role = await limitedRole(db);
    await using api = await startApi({ db: { ...db, url: role.url } });
    await answered(() => api.send(message));
    // Closes open connections too, as they would keep serving.
    await role.allow(0);
    await assert.rejects(new Client({ connectionString: role.url }).connect(), { code: "53300" });

    const refused = await Promise.all([
      api.send({ ...message, reference: "none left" }),
      api.get("/v1/credits"),
    ]);
    for (const answer of refused) problemOf(answer, "UNAVAILABLE");
    await role.allow(-1);

    assert.equal((await answered(() => api.get("/v1/credits"))).statusCode, 200);
    assert.equal((await answered(() => api.send(message))).statusCode, 202);
    assert.equal(await storedCount(db, "none left"), 0);
    await assertSound(db);
  });

  test("a running node accepts a send even if others have taken every remaining connection", async () => {
    await using db = await testDatabase();
    await using role = await limitedRole(db);
    await using api = await startApi({ db: { ...db, url: role.url } });

    await role.limit(0);

    assert.equal((await api.send(message)).statusCode, 202);
  });

  test("under load with connections killed repeatedly, each 202 is stored once and no 503 is", async () => {
    await using setup = await startBehindProxy();
    const { api, db, proxy } = setup;
    proxy.delay(2);
    let isDone = false;
    const answers = new Map<string, number>();
    const load = Promise.all(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let n = 0; n < 12; n += 1) {
          const reference = `load ${lane} ${n}`;
          answers.set(reference, (await api.send({ ...message, reference })).statusCode);
        }
      }),
    ).then(() => (isDone = true));
    while (!isDone) {
      // One passes unharmed; the next is on its way when its connection ends.
      for (let n = 0; n < 2; n += 1)
        await Promise.race([load, proxy.clientSent((chunk) => chunk.includes("load "))]);
      await db.query(sql`
        select pg_terminate_backend(pid)
          from pg_stat_activity
         where datname = current_database() and application_name = 'posthorn accept'`);
    }
    await load;

    const stored = await db.query<{ reference: string }>(sql`
        select reference from messages where reference like 'load %' order by reference`);
    const accepted = [...answers].filter(([, status]) => status === 202).map(([name]) => name);
    assert.deepEqual(
      stored.map(({ reference }) => reference),
      accepted.toSorted(),
    );
    const others = [...answers.values()].filter((status) => status !== 202);
    assert.deepEqual([...new Set(others)], others.length === 0 ? [] : [503]);
    await assertSound(db);
  });

  test("a locked account answers 503, and the other accounts in the batch are accepted", async () => {
    await using api = await startApi({ credits: 1_000, settings: MANY });
    const neighbours = await Promise.all([1, 2, 3, 4].map(() => api.createAccount(10)));
    const keys = [api.key, ...neighbours.map(({ key }) => key)];
    const sendAll = () => Promise.all(keys.map((key) => api.send(message, { key })));
    for (const key of keys) await answered(() => api.send(message, { key }));

    const answers = await held(api.db, async (tx) => {
      await lockAccounts(tx, [api.accountId]);
      return sendAll();
    });

    const [locked, ...others] = answers;
    const [detail] = problemOf(locked as Answer, "UNAVAILABLE").details;
    assert.equal(detail?.message, "The database is too busy or full right now.");
    assert.deepEqual(
      others.map(({ statusCode }) => statusCode),
      [202, 202, 202, 202],
    );
    await assertSound(api.db);
  });
});
