import assert from "node:assert/strict";
import { test } from "node:test";
import { bookCredits } from "#credits";
import { sql } from "#platform";
import { audit } from "../../server/cli/audit/audit.ts";
import { problemOf } from "../support/answers.ts";
import { type TestKey, twoNodes } from "../support/api.ts";

const settings = {
  RATE_LIMIT_SENDS: "1000000",
  RATE_LIMIT_SENDS_BURST: "1000000",
  RATE_LIMIT_READS_BURST: "1000000",
};
const [one, two] = await twoNodes(settings);

const message = { recipient: "4915112345678", text: "Hello" };
const node = (n: number) => (n % 2 === 0 ? one : two);
const times = <Result>(count: number, run: (n: number) => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, (_, n) => run(n)));

async function balanceOf(account: TestKey): Promise<number> {
  return (await one.get("/v1/credits", account)).json().balance;
}

async function topUp({ accountId }: TestKey, amount: number): Promise<void> {
  const now = new Date();
  await bookCredits(one.db, { accountId, kind: "topup", amount, note: "t", actor: "test", now });
}

/** Checks ledger, balances, messages, refunds and events by every rule of the audit. */
async function assertBooksAgree(): Promise<void> {
  assert.deepEqual((await audit(one.db, { isDrained: false })).violations, []);
}

test("the balance is the sum of the ledger, from the first top-up on", async () => {
  const account = await one.createAccount(0);
  assert.equal(await balanceOf(account), 0);
  await topUp(account, 10);
  await one.send(message, account);

  assert.equal(await balanceOf(account), 9);
  await assertBooksAgree();
});

test("an answer to GET /v1/credits has a balance and nothing else", async () => {
  assert.deepEqual((await one.get("/v1/credits", await one.createAccount(7))).json(), {
    balance: 7,
  });
});

test("500 sends at once on two nodes with credits for 100: exactly 100 are accepted", async () => {
  const account = await one.createAccount(100);

  const answers = await times(500, (n) => node(n).send(message, account));

  const accepted = answers.filter(({ statusCode }) => statusCode === 202);
  assert.equal(accepted.length, 100);
  for (const answer of answers.filter(({ statusCode }) => statusCode !== 202)) {
    problemOf(answer, "CREDITS_INSUFFICIENT");
  }
  assert.equal(await balanceOf(account), 0);
  const stored = await one.db.query<{ message_id: string }>(sql`
    select message_id from messages where account_id = ${account.accountId}`);
  assert.deepEqual(
    new Set(stored.map(({ message_id }) => message_id)),
    new Set(accepted.map((answer) => answer.json().messageId)),
  );
  await assertBooksAgree();
});

test("with concurrent cancels and top-ups, sends take exactly what the balance allows", async () => {
  const account = await one.createAccount(50);
  const long = { ...message, text: "a".repeat(161) };

  const answers = await times(150, async (n) => {
    if (n % 25 === 24) {
      await topUp(account, 3);
      return undefined;
    }
    const sent = await node(n).send(n % 3 === 0 ? long : message, account);
    if (sent.statusCode !== 202 || n % 5 !== 0) return sent;
    const path = `/v1/messages/${sent.json().messageId}/cancel`;
    await node(n + 1).post(path, undefined, account);
    return sent;
  });

  const refused = answers.filter((answer) => answer && answer.statusCode !== 202);
  for (const answer of refused)
    problemOf(answer as NonNullable<typeof answer>, "CREDITS_INSUFFICIENT");
  const [row] = await one.db.query<{ kept: number }>(sql`
    select coalesce(sum(credits), 0) as kept
      from messages where account_id = ${account.accountId} and status <> 'FAILED'`);
  assert.equal(await balanceOf(account), 50 + 6 * 3 - (row?.kept ?? 0));
  assert.ok((await balanceOf(account)) >= 0);
  await assertBooksAgree();
});

test("a refused expensive message leaves the credits to the cheap ones behind it", async () => {
  const account = await one.createAccount(3);
  const dear = { ...message, text: "a".repeat(1_000) };

  const answers = await Promise.all([
    one.send(dear, account),
    one.send(message, account),
    one.send(dear, account),
    one.send(message, account),
    one.send(message, account),
  ]);

  assert.deepEqual(
    answers.map(({ statusCode }) => statusCode),
    [402, 202, 402, 202, 202],
  );
  const available = answers.flatMap(({ statusCode, json }) =>
    statusCode === 402 ? json().error.details[0].available : [],
  );
  assert.deepEqual(available, [3, 2], "told is what those before it have left");
});

test("concurrent batches of many accounts on two nodes neither deadlock nor overspend", async () => {
  const accounts = await times(8, () => one.createAccount(10));

  const answers = await times(120, (n) => node(n).send(message, accounts[(n * 7) % 8] as TestKey));

  assert.equal(answers.filter(({ statusCode }) => statusCode === 202).length, 80);
  assert.equal(answers.filter(({ statusCode }) => statusCode === 402).length, 40);
  for (const account of accounts) assert.equal(await balanceOf(account), 0);
  await assertBooksAgree();
});

test("a free message is accepted without credits, and its charge of 0 is recorded", async () => {
  const account = await one.createAccount(0);
  await one.db.query(sql`insert into prices (prefix, credits) values ('4477', 0)`);

  const answer = await one.send({ ...message, recipient: "447700900123" }, account);

  assert.equal(answer.statusCode, 202, answer.body);
  assert.equal(answer.json().credits, 0);
  await assertBooksAgree();
});

test("a message that fails to store fails alone; the others in the batch are accepted", async () => {
  const account = await one.createAccount(100);
  await one.db.query(sql`
    alter table messages add constraint poisoned check (reference is distinct from 'poison')`);

  const answers = await times(20, (n) =>
    one.send({ ...message, reference: n === 7 ? "poison" : "fine" }, account),
  );

  problemOf(answers[7] as NonNullable<(typeof answers)[7]>, "INTERNAL");
  assert.equal(answers.filter(({ statusCode }) => statusCode === 202).length, 19);
  assert.equal(await balanceOf(account), 81);
  await assertBooksAgree();
});
