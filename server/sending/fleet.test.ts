import assert from "node:assert/strict";
import { test } from "node:test";
import { randomBytes } from "node:crypto";
import { notStarted, startSmsc } from "#carriers";
import {
  createMetrics,
  type Database,
  DatabaseUnavailable,
  LEASE_MS,
  type Log,
  newId,
  secretBox,
  silentLog,
  type Sql,
  sql,
  systemClock,
} from "#platform";
import { findQueuedFor, type MessageRow, setRoute } from "#messages";
import { startApi } from "../../test/support/api.ts";
import { eventually } from "../../test/support/eventually.ts";
import { makeCarrier } from "../../test/support/make-carrier.ts";
import { manualClock } from "../../test/support/manual-clock.ts";
import { heldMessage, queuedMessage, unheard } from "../../test/support/messages.ts";
import { testDatabase } from "../../test/support/postgres.ts";
import { quiet, until } from "../../test/support/until.ts";
import { command } from "../carriers/smpp/codec/header.ts";
import { FRESH_MS } from "./carrier-run.ts";
import { readCarrierStates, reportStates } from "./carrier-states.ts";
import { changeCarrier, listCarriers, removeCarrier } from "./carriers-table.ts";
import { carrierFleet } from "./fleet.ts";
import { untilHeldBack } from "./held-back.ts";
import { HEARTBEAT_MS } from "./nodes.ts";

const secrets = secretBox(randomBytes(32));

test("a dead node's work resumes within 30 s: its lease ends, the others notice, and bind", () => {
  const noticeMs = HEARTBEAT_MS + 1_000;
  const bindMs = 1_000;
  assert.ok(LEASE_MS + noticeMs + bindMs <= 30_000);
  assert.ok(FRESH_MS + 5_000 < LEASE_MS, "and one that is only cut off has let go before");
});

test("a failed look for owed receipts does not keep a node from starting, and is repeated", async () => {
  await using database = await testDatabase();
  let looks = 0;
  const db = watched(database, (statement) => {
    if (statement.includes("receipts is null") && ++looks === 1) throw new Error("cut off");
  });
  await using node = nodeOn(db);

  await node.start();
  await assert.rejects(node.recall(), /cut off/);
  for (const _again of [1, 2, 3]) await node.recall();

  assert.equal(looks, 3, "once in vain, and twice: the last ones were too young at first");
});

test("receipts that waited their time are given up and counted even if the look for too many fails", async () => {
  await using database = await testDatabase();
  await database.query(sql`
    insert into parked_receipts (parked_id, carrier_id, match_ids, receipt, at)
    select id_floor(at), gen_random_uuid(), '{x}', '{}', at
      from (select now() - interval '8 days' as at) as t`);
  const db = watched(database, (statement) => {
    if (/parked_receipts.* offset /.test(statement)) throw new Error("it took too long");
  });
  await using node = nodeOn(db);

  await node.forget();

  const told = await node.metrics.registry.metrics();
  assert.match(told, /^posthorn_receipts_unmatched_total 1$/m);
  await assert.rejects(node.limitReceipts(), /it took too long/);
});

test("a carrier that cannot be started is reported down, with the reason", async () => {
  await using db = await testDatabase();
  const carrierId = await makeCarrier(db, { settings: { rate: "many" }, secrets });
  await using node = nodeOn(db);

  await node.look();
  await node.report();

  const told = (await readCarrierStates(db, await listCarriers(db))).get(carrierId);
  assert.partialDeepStrictEqual(told, { state: "down" });
  assert.match(told?.problems.join() ?? "", /^Its settings are wrong: rate [^.]*$/);
  assert.match(await node.metrics.registry.metrics(), /^posthorn_carrier_up\{carrier="c1"\} 0$/m);
});

test("pausing a carrier while a node starts waits for that node too", async () => {
  await using database = await testDatabase();
  const carrierId = await makeCarrier(database, { secrets });
  const missing: number[] = [];
  const db: Database = {
    ...database,
    async query<Row extends object>(statement: Sql) {
      const rows = await database.query<Row>(statement);
      if (missing.length === 0 && statement.text.includes("from carriers where removed_at")) {
        const by = { actor: "test", now: systemClock.now() };
        await changeCarrier(database, { carrierId, paused: true, secrets, ...by });
        missing.push(await untilHeldBack(database, carrierId, { clock: systemClock, limitMs: 0 }));
      }
      return rows;
    },
  };
  await using node = nodeOn(db);

  await node.start();

  assert.deepEqual(missing, [1]);
});

test("a node cut off for so long that a pause does not wait for it takes nothing up before its next look", async () => {
  await using db = await testDatabase();
  const by = { actor: "test", now: systemClock.now() };
  const [simulator] = await listCarriers(db);
  const carrierId = simulator?.carrier_id ?? assert.fail("there is no simulator");
  const message = { carrier_id: carrierId, segments: 1 } as MessageRow;
  await using node = nodeOn(db);
  const takesUp = async () => {
    node.clock.advance(500);
    const isKept = node.intake.reserve(message);
    node.intake.release(message);
    return isKept;
  };
  await node.look();
  await eventually("it takes up what comes", takesUp);

  node.clock.advance(FRESH_MS);
  await db.query(sql`update nodes set heard_at = heard_at - interval '1 minute'`);
  await changeCarrier(db, { carrierId, paused: true, secrets, ...by });
  const missing = await untilHeldBack(db, carrierId, { clock: systemClock, limitMs: 0 });
  const isTakenBefore = await takesUp();
  await changeCarrier(db, { carrierId, paused: false, secrets, ...by });
  await node.look();

  assert.deepEqual([missing, isTakenBefore], [0, false]);
  await eventually("it takes up what comes again", takesUp);
});

test("a carrier whose settings were corrected is started, and the reason is no longer reported", async () => {
  await using db = await testDatabase();
  const carrierId = await makeCarrier(db, { settings: { rate: "many" }, secrets });
  await using node = nodeOn(db);
  await node.look();

  const settings = { host: "127.0.0.1", port: 1, system_id: "test" };
  const by = { actor: "test", now: systemClock.now() };
  await changeCarrier(db, { carrierId, settings, secrets, ...by });
  await node.look();
  await node.report();

  const told = (await readCarrierStates(db, await listCarriers(db))).get(carrierId);
  assert.doesNotMatch(told?.problems.join() ?? "", /settings are wrong/);
});

test("messages for a paused carrier keep waiting for it, even if it cannot be started", async () => {
  await using api = await startApi();
  const { db } = api;
  const broken = await makeCarrier(db, { settings: { rate: "many" }, secrets });
  const elsewhere = await makeCarrier(db, { name: "c2", secrets });
  const lastHour = { since: null, refusals: {}, lateReceipts: 0 };
  const state = { ...notStarted, takesMessages: true, lastHour };
  const by = { actor: "test", now: systemClock.now() };
  await reportStates(db, newId(by.now.getTime()), [{ carrierId: elsewhere, state }]);
  await setRoute(db, { prefix: "", carrierIds: [broken, elsewhere] }, by);
  const { message_id: messageId } = await queuedMessage(api);
  await using node = nodeOn(db);
  const waitsFor = async (paused: boolean) => {
    await changeCarrier(db, { carrierId: broken, paused, secrets, ...by });
    await node.look();
    await node.reroute();
    node.clock.advance(5_000);
    await node.reroute();
    return (await findQueuedFor(db, [messageId])).get(messageId);
  };

  assert.deepEqual([await waitsFor(true), await waitsFor(false)], [broken, elsewhere]);
});

test("a carrier whose password was changed is bound again with the new one", async () => {
  await using db = await testDatabase();
  const passwords: string[] = [];
  const smsc = await startSmsc({
    bind({ password }) {
      passwords.push(password);
      return 0;
    },
  });
  const carrierId = await makeCarrier(db, { settings: { port: smsc.port }, secrets });
  await using node = nodeOn(db);
  await node.look();
  await smsc.bound(1);

  const by = { actor: "test", now: systemClock.now() };
  await changeCarrier(db, { carrierId, password: "another", secrets, ...by });
  await eventually("it is bound anew", async () => {
    await node.look();
    return passwords.length > 1;
  });

  assert.deepEqual(passwords, ["secret", "another"]);
  await smsc.stop();
});

test("a node that holds no bind of a carrier says nothing about its state", async () => {
  await using db = await testDatabase();
  const carrierId = await makeCarrier(db, { secrets });
  const lastHour = { since: null, refusals: {}, lateReceipts: 0 };
  const speed = { submitsPerSecond: 0, receiptsPerSecond: 0, responseMs: null };
  const since = systemClock.now();
  const link = { ...speed, since, windowInUse: 0, enquireLinkAt: null, problem: null };
  const links = [{ ...link, bind: "transceiver", state: "bound" } as const];
  const idle = { ...notStarted, lastHour };

  for (const state of [idle, { ...idle, state: "up", links } as const])
    await reportStates(db, newId(since.getTime()), [{ carrierId, state }]);

  const told = (await readCarrierStates(db, await listCarriers(db))).get(carrierId);
  assert.equal(told?.state, "up");
});

test("a carrier is seen as its nodes together reported it lately, and as unknown if none did", async () => {
  await using db = await testDatabase();
  const carrierId = await makeCarrier(db, { secrets });
  const read = async () => (await readCarrierStates(db, await listCarriers(db))).get(carrierId);
  const times = ["2026-11-15T09:00:00.000Z", "2026-11-15T09:30:00.000Z"];
  for (const [n, since] of times.entries()) {
    const lastHour = { since, refusals: { "0x45": n + 1 }, lateReceipts: 1 };
    const state = n === 0 ? ({ state: "up" } as const) : { problem: "its settings are wrong" };
    const told = { ...notStarted, ...state, links: [], lastHour };
    await reportStates(db, newId(n), [{ carrierId, state: { problem: "none", ...told } }]);
  }

  const together = await read();
  await db.query(sql`update carrier_states set at = at - interval '11 s'`);
  const later = await read();

  const lastHour = { since: times[1], refusals: { "0x45": 3 }, lateReceipts: 2 };
  assert.partialDeepStrictEqual(together, { state: "degraded", lastHour });
  assert.partialDeepStrictEqual(later, { state: "unknown", lastHour: { refusals: {} } });
  assert.equal(later?.seenAt, null);
});

test("a pause waits for each node to report it, whatever they reported of an earlier one", async () => {
  await using db = await testDatabase();
  const carrierId = await makeCarrier(db, { secrets });
  const node = nodeOn(db);
  await node.start();
  const missing = async () =>
    await untilHeldBack(db, carrierId, { clock: systemClock, limitMs: 0 });
  const pause = (paused: boolean) =>
    changeCarrier(db, { carrierId, paused, secrets, actor: "test", now: systemClock.now() });

  await pause(true);
  const seen = [await missing()];
  await node.look();
  await node.report();
  seen.push(await missing());
  for (const paused of [false, true]) await pause(paused);
  seen.push(await missing());

  assert.deepEqual(seen, [1, 0, 1]);
  await node.stop();
});

test("a carrier is called paused only once no node takes up a message for it, and pausing before", async () => {
  await using db = await testDatabase();
  const [simulator] = await listCarriers(db);
  const carrierId = simulator?.carrier_id ?? assert.fail("there is no simulator");
  const message = { carrier_id: carrierId, segments: 1 } as MessageRow;
  await using first = nodeOn(db);
  await using second = nodeOn(db);
  const takesUp = ({ intake }: typeof first) => {
    const isTaken = intake.reserve(message);
    intake.release(message);
    return isTaken;
  };
  const shown = async () =>
    (await readCarrierStates(db, await listCarriers(db))).get(carrierId)?.state;
  for (const node of [first, second]) {
    await node.start();
    await eventually("it takes up what comes", async () => {
      node.clock.advance(500);
      return takesUp(node);
    });
  }
  const pause = (paused: boolean) =>
    changeCarrier(db, { carrierId, paused, secrets, actor: "test", now: systemClock.now() });
  const seen: unknown[] = [];

  await pause(true);
  seen.push([await shown(), takesUp(first), takesUp(second)]);
  for (const node of [first, second]) {
    await node.look();
    await node.report();
    seen.push([await shown(), takesUp(first), takesUp(second)]);
  }
  for (const paused of [false, true]) await pause(paused);
  seen.push([await shown()]);

  assert.deepEqual(seen, [
    ["pausing", true, true],
    ["pausing", false, true],
    ["paused", false, false],
    ["pausing"],
  ]);
});

test("a problem that only one bind of a pair has names that bind", async () => {
  await using db = await testDatabase();
  const carrierId = await makeCarrier(db, { secrets });
  const lastHour = { since: null, refusals: {}, lateReceipts: 0 };
  const speed = { submitsPerSecond: 0, receiptsPerSecond: 0, responseMs: null };
  const since = systemClock.now();
  const link = { ...speed, since, windowInUse: 0, enquireLinkAt: null };
  const nodeId = newId(since.getTime());
  const told = async (ofTransmitter: string | null, ofReceiver: string | null) => {
    const links = [
      { ...link, bind: "transmitter", state: "binding", problem: ofTransmitter },
      { ...link, bind: "receiver", state: "binding", problem: ofReceiver },
    ] as const;
    const state = { ...notStarted, lastHour, links: [...links] };
    await reportStates(db, nodeId, [{ carrierId, state }]);
    return (await readCarrierStates(db, await listCarriers(db))).get(carrierId)?.problems;
  };

  assert.deepEqual(await told(null, "refused"), ["receiver: refused"]);
  assert.deepEqual(await told("lost", "refused"), ["transmitter: lost", "receiver: refused"]);
  assert.deepEqual(await told("lost", "lost"), ["lost"]);
});

test("a lease of binds that could not be taken is asked for again at the next look", async () => {
  await using database = await testDatabase();
  let asked = 0;
  const db = watched(database, (statement) => {
    if (statement.includes("insert into bind_leases") && ++asked === 1) throw new Error("cut off");
  });
  await makeCarrier(database, { secrets });
  await using node = nodeOn(db);

  await assert.rejects(node.look(), /cut off/);
  await node.look();

  assert.equal(asked, 2);
});

test("the lease of a message that a removed carrier has in hand is renewed until it is answered", async () => {
  await using api = await startApi();
  const { db } = api;
  const smsc = await startSmsc({ answer: "never" });
  const carrierId = await makeCarrier(db, { settings: { port: smsc.port }, secrets });
  const node = nodeOn(db);
  await node.start();
  await smsc.bound(1);
  const message = { ...(await heldMessage(api, node.nodeId)), carrier_id: carrierId };
  await eventually("it has a place", async () => {
    node.clock.advance(500);
    return node.intake.reserve(message);
  });
  node.intake.take(message);
  await smsc.submitArrived();

  await removeCarrier(db, { carrierId, actor: "test", now: systemClock.now() });
  await node.look();
  await db.query(sql`update send_queue set due_at = clock_timestamp()`);
  await node.renew();

  const [renewed] = await db.query(sql`
    select leased_by, due_at > clock_timestamp() + interval '20 s' as "isLong" from send_queue`);
  assert.deepEqual(renewed, { leased_by: node.nodeId, isLong: true });
  await smsc.stop();
  let isStopped = false;
  const stopped = node.stop().then(() => (isStopped = true));
  await eventually("it stops", async () => {
    node.clock.advance(1_000);
    return isStopped;
  });
  await stopped;
});

test("a bind passes to another node once its link has ended, and not before", async () => {
  await using world = await twoBinds();
  const { first, second, smsc } = world;
  smsc.pauseReading();

  await inTurn(second, first, second);
  assert.deepEqual(await world.leases(), [first.nodeId, first.nodeId]);

  smsc.resumeReading();
  await until("the link has ended", () => smsc.openConnections() === 1);
  await inTurn(first, second);
  assert.deepEqual(await world.leases(), [first.nodeId, second.nodeId]);
  await smsc.bound(2);
});

test("while a link is ending no other is opened in its place, even if this node gets the bind back", async () => {
  await using world = await twoBinds();
  const { first, second, smsc } = world;
  smsc.pauseReading();
  await inTurn(second, first);

  await second.stop();
  await inTurn(first);
  const whileEnding = smsc.connectionCount();
  smsc.resumeReading();
  await until("the link has ended", () => smsc.openConnections() === 1);
  await inTurn(first);
  await smsc.bound(2);

  assert.deepEqual([whileEnding, smsc.connectionCount()], [2, 3]);
});

test("a node cut off from the database closes its binds before others may take them, then gets its share back", async () => {
  await using world = await twoBinds();
  const { first, second, smsc } = world;
  await inTurn(second, first);
  await until("the link has ended", () => smsc.openConnections() === 1);
  await inTurn(first, second);
  await smsc.bound(2);

  first.cutOff(true);
  await assert.rejects(inTurn(first), DatabaseUnavailable);
  await first.watchLeases();
  const early = smsc.openConnections();
  first.clock.advance(FRESH_MS);
  await first.watchLeases();
  await until("only the other's is open", () => smsc.openConnections() === 1);
  first.cutOff(false);
  await inTurn(first);
  await smsc.bound(2);

  assert.equal(early, 2);
});

test("a node that is alone keeps its binds while the database is away", async () => {
  await using world = await twoBinds();
  const { first, smsc } = world;

  first.cutOff(true);
  first.clock.advance(FRESH_MS + 1);
  await first.watchLeases();
  await quiet();

  assert.equal(smsc.pduCount(command.unbind), 0);
});

test("after an outage for all, the first node to return leaves the others' binds to them", async () => {
  await using world = await twoBinds();
  const { first, second, smsc } = world;
  await inTurn(second, first);
  await until("the link has ended", () => smsc.openConnections() === 1);
  await inTurn(first, second);

  await world.outlast();
  first.clock.advance(40_000);
  await first.look();

  assert.deepEqual(await world.leases(), [first.nodeId, second.nodeId]);
});

/** Each node in turn passes its next heartbeat. */
async function inTurn(...nodes: ReturnType<typeof nodeOn>[]): Promise<void> {
  for (const { clock, look } of nodes) {
    clock.advance(HEARTBEAT_MS);
    await look();
  }
}

/** A carrier with two binds, both held by the first of two nodes; the second is not heard yet. */
async function twoBinds() {
  const db = await testDatabase();
  const smsc = await startSmsc();
  const settings = { port: smsc.port, binds: 2, unbind_timeout: "60s" };
  await makeCarrier(db, { settings, secrets });
  const [first, second] = [nodeOn(db), nodeOn(db)];
  await first.look();
  await smsc.bound(2);
  return {
    first,
    second,
    smsc,
    /** Acts as if the database had been away for longer than any lease. */
    async outlast(): Promise<void> {
      await db.query(sql`update nodes set heard_at = heard_at - interval '1 minute'`);
      await db.query(sql`update bind_leases set leased_until = clock_timestamp()`);
    },
    /** Which node may open which bind, by slot. */
    async leases(): Promise<string[]> {
      const rows = await db.query<{ node_id: string }>(sql`
        select node_id from bind_leases order by slot`);
      return rows.map(({ node_id }) => node_id);
    },
    async [Symbol.asyncDispose]() {
      await smsc.stop();
      for (const { stop } of [first, second]) await stop();
      await db[Symbol.asyncDispose]();
    },
  };
}

/** A database that reports every statement before it is sent. */
function watched(database: Database, onStatement: (text: string) => void): Database {
  return {
    ...database,
    async query(statement) {
      onStatement(JSON.stringify(statement));
      return await database.query(statement);
    },
  };
}

/** A node whose loops run only when called, with a clock that the test advances. */
function nodeOn(database: Database, { log = silentLog }: { log?: Log } = {}) {
  let isCutOff = false;
  const db = watched(database, () => {
    if (isCutOff) throw new DatabaseUnavailable("cut off");
  });
  const clock = manualClock();
  const startedAt = systemClock.now();
  const nodeId = newId(startedAt.getTime());
  const node = { nodeId, roles: ["sender"], host: "test", pid: 1, version: "0", startedAt };
  const metrics = createMetrics();
  const listener = unheard;
  const fleet = carrierFleet({ db, recordDb: db, clock, log, metrics, secrets, node, listener });
  const pass = async (name: string) => {
    const { signal } = new AbortController();
    await fleet.loops.find((loop) => loop.name === name)?.pass(signal);
  };
  return {
    nodeId,
    clock,
    cutOff: (isSo: boolean) => void (isCutOff = isSo),
    metrics,
    intake: fleet.intake,
    start: () => fleet.start(),
    look: () => pass("keep carriers in step"),
    recall: () => pass("recall receipts"),
    reroute: () => pass("reroute around carriers that are away"),
    report: () => pass("report carriers"),
    renew: () => pass("renew leases"),
    forget: () => pass("forget old nodes and receipts"),
    limitReceipts: () => pass("give up the oldest of too many receipts"),
    watchLeases: () => pass("close binds whose leases end"),
    stop: () => fleet.stop(),
    [Symbol.asyncDispose]: () => fleet.stop(),
  };
}
