import assert from "node:assert/strict";
import { test } from "node:test";
import { lockAccounts } from "#accounts";
import type { ConsoleMessage } from "#contract";
import { moveMessages } from "#messages";
import { sql } from "#platform";
import { addSimulator } from "#sending";
import { problemOf } from "../support/answers.ts";
import { consoleOfFile, type Person, type TestAccount } from "../support/console.ts";
import { held, somebodyWaits } from "../support/locks.ts";
import { unheard } from "../support/messages.ts";

type Shown = {
  message: { messageId: string; recipient: string; text: string | null; status: string };
};

const shared = consoleOfFile();

async function send(person: Person, console: TestAccount, body: object = {}): Promise<string> {
  const answer = await person.post(`/console/accounts/${console.accountId}/messages`, {
    recipient: "4915112345678",
    text: "Hello from Posthorn",
    ...body,
  });
  assert.equal(answer.statusCode, 202, answer.body);
  return answer.json().messageId;
}

/** Gives messages a later status, as a sender would. */
async function move(
  console: TestAccount,
  messageIds: string[],
  to: "SENT" | "FAILED",
): Promise<void> {
  const { accountId, db } = console;
  const base = {
    accountId,
    recipient: "4915112345678",
    callbackUrl: null,
    from: "QUEUED",
    at: new Date(),
  } as const;
  await db.transaction((tx) =>
    moveMessages(
      tx,
      messageIds.map((messageId) =>
        to === "SENT"
          ? { ...base, messageId, to }
          : { ...base, messageId, to, error: { code: "BLOCKED", carrierCode: "0x0B" } },
      ),
      unheard,
    ),
  );
}

test("a message sent from a page is handled as by the API, once per form, and audited", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const body = { recipient: "+49 151 12345678".replaceAll(" ", ""), text: "Hello" };
  const press = () => developer.post(`${A}/messages`, body, { "idempotency-key": "form 7" });

  const [first, second] = [await press(), await press()];
  assert.equal(first.statusCode, 202);
  assert.equal(second.headers["idempotency-replayed"], "true");
  assert.deepEqual(second.json(), first.json());
  assert.equal(first.headers["location"], undefined, "a path of the API opens nothing here");
  const { messageId } = first.json();
  const shown = (await developer.get(`${A}/messages/${messageId}`)).json();
  assert.deepEqual(shown.message, first.json(), "what a key would be shown");
  assert.deepEqual([shown.key, shown.version, shown.isMasked], [null, 1, false]);
  const audited = await console.db.query(sql`
    select actor, object_id from audit_log where action = 'message.sent' and account_id = ${console.accountId}`);
  assert.deepEqual(audited, [{ actor: `user:${developer.userId}`, object_id: messageId }]);

  const wrong = await developer.post(`${A}/messages`, { recipient: "12", text: "", sendr: "x" });
  assert.equal(wrong.statusCode, 422);
  assert.deepEqual(
    wrong
      .json()
      .error.details.map(({ field }: { field: string }) => field)
      .toSorted(),
    ["recipient", "sendr", "text"],
  );
  const preview = await developer.post(`${A}/messages/preview`, body);
  assert.partialDeepStrictEqual(preview.json(), {
    segments: 1,
    credits: 1,
    balance: 999,
    carrier: { kind: "simulator" },
  });
});

test("a member removed while a send and a cancellation wait for the account does neither", async () => {
  const console = await shared.another();
  const [owner, developer] = [await console.member("owner"), await console.member("developer")];
  const A = `/console/accounts/${console.accountId}`;
  const body = { recipient: "4915112345678", text: "Hello" };
  const waiting = await send(developer, console);

  const { sending, canceling } = await held(console.db, async (tx) => {
    await lockAccounts(tx, [console.accountId]);
    const sending = developer.post(`${A}/messages`, body);
    const canceling = developer.post(`${A}/messages/${waiting}/cancel`);
    await somebodyWaits(console.db, 2);
    const removed = await owner.call("DELETE", `${A}/members/${developer.userId}`);
    assert.equal(removed.statusCode, 204);
    return { sending, canceling };
  });

  problemOf(await sending, "SESSION_REQUIRED");
  problemOf(await canceling, "SESSION_REQUIRED");
  const stored = await console.db.query(
    sql`select message_id, status from messages where account_id = ${console.accountId}`,
  );
  assert.deepEqual(stored, [{ message_id: waiting, status: "QUEUED" }]);
});

test("a send or cancel by a user is stored together with its audit row, or not at all", async (t) => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const body = { recipient: "4915112345678", text: "Hello" };
  const sent = await send(developer, console);
  await console.db.query(sql`
    alter table audit_log add constraint nothing_more check (action not like 'message.%') not valid`);
  t.after(() => console.db.query(sql`alter table audit_log drop constraint nothing_more`));

  const refused = await developer.post(`${A}/messages`, body);
  const kept = await developer.post(`${A}/messages/${sent}/cancel`);

  assert.deepEqual([refused.statusCode, kept.statusCode], [500, 500]);
  const stored = await console.db.query(
    sql`select message_id, status from messages where account_id = ${console.accountId}`,
  );
  assert.deepEqual(stored, [{ message_id: sent, status: "QUEUED" }]);
});

test("the refusal of a message for lack of credits names price and balance, and stores nothing", async () => {
  const console = await shared.another();
  const accountId = await console.createAccount(1);
  const owner = await console.member("owner", { accountId });

  const answer = await owner.post(`/console/accounts/${accountId}/messages`, {
    recipient: "4915112345678",
    text: "a".repeat(161),
  });
  assert.partialDeepStrictEqual(answer.json().error, {
    code: "CREDITS_INSUFFICIENT",
    details: [{ required: 2, available: 1 }],
  });
  const stored = await console.db.query(sql`
    select message_id from messages where account_id = ${accountId}`);
  assert.deepEqual(stored, []);
});

test("a waiting message is canceled once, refunded, and the cancel is audited", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const messageId = await send(developer, console);
  const cancel = () => developer.post(`${A}/messages/${messageId}/cancel`);

  const canceled = await cancel();
  assert.partialDeepStrictEqual(canceled.json(), {
    status: "FAILED",
    creditsRefunded: 1,
    error: { code: "CANCELED" },
  });
  assert.equal((await cancel()).statusCode, 200);
  const events = (await developer.get(`${A}/messages/${messageId}/events`)).json().data;
  assert.deepEqual(
    events.map(({ status }: { status: string }) => status),
    ["QUEUED", "FAILED"],
  );
  const audited = await console.db.query(
    sql`select action from audit_log where object_id = ${messageId}`,
  );
  assert.deepEqual(audited, [{ action: "message.sent" }, { action: "message.canceled" }]);
  const sent = await send(developer, console);
  await console.db.query(sql`delete from send_queue where message_id = ${sent}`);
  await move(console, [sent], "SENT");
  const late = await developer.post(`${A}/messages/${sent}/cancel`);
  assert.equal(late.json().error.code, "MESSAGE_NOT_CANCELABLE");
});

test("each filter, alone and combined, finds exactly the matching rows of the table", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const { key, keyId } = (
    await developer.post(`${A}/keys`, { name: "Shop", scopes: ["messages:send"] })
  ).json();
  const byKey = await console.app.inject({
    method: "POST",
    url: "/v1/messages",
    headers: { "x-api-key": key, "content-type": "application/json" },
    payload: JSON.stringify({
      recipient: "4915187654321",
      text: "by key",
      sender: "Shop",
      reference: "r1",
    }),
  });
  const ofKey = byKey.json().messageId;
  const failed = await send(developer, console, { reference: "r2" });
  const queued = await send(developer, console, { sender: "Other" });
  await move(console, [failed], "FAILED");
  const find = async (query: string) =>
    (await developer.get(`${A}/messages?${query}`))
      .json()
      .data.map(({ message }: Shown) => message.messageId);

  assert.deepEqual(await find(""), [queued, failed, ofKey]);
  assert.deepEqual(await find("status=FAILED"), [failed]);
  assert.deepEqual(await find("status=FAILED&status=QUEUED"), [queued, failed, ofKey]);
  assert.deepEqual(await find("errorCode=BLOCKED"), [failed]);
  assert.deepEqual(await find("errorCode=EXPIRED"), []);
  assert.deepEqual(await find(`keyId=${keyId}`), [ofKey]);
  assert.deepEqual(await find("keyId=console"), [queued, failed]);
  assert.deepEqual(await find("sender=Shop"), [ofKey]);
  assert.deepEqual(await find("recipient=4915187654321"), [ofKey]);
  assert.deepEqual(await find("recipient=%2B4915187654321&reference=r1"), [ofKey]);
  assert.deepEqual(await find("recipient=4915187654321&reference=r2"), []);
  assert.deepEqual(await find("reference=r2&status=FAILED&keyId=console"), [failed]);
  assert.deepEqual(await find("createdBefore=2020-01-01T00:00:00Z"), []);
  for (const query of [
    "status=foo",
    "keyId=rubbish",
    "createdAfter=yesterday",
    "recipient=abc",
    "unknown=1",
  ])
    assert.equal((await developer.get(`${A}/messages?${query}`)).statusCode, 422, query);
});

test("paging forth and back shows every message exactly once, even if few match the filter", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const sent: string[] = [];
  for (let n = 0; n < 23; n += 1) sent.push(await send(developer, console));
  await move(console, [sent[2] ?? "", sent[20] ?? ""], "FAILED");

  for (const [filter, expected] of [
    ["", sent.toReversed()],
    ["&status=FAILED", [sent[20], sent[2]]],
  ] as const) {
    const there: string[] = [];
    const starts: string[] = [];
    let page = (await developer.get(`${A}/messages?limit=10${filter}`)).json();
    for (;;) {
      const ids = page.data.map(({ message }: Shown) => message.messageId);
      there.push(...ids);
      starts.push(ids[0]);
      if (page.nextCursor === null) break;
      page = (
        await developer.get(`${A}/messages?limit=10${filter}&cursor=${page.nextCursor}`)
      ).json();
    }
    assert.deepEqual(there, expected);
    const elsewhere = `${A}/messages?status=SENT&cursor=${page.previousCursor}`;
    problemOf(await developer.get(elsewhere), "CURSOR_INVALID");
    while (page.previousCursor !== null) {
      starts.pop();
      page = (
        await developer.get(`${A}/messages?limit=10${filter}&cursor=${page.previousCursor}`)
      ).json();
      assert.equal(page.data[0].message.messageId, starts.at(-1));
    }
  }
});

test("a viewer sees the last four digits and no text in lists, details and CSV, and cannot search by number", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const viewer = await console.member("viewer");
  const A = `/console/accounts/${console.accountId}`;
  const messageId = await send(developer, console, {
    text: "secret words",
    metadata: { to: "4915112345678" },
    callbackUrl: "http://127.0.0.1:65530/sms?to=4915112345678",
    reference: "order for +4915112345678",
  });

  const answers = [
    await viewer.get(`${A}/messages`),
    await viewer.get(`${A}/messages/${messageId}`),
    await viewer.get(`${A}/messages/${messageId}/events`),
    await viewer.get(`${A}/messages.csv`),
  ];
  for (const { statusCode, body } of answers) {
    assert.equal(statusCode, 200);
    assert.equal(body.includes("4915112345678"), false);
    assert.equal(body.includes("secret words"), false);
  }
  const { message, isMasked } = (await viewer.get(`${A}/messages/${messageId}`)).json();
  assert.deepEqual([message.recipient, message.text, isMasked], ["•••••••••5678", null, true]);
  assert.equal(message.reference, "order for +•••••••••5678");
  for (const path of ["messages", "messages.csv"]) {
    const search = await viewer.get(`${A}/${path}?recipient=4915112345678`);
    assert.equal(search.json().error.code, "ROLE_DENIED");
  }
  assert.ok((await developer.get(`${A}/messages.csv`)).body.includes("secret words"));
});

test("the CSV has the rows of the list, and no cell that a spreadsheet would run as a formula", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  await send(developer, console, { text: "=1+1" });
  await send(developer, console, { text: 'say "hi", now' });
  await send(developer, console, { text: "left out", reference: "other" });

  const csv = await developer.get(`${A}/messages.csv?createdAfter=2020-01-01T00:00:00Z`);
  assert.match(String(csv.headers["content-type"]), /^text\/csv/);
  assert.match(String(csv.headers["content-disposition"]), /^attachment/);
  const lines = csv.body.trimEnd().split("\r\n");
  assert.equal(lines.length, 4);
  assert.ok(lines[3]?.includes(",'=1+1,"));
  assert.ok(lines[2]?.includes(',"say ""hi"", now",'));
  const filtered = (await developer.get(`${A}/messages.csv?reference=other`)).body
    .trimEnd()
    .split("\r\n");
  assert.equal(filtered.length, 2);
});

test("a message's carrier is the last one it was submitted to; before, the one it is routed to", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const A = `/console/accounts/${console.accountId}`;
  const actor = { actor: "cli", now: new Date() };
  const second = await addSimulator(console.db, { name: "second", ...actor });
  assert.ok(second.outcome === "added");
  const refused = await send(developer, console, { reference: "refused" });
  const waiting = await send(developer, console, { reference: "waiting" });
  await console.db.query(sql`
    insert into submissions (message_id, segment, turn, account_id, carrier_id, at, outcome)
    select message_id, 1, n, account_id, case n when 2 then ${second.carrierId} else carrier_id end,
           now() + n * interval '1 second', case n when 3 then 'unsent' else 'refused' end
      from messages, generate_series(1, 3) n
     where message_id = ${refused}`);
  await move(console, [refused], "FAILED");

  const listed = (await developer.get(`${A}/messages`)).json().data;
  const csv = (await developer.get(`${A}/messages.csv`)).body.trimEnd().split("\r\n");

  assert.partialDeepStrictEqual(listed, [
    { message: { messageId: waiting }, carrier: { name: "simulator" }, isSubmitted: false },
    { message: { messageId: refused }, carrier: { name: "second" }, isSubmitted: true },
  ]);
  assert.partialDeepStrictEqual((await developer.get(`${A}/messages/${refused}`)).json(), {
    carrier: { name: "second" },
    isSubmitted: true,
  });
  assert.deepEqual(
    csv.map((line) => /second|simulator/.exec(line)?.[0]),
    [undefined, undefined, "second"],
  );
});

test("the carrier of a message not yet submitted is the one it waits for now", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const actor = { actor: "cli", now: new Date() };
  const later = await addSimulator(console.db, { name: "later", ...actor });
  assert.ok(later.outcome === "added");
  const messageId = await send(developer, console);
  await console.db.query(sql`
    update send_queue set carrier_id = ${later.carrierId} where message_id = ${messageId}`);

  const shown = await developer.get(`/console/accounts/${console.accountId}/messages/${messageId}`);

  assert.partialDeepStrictEqual(shown.json(), { carrier: { name: "later" }, isSubmitted: false });
});

test("a waiting message names its carrier and whether that is down or paused, and nothing of other carriers", async () => {
  const console = await shared.another();
  const viewer = await console.member("viewer");
  const developer = await console.member("developer");
  const actor = { actor: "cli", now: new Date() };
  const added = await addSimulator(console.db, { name: "lost", ...actor });
  assert.ok(added.outcome === "added");
  const { carrierId } = added;
  const ended = await send(developer, console);
  const messageId = await send(developer, console);
  await console.db.query(sql`
    update send_queue set carrier_id = ${carrierId} where message_id = ${messageId}`);
  await move(console, [ended], "FAILED");
  const shown = async () => {
    const { data } = (await viewer.get(`/console/accounts/${console.accountId}/messages`)).json();
    return data.map(({ waitsFor }: ConsoleMessage) => waitsFor);
  };

  const known = await shown();
  await console.db.query(sql`
    insert into carrier_states (carrier_id, node_id, state, at)
    values (${carrierId}, ${carrierId}, ${JSON.stringify(NOT_BOUND)}, clock_timestamp())`);
  const down = await shown();
  await console.db.query(sql`update carriers set paused = true where carrier_id = ${carrierId}`);
  const paused = await shown();

  assert.deepEqual(known, [{ carrier: "lost", away: null }, null]);
  assert.deepEqual(down, [{ carrier: "lost", away: "down" }, null]);
  assert.deepEqual(paused, [{ carrier: "lost", away: "paused" }, null]);
});

/** What a node reports about a carrier that it cannot reach. */
const NOT_BOUND = {
  state: "down",
  links: [],
  counts: { inDoubt: 0, reconnects: 0, throttled: 0 },
  lastHour: { since: null, refusals: {}, lateReceipts: 0 },
};

test("another account's message is not found", async () => {
  const console = await shared.another();
  const developer = await console.member("developer");
  const messageId = await send(developer, console);
  const elsewhere = await console.createAccount();
  const other = await console.member("owner", { accountId: elsewhere });

  for (const path of ["", "/events"]) {
    const answer = await other.get(`/console/accounts/${elsewhere}/messages/${messageId}${path}`);
    assert.equal(answer.json().error.code, "MESSAGE_NOT_FOUND");
  }
  const cancel = await other.post(`/console/accounts/${elsewhere}/messages/${messageId}/cancel`);
  assert.equal(cancel.json().error.code, "MESSAGE_NOT_FOUND");
});
