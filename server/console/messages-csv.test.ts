import assert from "node:assert/strict";
import { once } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { type BrowseFilter, NO_MESSAGE_FILTER } from "#messages";
import { type Database, type Sql, sql } from "#platform";
import { startApi } from "../../test/support/api.ts";
import { messagesCsv } from "./messages-csv.ts";

const NOBODYS = { ...NO_MESSAGE_FILTER, sender: "zzz" };

test("an export goes on page by page: every match once, newest first, and nothing else", async () => {
  await using api = await startApi();
  const { db, accountId } = api;
  await db.query(sql`
    insert into messages (account_id, message_id, recipient, sender, text, encoding, segments, credits, status,
                          created_at, expires_at)
    select ${accountId}, (left(id_floor(now())::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, '4915112345678',
           case n % 2 when 0 then 'Shop' else 'Other' end, 'number ' || n, 'gsm7', 1, 1, 'SENT', now(), now()
      from generate_series(1, 5000) n`);

  const lines = await Array.fromAsync(
    messagesCsv(db, { accountId, role: "owner" }, { ...NO_MESSAGE_FILTER, sender: "Shop" }),
  );

  const texts = lines.flatMap((line) => /,(number \d+),/.exec(line)?.[1] ?? []);
  assert.deepEqual(
    texts,
    Array.from({ length: 2_500 }, (_, n) => `number ${5_000 - 2 * n}`),
  );
});

test("an export holds every match; without a match it looks no further once its reader has gone", async () => {
  await using api = await startApi();
  const { db, accountId } = api;
  await db.query(sql`
    insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status,
                          created_at, expires_at)
    select ${accountId}, (left(id_floor(now())::text, 24) || lpad(to_hex(n), 12, '0'))::uuid, '4915112345678',
           'x', 'gsm7', 1, 1, 'SENT', now(), now()
      from generate_series(1, 20000) n`);
  let statements = 0;
  let onStatement = () => {};
  const counted = {
    ...db,
    query(statement: Sql) {
      statements += 1;
      onStatement();
      return db.query(statement);
    },
  } as Database;
  const account = { accountId, role: "owner" } as const;
  const exported = (filter: BrowseFilter) => Readable.from(messagesCsv(counted, account, filter));

  const everything = await exported(NO_MESSAGE_FILTER).toArray();
  statements = 0;
  const lines = await exported(NOBODYS).toArray();
  const all = statements;
  statements = 0;
  const left = exported(NOBODYS).resume();
  onStatement = () => void left.destroy();
  await once(left, "close");

  assert.equal(everything.join("").split("\r\n").length, 20_002);
  assert.equal(lines.join("").split("\r\n").length, 2);
  assert.ok(statements < all / 2, `${statements} statements of ${all}`);
});
