import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../../test/support/postgres.ts";
import { startTcpProxy } from "../../test/support/tcp-proxy.ts";
import { openDatabase } from "./database.ts";
import { silentLog } from "./log.ts";
import { sql } from "./sql.ts";

/** The first octet of what takes leave of a PostgreSQL server. */
const TERMINATE = "X".charCodeAt(0);

test("a database that is closed has left the server, which can then stop in peace", async () => {
  await using server = await testDatabase();
  const url = new URL(server.url);
  await using proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  const db = openDatabase({ url: url.href, log: silentLog, maxConnections: 1 });
  await db.query(sql`select 1`);
  let hasLeft = false;
  void proxy.clientSent(([first]) => first === TERMINATE).then(() => (hasLeft = true));

  await db.close();

  assert.equal(hasLeft, true);
});
