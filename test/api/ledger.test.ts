import assert from "node:assert/strict";
import { after, test } from "node:test";
import { bookCredits } from "#credits";
import { sql } from "#platform";
import { startApi, type TestKey } from "../support/api.ts";

const api = await startApi();
after(() => api[Symbol.asyncDispose]());

const message = { recipient: "4915112345678", text: "Hello" };

function book(account: TestKey, kind: "topup" | "adjustment", amount: number, reference?: string) {
  const now = new Date();
  const { accountId } = account;
  return bookCredits(api.db, {
    accountId,
    kind,
    amount,
    note: "why",
    actor: "operator",
    now,
    ...(reference === undefined ? {} : { reference }),
  });
}

/** The entries, newest first. */
async function entries({ accountId }: TestKey): Promise<unknown[][]> {
  const rows = await api.db.query<Record<string, unknown>>(sql`
    select seq, kind, amount, balance_after, message_id, actor
      from ledger where account_id = ${accountId} order by seq desc`);
  return rows.map((row) => Object.values(row));
}

test("the ledger has one entry per change, each continuing from the last balance", async () => {
  const account = await api.createAccount(0);
  await book(account, "topup", 10);
  const { messageId } = (await api.send({ ...message, text: "a".repeat(161) }, account)).json();
  await api.post(`/v1/messages/${messageId}/cancel`, undefined, account);
  await book(account, "adjustment", -3);
  const messages = [{ ...message, text: "a".repeat(161) }, message];
  const { data } = (await api.post("/v1/messages/batch", { messages }, account)).json();

  assert.deepEqual(await entries(account), [
    [6, "charge", -1, 4, data[1].messageId, null],
    [5, "charge", -2, 5, data[0].messageId, null],
    [4, "adjustment", -3, 7, null, "operator"],
    [3, "refund", 2, 10, messageId, null],
    [2, "charge", -2, 8, messageId, null],
    [1, "topup", 10, 10, null, "operator"],
  ]);
});

test("the whole balance can be taken, and nothing takes it below zero", async () => {
  const account = await api.createAccount(5);

  assert.deepEqual(await book(account, "adjustment", -6), { outcome: "below_zero", balance: 5 });
  assert.deepEqual(await book(account, "adjustment", -5), { outcome: "booked", balance: 0 });
  await assert.rejects(
    api.db.query(sql`update accounts set balance = -1 where account_id = ${account.accountId}`),
    /balance_is_never_negative/,
  );

  assert.equal((await entries(account)).length, 2);
});

test("the same reference books once, even ten times at once", async () => {
  const account = await api.createAccount(0);

  const booked = await Promise.all(
    Array.from({ length: 10 }, () => book(account, "topup", 5, "invoice 1")),
  );

  assert.equal(booked.filter(({ outcome }) => outcome === "booked").length, 1);
  assert.equal(booked.filter(({ outcome }) => outcome === "repeated").length, 9);
  assert.deepEqual((await api.get("/v1/credits", account)).json(), { balance: 5 });
});

test("a reference already booked with another amount is refused, and nothing is booked", async () => {
  const account = await api.createAccount(0);
  await book(account, "topup", 5, "invoice 1");

  assert.deepEqual(await book(account, "topup", 6, "invoice 1"), {
    outcome: "reference_reused",
    balance: 5,
  });
  assert.deepEqual((await api.get("/v1/credits", account)).json(), { balance: 5 });
});

test("booking to an unknown account reports account_unknown", async () => {
  const account = await api.createAccount(0);
  const nobody = { ...account, accountId: "019a85c2-5b00-7abc-8def-0123456789a0" };

  assert.deepEqual((await book(nobody, "topup", 5)).outcome, "account_unknown");
  assert.deepEqual(
    (await book({ ...nobody, accountId: "x" }, "topup", 5)).outcome,
    "account_unknown",
  );
});

test("an entry can be neither changed nor removed, and a message neither charged nor refunded twice", async () => {
  const account = await api.createAccount(5);
  const { messageId } = (await api.send(message, account)).json();
  const again = (kind: string, amount: number) =>
    api.db.query(sql`
      insert into ledger (account_id, seq, message_id, kind, amount, balance_after, created_at)
      values (${account.accountId}, 99, ${messageId}, ${kind}, ${amount}, 1, now())`);

  await assert.rejects(api.db.query(sql`update ledger set amount = 0`), /append-only/);
  await assert.rejects(api.db.query(sql`delete from ledger`), /append-only/);
  await assert.rejects(again("charge", -1), /ledger_once_per_message/);
  await assert.rejects(again("charge", 1), /signs_fit_the_kind/);
  await assert.rejects(again("topup", 1), /charges_and_refunds_name_a_message/);
});

test("every manual booking is in the audit log with its actor, a refused one is not", async () => {
  const account = await api.createAccount(0);
  await book(account, "topup", 5, "invoice 7");
  await book(account, "topup", 5, "invoice 7");
  await book(account, "topup", 6, "invoice 7");
  await book(account, "adjustment", -6);

  const log = await api.db.query(sql`
    select actor, details->>'amount' as amount, details->>'reference' as reference
      from audit_log where account_id = ${account.accountId} and action = 'credits.booked'`);

  assert.deepEqual(log, [{ actor: "operator", amount: "5", reference: "invoice 7" }]);
});
