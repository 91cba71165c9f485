import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "#platform";
import { consoleOfFile } from "../support/console.ts";
import { sameDay } from "../support/same-day.ts";

type Entry = {
  kind: string;
  amount: number;
  balanceAfter: number;
  messageId: string | null;
  seq: number;
};

const shared = consoleOfFile();

test("balance, last row, sum of the ledger and the API agree, and a month's CSV sums to its change", async () => {
  await sameDay();
  const console = await shared.another();
  const operator = await console.member("owner", { isOperator: true });
  // Another account: none of its entries may show up in this one.
  await console.createAccount();
  const A = `/console/accounts/${console.accountId}`;
  const send = () => operator.post(`${A}/messages`, { recipient: "4915112345678", text: "Hello" });
  const { messageId } = (await send()).json();
  await send();
  await operator.post(`${A}/messages/${messageId}/cancel`);
  const { key } = (
    await operator.post(`${A}/keys`, { name: "x", scopes: ["messages:read"] })
  ).json();

  const { data } = (await operator.get(`${A}/ledger`)).json() as { data: Entry[] };
  const { balance, usedPerDay, daysLeft } = (await operator.get(`${A}/credits`)).json();
  const api = await console.app.inject({ url: "/v1/credits", headers: { "x-api-key": key } });

  assert.deepEqual(
    data.map(({ kind, amount }) => [kind, amount]),
    [
      ["refund", 1],
      ["charge", -1],
      ["charge", -1],
      ["topup", 1000],
    ],
  );
  assert.equal(balance, 999);
  assert.equal(data[0]?.balanceAfter, balance);
  assert.equal(
    data.reduce((sum, { amount }) => sum + amount, 0),
    balance,
  );
  assert.equal(api.json().balance, balance);
  assert.deepEqual([usedPerDay, daysLeft], [1, 999]);

  const month = new Date().toISOString().slice(0, 7);
  const csv = (await operator.get(`${A}/ledger.csv?month=${month}`)).body.trimEnd().split("\r\n");
  const amounts = csv.slice(1).map((line) => Number(line.split(",")[3]));
  assert.equal(
    amounts.reduce((sum, amount) => sum + amount, 0),
    balance,
  );
  const earlier = (await operator.get(`${A}/ledger.csv?month=2020-01`)).body
    .trimEnd()
    .split("\r\n");
  assert.equal(earlier.length, 1);
  assert.equal((await operator.get(`${A}/ledger.csv?month=2020-13`)).statusCode, 422);

  const only = async (query: string) =>
    ((await operator.get(`${A}/ledger?${query}`)).json().data as Entry[]).map(({ kind }) => kind);
  assert.deepEqual(await only("kind=topup"), ["topup"]);
  assert.deepEqual(await only("kind=charge&kind=refund"), ["refund", "charge", "charge"]);
  assert.deepEqual(await only("kind=topup&kind=charge"), ["charge", "charge", "topup"]);
  assert.deepEqual(await only(`messageId=${messageId}`), ["refund", "charge"]);
  assert.deepEqual(await only(`month=${month}`), ["refund", "charge", "charge", "topup"]);
  assert.deepEqual(await only("month=2020-01"), []);
  const first = (await operator.get(`${A}/ledger?limit=3`)).json();
  const second = (await operator.get(`${A}/ledger?limit=3&cursor=${first.nextCursor}`)).json();
  const back = (await operator.get(`${A}/ledger?limit=3&cursor=${second.previousCursor}`)).json();
  for (const filter of ["kind=charge", `messageId=${messageId}`, `month=${month}`]) {
    const other = await operator.get(`${A}/ledger?limit=3&cursor=${first.nextCursor}&${filter}`);
    assert.equal(other.json().error?.code, "CURSOR_INVALID", filter);
  }
  assert.deepEqual([second.data.length, second.nextCursor], [1, null]);
  assert.deepEqual(back.data, first.data);
});

test("the pages of a ledger show every entry once, the newest first", async () => {
  const console = await shared.another();
  const owner = await console.member("owner");
  const A = `/console/accounts/${console.accountId}`;
  const message = { recipient: "4915112345678", text: "Hello" };
  await Promise.all(Array.from({ length: 20 }, () => owner.post(`${A}/messages`, message)));

  const shown: number[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const path = `${A}/ledger?limit=4${cursor && `&cursor=${cursor}`}`;
    const page = (await owner.get(path)).json() as { data: Entry[]; nextCursor: string | null };
    shown.push(...page.data.map(({ seq }) => seq));
    cursor = page.nextCursor;
    assert.ok(shown.length <= 21);
  }

  assert.deepEqual(
    shown,
    Array.from({ length: 21 }, (_, n) => 21 - n),
  );
});

test("monthly exports split the ledger without gap or overlap, even if the nodes' clocks differ", async (t) => {
  const console = await shared.another();
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;
  // Entries around the turn of a month, a few seconds out of order, as two nodes may write them.
  await console.db.query(sql`
    with times (n, at) as (
      values (1, '2026-10-31T23:59:50Z'::timestamptz), (2, '2026-11-01T00:00:02Z'), (3, '2026-10-31T23:59:58Z'),
             (4, '2026-11-01T00:00:05Z'), (5, '2026-11-30T12:00:00Z'), (6, '2026-12-01T00:00:00Z')
    ), booked as (
      insert into ledger (account_id, seq, kind, amount, balance_after, actor, note, created_at)
      select ${console.accountId}, 1 + n, 'topup', 10 * n, 1000 + 5 * n * (n + 1), 'cli', 'x', at from times
    )
    update accounts set balance = 1210, ledger_seq = 7 where account_id = ${console.accountId}`);
  await console.db.query(sql`alter table ledger disable trigger ledger_is_append_only`);
  t.after(() => console.db.query(sql`alter table ledger enable trigger ledger_is_append_only`));
  await console.db.query(
    sql`update ledger set created_at = '2026-10-01T00:00:00Z' where account_id = ${console.accountId} and seq = 1`,
  );
  const seqs = async (month: string) =>
    (await viewer.get(`${A}/ledger.csv?month=${month}`)).body
      .trimEnd()
      .split("\r\n")
      .slice(1)
      .map((line) => Number(line.split(",")[0]));

  const months = [await seqs("2026-10"), await seqs("2026-11"), await seqs("2026-12")];

  assert.deepEqual(months.flat(), [1, 2, 3, 4, 5, 6, 7]);
  assert.ok(months.every((month) => month.length > 0));
});

test("a top-up with the same reference books once; an adjustment below zero is refused and explained", async () => {
  const console = await shared.another();
  const operator = await console.member("viewer", { isOperator: true });
  const path = `/console/operator/accounts/${console.accountId}/credits`;
  const book = (kind: string, amount: number, reference: string) =>
    operator.post(path, { kind, amount, note: "Invoice 17", reference });

  assert.deepEqual((await book("topup", 50, "a")).json(), { outcome: "booked", balance: 1050 });
  assert.deepEqual((await book("topup", 50, "a")).json(), { outcome: "repeated", balance: 1050 });
  const below = await book("adjustment", -2_000, "b");
  assert.equal(below.statusCode, 422);
  assert.match(below.json().error.details[0].message, /1050.*below zero/);
  assert.equal((await book("topup", -5, "c")).statusCode, 422);
  assert.deepEqual((await book("adjustment", -50, "d")).json(), {
    outcome: "booked",
    balance: 1000,
  });
  const entries = (await operator.get(`/console/accounts/${console.accountId}/ledger`)).json().data;
  assert.partialDeepStrictEqual(entries[0], {
    kind: "adjustment",
    amount: -50,
    note: "Invoice 17",
    actor: { kind: "user", name: "viewer 1" },
  });
});
