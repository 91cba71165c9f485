import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Status } from "#contract";
import { operations } from "#contract";
import { moveMessages } from "#messages";
import { TIME, problemOf } from "../support/answers.ts";
import { startApi } from "../support/api.ts";
import { unheard } from "../support/messages.ts";

const api = await startApi({ credits: 1_000 });
after(() => api[Symbol.asyncDispose]());

const body = { recipient: "4915112345678", text: "Hello", callbackUrl: "https://example.com/h" };

async function sent(): Promise<string> {
  return (await api.send(body)).json().messageId as string;
}

/** Moves a message as a carrier's answers and receipts do. */
async function move(messageId: string, from: Status, to: Status, at: Date): Promise<void> {
  const step = {
    accountId: api.accountId,
    messageId,
    recipient: body.recipient,
    callbackUrl: body.callbackUrl,
    from,
    at,
  };
  const error = { code: "RECIPIENT_UNKNOWN", carrierCode: "0x0B" } as const;
  await api.db.transaction((tx) =>
    moveMessages(
      tx,
      [
        to === "FAILED" || to === "UNDELIVERED"
          ? { ...step, to, error }
          : { ...step, to: to as "SENT" },
      ],
      unheard,
    ),
  );
}

const read = async (messageId: string) => (await api.get(`/v1/messages/${messageId}`)).json();
const history = async (messageId: string) =>
  (await api.get(`/v1/messages/${messageId}/events`)).json().data as Record<string, unknown>[];

const [T1, T2] = [new Date("2026-11-15T09:30:01.001Z"), new Date("2026-11-15T09:30:02.002Z")];

test("a message shows each status with its times", async () => {
  const messageId = await sent();

  await move(messageId, "QUEUED", "SENT", T1);
  assert.partialDeepStrictEqual(await read(messageId), {
    status: "SENT",
    sentAt: T1.toISOString(),
    deliveredAt: null,
    updatedAt: T1.toISOString(),
  });
  await move(messageId, "SENT", "DELIVERED", T2);
  assert.partialDeepStrictEqual(await read(messageId), {
    status: "DELIVERED",
    sentAt: T1.toISOString(),
    deliveredAt: T2.toISOString(),
    updatedAt: T2.toISOString(),
    error: null,
    creditsRefunded: 0,
  });
});

test("UNDELIVERED has its error and is not refunded; FAILED is", async () => {
  const [undelivered, failed] = [await sent(), await sent()];
  await move(undelivered, "QUEUED", "SENT", T1);
  await move(undelivered, "SENT", "UNDELIVERED", T2);
  await move(failed, "QUEUED", "FAILED", T1);

  const error = {
    code: "RECIPIENT_UNKNOWN",
    message: "The carrier does not know the recipient's number.",
    carrierCode: "0x0B",
  };
  assert.partialDeepStrictEqual(await read(undelivered), {
    status: "UNDELIVERED",
    error,
    credits: 1,
    creditsRefunded: 0,
    deliveredAt: null,
  });
  assert.partialDeepStrictEqual(await read(failed), {
    status: "FAILED",
    error,
    credits: 1,
    creditsRefunded: 1,
    sentAt: null,
  });
});

test("a final status never changes, whatever is reported later", async () => {
  const messageId = await sent();
  await move(messageId, "QUEUED", "FAILED", T1);
  const before = await read(messageId);

  for (const from of ["QUEUED", "SENT"] as const) await move(messageId, from, "DELIVERED", T2);

  assert.deepEqual(await read(messageId), before);
  assert.equal((await history(messageId)).length, 2);
});

test("the history of a new message shows that it is queued", async () => {
  const messageId = await sent();

  const entries = await history(messageId);

  assert.deepEqual(entries, [
    {
      type: "status",
      at: (await read(messageId)).createdAt,
      sequence: 1,
      event: "message.queued",
      status: "QUEUED",
      error: null,
      webhook: null,
    },
  ]);
});

test("the history has every change of status in order, each with its number and event", async () => {
  const messageId = await sent();
  const { createdAt } = await read(messageId);
  const later = (ms: number) => new Date(Date.parse(createdAt) + ms);
  await move(messageId, "QUEUED", "SENT", later(5));
  await move(messageId, "SENT", "UNDELIVERED", later(10));

  const entries = await history(messageId);

  assert.deepEqual(
    entries.map(({ type, sequence, event, status }) => [type, sequence, event, status]),
    [
      ["status", 1, "message.queued", "QUEUED"],
      ["status", 2, "message.sent", "SENT"],
      ["status", 3, "message.undelivered", "UNDELIVERED"],
    ],
  );
  assert.ok(entries.every(({ at }) => TIME.test(String(at))));
  assert.deepEqual(
    entries.map(({ error }) => (error as { code?: string } | null)?.code ?? null),
    [null, null, "RECIPIENT_UNKNOWN"],
  );
});

test("an id in upper case finds and cancels its message, and is shown in lower case", async () => {
  const messageId = await sent();
  const path = `/v1/messages/${messageId.toUpperCase()}`;

  assert.equal((await read(messageId.toUpperCase())).messageId, messageId);
  assert.equal((await history(messageId.toUpperCase())).length, 1);
  const canceled = (await api.post(`${path}/cancel`)).json();
  assert.deepEqual([canceled.messageId, canceled.status], [messageId, "FAILED"]);
});

test("an unknown, malformed or foreign id is answered alike", async () => {
  const messageId = await sent();
  const stranger = await api.createAccount(10);
  const unknown = messageId.replace(/^.{8}/, "01900000");
  const ids = [
    unknown,
    "x",
    "0",
    "null",
    "%00",
    "%F0%9F%91%8D",
    "a".repeat(3_000),
    `${messageId}0`,
  ];
  const places = Object.values(operations).filter(({ path }) => path.includes("{messageId}"));
  assert.equal(places.length, 3);
  for (const { method, path } of places) {
    const ask = (id: string, key: string) =>
      api.inject({ method, url: path.replace("{messageId}", id), headers: { "x-api-key": key } });
    for (const id of ids) problemOf(await ask(id, api.key), "MESSAGE_NOT_FOUND");
    const [theirs, nobodys] = [
      await ask(messageId, stranger.key),
      await ask(unknown, stranger.key),
    ];
    const told = ({ body }: { body: string }) => body.replace(/"requestId":"[^"]+"/, "");
    assert.equal(told(theirs), told(nobodys));
  }
  assert.equal((await read(messageId)).status, "QUEUED", "nor did it cancel anything");
});

test("a list shows nothing of another account", async () => {
  await sent();
  const stranger = await api.createAccount(10);

  const page = await api.get(`/v1/messages?recipient=${body.recipient}`, stranger);

  assert.deepEqual(page.json(), { data: [], nextCursor: null });
});
