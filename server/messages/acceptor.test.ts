import assert from "node:assert/strict";
import { test } from "node:test";
import {
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
import { type Accepted, acceptor } from "./acceptor.ts";
import type { MessageRow } from "./message-row.ts";
import { findMessagesOf } from "./read.ts";

test("a connection with the pid of the one that broke, and begun at another time, is not ended", async () => {
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

test("where settling fails the outcome is unknown, and the place that was kept is free again", async () => {
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

/** One message; the first statements are answered so, the others by the database. */
async function acceptOnce(
  { db, accountId, send }: TestApi,
  answers: (() => Promise<never>)[],
  kept = new Set<MessageRow>(),
): Promise<Accepted> {
  const sent = await send({ recipient: "4915112345678", text: "Hello" });
  const { messageId } = sent.json() as { messageId: string };
  const rows = await findMessagesOf(db, [{ account_id: accountId, message_id: messageId }]);
  const message = rows.get(messageId) ?? assert.fail("the message is not there");
  const id = newId(systemClock.now().getTime());
  const scripted: Database = {
    ...db,
    query: (statement) => answers.shift()?.() ?? db.query(statement),
  };
  const accept = acceptor({
    db: scripted,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    settings: { nodeId: id, sends: 1, sendsBurst: 1 },
    intake: {
      reserve: (each) => kept.add(each).has(each),
      take: (each) => kept.delete(each),
      release: (each) => kept.delete(each),
    },
  });
  return accept({
    accountId,
    keyId: null,
    routingVersion: 0,
    idempotencyKey: null,
    fingerprint: null,
    messages: [{ ...message, message_id: id }],
  });
}
