import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rawSql } from "#platform";
import { startConsole } from "../support/console.ts";
import { problemOf } from "../support/answers.ts";
import { makeKey } from "../support/make-key.ts";

const console = await startConsole({ settings: { TRUST_PROXY: "127.0.0.1/32" } });
after(() => console[Symbol.asyncDispose]());
const { db, accountId } = console;
const A = `/console/accounts/${accountId}`;

/** Asks while nobody can read the table; the answers come once `until` is over. */
function whileLocked<Answers>(
  table: string,
  ask: () => { asked: Answers; until: Promise<unknown> },
) {
  return db.transaction(async (tx) => {
    await tx.query(rawSql(`lock table ${table} in access exclusive mode`));
    const { asked, until } = ask();
    await until;
    return { asked };
  });
}

const many = <Answer>(count: number, ask: () => Promise<Answer>) =>
  Array.from({ length: count }, ask);

test("clients of the API are answered, however many requests the dashboard gets at once", async () => {
  const viewer = await console.member("viewer");
  const headers = { "x-api-key": (await makeKey(db, { accountId })).key };

  const { asked } = await whileLocked("memberships", () => {
    const pages = many(40, () => viewer.get(`${A}/messages`));
    const api = console.app.inject({ url: "/v1/credits", headers });
    return { asked: { pages, api }, until: api };
  });

  assert.equal((await asked.api).statusCode, 200);
  await Promise.all(asked.pages);
});

test("a user has four requests running and thirty waiting; further ones must retry later", async () => {
  const owner = await console.member("owner");
  const refused = Promise.withResolvers<void>();
  let told = 0;

  const { asked } = await whileLocked("links", () => {
    const pages = many(36, async () => {
      const answer = await owner.get(`${A}/invitations`);
      if (answer.statusCode === 429 && (told += 1) === 2) refused.resolve();
      return answer;
    });
    return { asked: pages, until: Promise.race([refused.promise, Promise.all(pages)]) };
  });

  const statuses = (await Promise.all(asked)).map(({ statusCode }) => statusCode);
  assert.deepEqual([statuses.filter((status) => status === 200).length, told], [34, 2]);
  assert.equal((await owner.get(`${A}/invitations`)).statusCode, 200);
});

test("strangers at one address have four requests running and two hundred waiting; further ones must retry later", async () => {
  const refused = Promise.withResolvers<void>();
  let told = 0;
  const ask = (address: string) =>
    console
      .stranger()
      .post("/console/links/read", { token: "unknown" }, { "x-forwarded-for": address });

  const { asked } = await whileLocked("links", () => {
    const strangers = many(206, async () => {
      const answer = await ask("10.9.2.1");
      if (answer.statusCode === 429 && (told += 1) === 2) refused.resolve();
      return answer;
    });
    const other = ask("10.9.2.2");
    return {
      asked: { strangers, other },
      until: Promise.race([refused.promise, Promise.all(strangers)]),
    };
  });

  const statuses = (await Promise.all(asked.strangers)).map(({ statusCode }) => statusCode);
  assert.deepEqual([statuses.filter((status) => status === 404).length, told], [204, 2]);
  assert.equal((await asked.other).statusCode, 404);
});

test("a stranger's body is limited to 16 KiB, a signed-in user's only as elsewhere", async () => {
  const large = { name: "x".repeat(16_384) };

  for (const path of ["auth/sign-in", "setup", "links/read", "links/join", "links/reset"])
    problemOf(await console.stranger().post(`/console/${path}`, large), "BODY_TOO_LARGE");
  const owner = await console.member("owner");
  problemOf(await owner.post(`${A}/keys`, large), "VALIDATION_FAILED");
});

test("a download starts only once its first rows are there, and a user may have two at a time", async () => {
  const owner = await console.member("owner");
  const path = `${A}/ledger.csv?month=${new Date().toISOString().slice(0, 7)}`;

  const { asked } = await whileLocked("ledger", () => {
    const files = many(3, () => owner.get(path));
    return { asked: files, until: Promise.all(files) };
  });

  const statuses = (await Promise.all(asked)).map(({ statusCode }) => statusCode);
  assert.deepEqual(statuses.toSorted(), [429, 503, 503]);
  for (let n = 0; n < 3; n += 1) assert.equal((await owner.get(path)).statusCode, 200);
});

test("a change that was made but cannot be shown is a 500, which does not claim that nothing was done", async () => {
  const operator = await console.member("viewer", { isOperator: true });
  const { data } = (await operator.get("/console/operator/carriers")).json() as Carriers;
  const pause = `/console/operator/carriers/${data[0]?.carrierId}/pause`;

  const { asked } = await whileLocked("carrier_states", () => {
    const answer = operator.post(pause);
    return { asked: { answer }, until: answer };
  });

  problemOf(await asked.answer, "INTERNAL");
  const [after] = ((await operator.get("/console/operator/carriers")).json() as Carriers).data;
  assert.equal(after?.isPaused, true);
});

type Carriers = { data: { carrierId: string; isPaused: boolean }[] };
