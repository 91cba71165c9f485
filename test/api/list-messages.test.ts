import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { type Message, statuses } from "#contract";
import { idFloor, sql } from "#platform";
import { problemOf, wrongFields } from "../support/answers.ts";
import { startApi, type TestKey } from "../support/api.ts";

const api = await startApi({
  settings: { RATE_LIMIT_READS_BURST: "100000", RATE_LIMIT_SENDS_BURST: "100000" },
});
after(() => api[Symbol.asyncDispose]());

type Page = { data: Message[]; nextCursor: string | null };
const message = { recipient: "4915112345678", text: "Hello" };

/** Messages with given times, as if accepted then; returns ids as strings, oldest first. */
async function messagesAt(account: TestKey, rows: { at: Date; status?: string }[]) {
  const ids = rows.map(({ at }, n) =>
    idFloor(at).replace(/.{4}$/, n.toString(16).padStart(4, "0")),
  );
  await api.db.query(sql`
    insert into messages (account_id, message_id, recipient, text, encoding, segments, credits, status,
                          created_at, expires_at)
    select ${account.accountId}, id, '4915112345678', 'x', 'gsm7', 1, 1, status, at, at + interval '1 day'
      from unnest(${ids}::uuid[], ${rows.map(({ at }) => at)}::timestamptz[],
                  ${rows.map(({ status = "SENT" }) => status)}::text[]) as u (id, at, status)`);
  return ids;
}

async function page(query: string, account: TestKey): Promise<Page> {
  const answer = await api.get(`/v1/messages${query}`, account);
  assert.equal(answer.statusCode, 200, answer.body);
  assert.deepEqual(Object.keys(answer.json()), ["data", "nextCursor"]);
  return answer.json();
}

/** Follows the cursors to the last page. */
async function walk(query: string, account: TestKey): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let pages = 0;
  for (let cursor: string | null = ""; cursor !== null; pages += 1) {
    const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const { data, nextCursor }: Page = await page(`?${query}${more}`, account);
    ids.push(...data.map(({ messageId }) => messageId));
    cursor = nextCursor;
  }
  return { ids, pages };
}

async function batch(account: TestKey, messages: object[]): Promise<Message[]> {
  const answer = await api.post("/v1/messages/batch", { messages }, account);
  assert.equal(answer.statusCode, 202, answer.body);
  return answer.json().data;
}

const many = (count: number, reference: string | null = null) =>
  Array.from({ length: count }, () => ({ ...message, reference }));
const idsOf = (messages: Message[]) => messages.map(({ messageId }) => messageId);

test("an account without messages has an empty page and no cursor", async () => {
  assert.deepEqual(await page("", await api.createAccount()), { data: [], nextCursor: null });
});

test("a page is newest first, of 25 by default, and shows whole messages", async () => {
  const account = await api.createAccount();
  const sent = await batch(account, many(30));

  const first = await page("", account);

  assert.deepEqual(first.data, sent.toReversed().slice(0, 25));
  assert.equal(typeof first.nextCursor, "string");
});

test("while SECRET_KEY is changed node by node, a cursor of one node works on the other", async () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const node = (secretKey: Buffer, previous: Buffer) =>
    startApi({
      db: api.db,
      secretKey,
      settings: { SECRET_KEY_PREVIOUS: previous.toString("base64") },
    });
  await using old = await node(first, second);
  await using swapped = await node(second, first);
  const account = await api.createAccount();
  const sent = idsOf(await batch(account, many(3))).toReversed();

  const seen: string[] = [];
  let cursor = "";
  for (const { get } of [old, swapped, old]) {
    const answer = await get(`/v1/messages?limit=1${cursor}`, account);
    const { data, nextCursor }: Page = answer.json();
    assert.equal(answer.statusCode, 200, answer.body);
    seen.push(...idsOf(data));
    cursor = `&cursor=${nextCursor}`;
  }

  assert.deepEqual(seen, sent);
});

test("following the cursor shows every message once, with pages of any size", async () => {
  const account = await api.createAccount();
  const sent = idsOf(await batch(account, many(30))).toReversed();
  for (const [limit, pages] of [
    [1, 30],
    [7, 5],
    [15, 2],
    [30, 1],
    [100, 1],
  ] as const) {
    assert.deepEqual(await walk(`limit=${limit}`, account), { ids: sent, pages });
  }
});

test("paging during writes shows each message that was there before exactly once", async () => {
  const account = await api.createAccount();
  const before = idsOf(await batch(account, many(20)));
  const seen: string[] = [];
  let { data, nextCursor } = await page("?limit=3", account);
  for (;;) {
    seen.push(...idsOf(data));
    if (nextCursor === null) break;
    await batch(account, [message, message]);
    ({ data, nextCursor } = await page(`?limit=3&cursor=${nextCursor}`, account));
  }

  assert.deepEqual(seen, before.toReversed());
});

test("messages are filtered by recipient, with or without the plus", async () => {
  const account = await api.createAccount();
  const other = { ...message, recipient: "447911123456" };
  const sent = await batch(account, [message, other, message, other]);
  const wanted = idsOf(sent.filter(({ recipient }) => recipient === other.recipient)).toReversed();

  for (const given of ["447911123456", "%2B447911123456", "+447911123456"]) {
    assert.deepEqual((await walk(`recipient=${given}&limit=1`, account)).ids, wanted, given);
  }
});

test("messages are filtered by reference, which need not be unique", async () => {
  const account = await api.createAccount();
  const sent = await batch(account, [
    { ...message, reference: "a b+c/ü" },
    { ...message, reference: "other" },
    message,
    { ...message, reference: "a b+c/ü" },
    { ...message, reference: "" },
    { ...message, reference: "two\nlines" },
  ]);

  const query = `reference=${encodeURIComponent("a b+c/ü")}&limit=1`;
  assert.deepEqual((await walk(query, account)).ids, [sent[3]?.messageId, sent[0]?.messageId]);
  assert.deepEqual((await walk("reference=A B", account)).ids, []);
  // An empty reference is a reference too, unlike none at all.
  assert.deepEqual((await walk("reference=", account)).ids, [sent[4]?.messageId]);
  assert.deepEqual((await walk("reference=two%0Alines", account)).ids, [sent[5]?.messageId]);
});

test("filters by recipient and reference combine", async () => {
  const account = await api.createAccount();
  const british = "447911123456";
  const sent = await batch(account, [
    { ...message, reference: "a" },
    { ...message, reference: "b", recipient: british },
    { ...message, reference: "a", recipient: british },
  ]);

  const { ids } = await walk(`reference=a&recipient=${british}`, account);

  assert.deepEqual(ids, [sent[2]?.messageId]);
});

test("messages are filtered by one status or several", async () => {
  const account = await api.createAccount();
  const at = new Date();
  const ids = await messagesAt(
    account,
    statuses.map((status) => ({ at, status })),
  );
  const [queued, sent, delivered] = ids;

  assert.deepEqual((await walk("status=SENT", account)).ids, [sent]);
  const both = await walk("status=QUEUED&status=DELIVERED&limit=1", account);
  assert.deepEqual(both.ids, [delivered, queued]);
  const all = statuses.map((status) => `status=${status}`).join("&");
  assert.deepEqual((await walk(all, account)).ids, ids.toReversed());
});

test("createdAfter is inclusive, createdBefore exclusive, to the millisecond and in any zone", async () => {
  const account = await api.createAccount();
  const times = ["09:29:59.999", "09:30:00.000", "09:30:00.001", "09:30:00.002"];
  const ids = await messagesAt(
    account,
    times.map((time) => ({ at: new Date(`2026-11-10T${time}Z`) })),
  );
  const between = async (query: string) => (await walk(query, account)).ids.toReversed();

  assert.deepEqual(await between("createdAfter=2026-11-10T09:30:00.000Z"), ids.slice(1));
  assert.deepEqual(await between("createdBefore=2026-11-10T09:30:00.000Z"), ids.slice(0, 1));
  assert.deepEqual(
    await between("createdAfter=2026-11-10T09:30:00Z&createdBefore=2026-11-10T09:30:00.002Z"),
    ids.slice(1, 3),
  );
  assert.deepEqual(await between("createdAfter=2026-11-10T11:30:00.001+02:00"), ids.slice(2));
  assert.deepEqual(await between("createdAfter=2026-11-10T11:30:00.001%2B02:00"), ids.slice(2));
  assert.deepEqual(await between("createdBefore=1969-01-01T00:00:00Z"), []);
  assert.deepEqual(await between("createdAfter=9999-12-31T23:59:59.999Z"), []);
});

test("a time is accepted in every format that sendAt allows", async () => {
  const account = await api.createAccount();
  const [, id] = await messagesAt(account, [
    { at: new Date("2026-11-10T09:29:59.999Z") },
    { at: new Date("2026-11-10T09:30:00.000Z") },
  ]);

  for (const time of [
    "2026-11-10T09:30Z",
    "2026-11-10T11:30:00+0200",
    "2026-11-10T11:30%2B02:00",
    "2026-11-10t09:30:00.0z",
  ])
    assert.deepEqual((await walk(`createdAfter=${time}`, account)).ids, [id], time);
});

test("a page may span months: partitions form one list", async () => {
  const account = await api.createAccount();
  const months = ["2020-01", "2026-09", "2026-10", "2026-11", "2026-12", "2027-06"];
  const ids = await messagesAt(
    account,
    months.map((month) => ({ at: new Date(`${month}-10T00:00:00Z`) })),
  );

  assert.deepEqual((await walk("limit=2", account)).ids, ids.toReversed());
  assert.deepEqual(
    (await walk(`limit=1&recipient=${message.recipient}`, account)).ids,
    ids.toReversed(),
  );
});

test("a rare status is found behind ten thousand others, across pages that may be short", async () => {
  const account = await api.createAccount();
  const at = new Date("2026-11-10T00:00:00Z");
  const rows = Array.from({ length: 10_050 }, (_, n) => ({
    at,
    status: n === 3 || n === 10_049 ? "FAILED" : "SENT",
  }));
  const ids = await messagesAt(account, rows);

  const { ids: found, pages } = await walk("status=FAILED", account);

  assert.deepEqual(found, [ids[10_049], ids[3]]);
  assert.equal(pages, 2);
});

test("every wrong or unknown parameter is named, with the closest valid one", async () => {
  const answer = await api.get(
    "/v1/messages?limit=0&limt=5&status=NEW&recipient=x&reference=%00&createdAfter=yesterday&createdBefore=&a%00=1",
  );

  assert.deepEqual(wrongFields(answer), {
    limit: "PARAMETER_INVALID",
    limt: "PARAMETER_UNKNOWN",
    status: "PARAMETER_INVALID",
    recipient: "PARAMETER_INVALID",
    reference: "PARAMETER_INVALID",
    createdAfter: "PARAMETER_INVALID",
    createdBefore: "PARAMETER_INVALID",
    "a?": "PARAMETER_UNKNOWN",
  });
  assert.match(answer.body, /There is no parameter limt\. Did you mean limit\?/);
  const bad = ["limit=101", "limit=-1", "limit=1.5", "limit=1e1", "limit=", "limit=1&limit=2"];
  for (const query of [...bad, "limit[]=1", "cursor=a&cursor=b", "recipient=1&recipient=2"]) {
    const name = query.split(/[=[]/, 1)[0] ?? "";
    const wrong = Object.keys(wrongFields(await api.get(`/v1/messages?${query}`)));
    assert.deepEqual(wrong, [query.startsWith("limit[]") ? "limit[]" : name], query);
  }
  for (const query of [
    "recipient=12",
    "recipient=",
    "reference=%00",
    "reference=50%",
    "reference=%ff",
    "status=%zz",
    `reference=${"x".repeat(129)}`,
  ]) {
    assert.deepEqual(Object.keys(wrongFields(await api.get(`/v1/messages?${query}`))), [
      query.split("=", 1)[0],
    ]);
  }
});

test("a cursor is refused with other filters, in another account, and if it is damaged", async () => {
  const account = await api.createAccount();
  await batch(account, many(5, "r"));
  const { nextCursor } = await page("?limit=2&reference=r", account);
  assert.ok(nextCursor);
  const ask = (query: string, as: TestKey = account) => api.get(`/v1/messages?${query}`, as);

  assert.equal((await ask(`reference=r&limit=3&cursor=${nextCursor}`)).statusCode, 200);
  for (const query of ["", "reference=s", "reference=r&status=QUEUED", "recipient=4915112345678"]) {
    problemOf(await ask(`${query}&cursor=${nextCursor}`), "CURSOR_INVALID");
  }
  problemOf(
    await ask(`reference=r&cursor=${nextCursor}`, await api.createAccount()),
    "CURSOR_INVALID",
  );
  const damaged = [...nextCursor].map(
    (character, n) =>
      nextCursor.slice(0, n) + (character === "A" ? "B" : "A") + nextCursor.slice(n + 1),
  );
  const others = ["", "x", `${nextCursor}A`, nextCursor.slice(1), "%00", "👍", "a".repeat(5_000)];
  for (const cursor of [...damaged, ...others].map(encodeURIComponent)) {
    problemOf(await ask(`reference=r&cursor=${cursor}`), "CURSOR_INVALID");
  }
});

test("a cursor works on another node and with another key of the same account", async () => {
  await using other = await startApi({ db: api.db });
  const account = await api.createAccount();
  const sent = idsOf(await batch(account, many(4)));
  const { nextCursor } = await page("?limit=2", account);
  const second = await other.createKey({ accountId: account.accountId });

  const rest = await other.get(`/v1/messages?limit=2&cursor=${nextCursor}`, second);

  assert.deepEqual(idsOf(rest.json().data), sent.slice(0, 2).toReversed());
});
