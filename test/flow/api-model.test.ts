import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Message } from "#contract";
import { bookCredits } from "#credits";
import { newId, sql, systemClock } from "#platform";
import { problemOf } from "../support/answers.ts";
import { startApi, type TestApi, type TestKey } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { assertSound } from "../support/sound.ts";

/** How a message ends, by its recipient's last digits, after the receipts of the simulator. */
const ENDS = {
  "5678": "DELIVERED",
  "0001": "UNDELIVERED",
  "0002": "FAILED",
  "0004": "SENT",
  "0006": "DELIVERED",
  "0007": "FAILED",
} as const;
type Ending = keyof typeof ENDS;
type Wish = { ending: Ending; segments: 1 | 2; isLater: boolean; isKeyed: boolean };

type Known = {
  wish: Wish;
  body: object;
  idempotencyKey: string | null;
  status: string;
  isCanceled: boolean;
};
/** What a client who trusts the answers must believe. */
type Model = { balance: number; messages: Map<string, Known> };
type Real = { account: TestKey };

const FIRST_CREDITS = 6;
const HOUR_MS = 3_600_000;
/** No run starts after this time: a busy machine does fewer of them. */
const LIMIT_MS = 3_000;

let count = 0;

function bodyOf({ ending, segments, isLater }: Wish): object {
  const reference = `model ${(count += 1)}`;
  const sendAt = new Date(systemClock.now().getTime() + HOUR_MS).toISOString();
  return {
    recipient: `491511234${ending}`,
    text: segments === 1 ? reference : reference.padEnd(200, "."),
    reference,
    ...(isLater ? { sendAt } : {}),
  };
}

type Answer = Awaited<ReturnType<TestApi["send"]>>;

/** Connections are ended now and then: 503 means that nothing was done, 500 to repeat the same. */
function answered(ask: () => Promise<Answer>, tryAgain: number[] = [503]): Promise<Answer> {
  return eventually("the service answers", async () => {
    const answer = await ask();
    return !tryAgain.includes(answer.statusCode) && answer;
  });
}

function commandsOn(api: TestApi) {
  type Command = fc.AsyncCommand<Model, Real>;
  const command = (
    name: string,
    run: (model: Model, real: Real) => Promise<void>,
    check = (_model: Readonly<Model>) => true,
  ): Command => ({
    check,
    async run(model, real) {
      await run(model, real);
      await assertEqual(api, model, real);
    },
    toString: () => name,
  });

  type OfOne = (
    messageId: string,
    known: Known,
    given: { model: Model; real: Real },
  ) => Promise<void>;

  /** Applies to one of the wanted messages; to none if there are none. */
  function commandOn(name: string, pick: number, isWanted: (known: Known) => boolean, run: OfOne) {
    const wantedOf = ({ messages }: Readonly<Model>) =>
      [...messages].filter(([, known]) => isWanted(known));
    return command(
      `${name} ${pick}`,
      async (model, real) => {
        const wanted = wantedOf(model);
        const [messageId, known] = wanted[pick % wanted.length] ?? assert.fail();
        await run(messageId, known, { model, real });
      },
      (model) => wantedOf(model).length > 0,
    );
  }

  const send = (body: object, { account }: Real, idempotencyKey: string | null) => {
    const headers = idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey };
    return answered(
      () => api.send(body, { key: account.key, headers }),
      idempotencyKey === null ? [503] : [500, 503],
    );
  };

  async function sendNew(model: Model, real: Real, wish: Wish, amid = async () => {}) {
    const body = bodyOf(wish);
    const idempotencyKey = wish.isKeyed ? `key ${count}` : null;
    const [answer] = await Promise.all([send(body, real, idempotencyKey), amid()]);
    if (model.balance < wish.segments) return void problemOf(answer, "CREDITS_INSUFFICIENT");
    assert.equal(answer.statusCode, 202, answer.body);
    model.balance -= wish.segments;
    const { messageId } = answer.json<Message>();
    const known = { wish, body, idempotencyKey, status: "QUEUED", isCanceled: false };
    model.messages.set(messageId, known);
    if (!wish.isLater) goItsWay(model, known);
  }

  function goItsWay(model: Model, known: Known): void {
    known.status = ENDS[known.wish.ending];
    if (known.status === "FAILED") model.balance += known.wish.segments;
  }

  /** Makes a message due; with a holder, as if that had died while holding it. */
  function leaveQueue(name: string, pick: number, holder: () => string | null): Command {
    return commandOn(name, pick, isWaiting, async (messageId, known, { model }) => {
      await api.db.query(sql`
        update send_queue set due_at = clock_timestamp(), leased_by = ${holder()}::uuid
         where message_id = ${messageId}`);
      goItsWay(model, known);
    });
  }

  async function endConnections(): Promise<void> {
    await api.db.query(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'posthorn %'`);
  }

  const wish = fc.record<Wish>({
    ending: fc.constantFrom(...(Object.keys(ENDS) as Ending[])),
    segments: fc.constantFrom(1, 2),
    isLater: fc.boolean(),
    isKeyed: fc.boolean(),
  });
  const pick = fc.nat({ max: 20 });
  const ordinary = wish.map((given) =>
    command(`send ${JSON.stringify(given)}`, (model, real) => sendNew(model, real, given)),
  );
  return [
    // Without messages, the other commands have nothing to do.
    ordinary,
    ordinary,
    ordinary,
    wish.map((given) =>
      command(`send amid ended connections ${JSON.stringify(given)}`, (model, real) =>
        sendNew(model, real, { ...given, isKeyed: true }, endConnections),
      ),
    ),
    fc.tuple(pick, fc.boolean()).map(([n, isSame]) =>
      commandOn(
        isSame ? "repeat" : "reuse the key of",
        n,
        isKeyed,
        async (messageId, known, { real }) => {
          const body = isSame ? known.body : { ...known.body, text: "Another" };
          const answer = await send(body, real, known.idempotencyKey);
          if (!isSame) return void problemOf(answer, "IDEMPOTENCY_KEY_REUSED");
          assert.equal(answer.headers["idempotency-replayed"], "true");
          assert.equal(answer.json<Message>().messageId, messageId);
        },
      ),
    ),
    pick.map((n) =>
      commandOn(
        "cancel",
        n,
        () => true,
        async (messageId, known, { model, real }) => {
          const path = `/v1/messages/${messageId}/cancel`;
          const answer = await answered(() => api.post(path, undefined, real.account));
          if (!isWaiting(known) && !known.isCanceled)
            return void problemOf(answer, "MESSAGE_NOT_CANCELABLE");
          assert.equal(answer.statusCode, 200, answer.body);
          if (known.isCanceled) return;
          known.isCanceled = true;
          known.status = "FAILED";
          model.balance += known.wish.segments;
        },
      ),
    ),
    fc.constant(
      command("revoke", async (_model, real) => {
        const { key, keyId, accountId } = real.account;
        await api.revoke(keyId);
        const answer = await answered(() => api.send(bodyOf(ORDINARY), { key }));
        problemOf(answer, "API_KEY_REVOKED");
        real.account = await api.createKey({ accountId });
      }),
    ),
    fc.integer({ min: 1, max: 4 }).map((amount) =>
      command(`top up ${amount}`, async (model, { account: { accountId } }) => {
        const now = systemClock.now();
        const booking = { accountId, kind: "topup", amount, note: "more" } as const;
        await bookCredits(api.db, { ...booking, actor: "test", now });
        model.balance += amount;
      }),
    ),
    pick.map((n) => leaveQueue("time comes for", n, () => null)),
    pick.map((n) => leaveQueue("crash with", n, () => newId(systemClock.now().getTime()))),
  ];
}

const isWaiting = ({ status }: Known) => status === "QUEUED";
const isKeyed = ({ idempotencyKey }: Known) => idempotencyKey !== null;
const ORDINARY: Wish = { ending: "5678", segments: 1, isLater: false, isKeyed: false };

const RANKS: Record<string, number> = { QUEUED: 0, SENT: 1 };
const rankOf = (status: string) => RANKS[status] ?? 2;

/** Once everything is settled, the service reports what the model holds. */
async function assertEqual(api: TestApi, model: Model, { account }: Real): Promise<void> {
  const read = async <Body>(path: string) =>
    (await answered(() => api.get(path, account))).json<Body>();
  const told = await eventually("everything has gone its way", async () => {
    const { data } = await read<{ data: Message[] }>("/v1/messages?limit=100");
    const isOnItsWay = data.some(
      ({ messageId, status }) =>
        rankOf(status) < rankOf(model.messages.get(messageId)?.status ?? "QUEUED"),
    );
    return !isOnItsWay && data;
  });
  assert.deepEqual(
    new Map(told.map(({ messageId, status }) => [messageId, status])),
    new Map([...model.messages].map(([messageId, { status }]) => [messageId, status])),
  );
  const { balance } = await read<{ balance: number }>("/v1/credits");
  assert.equal(balance, model.balance);
}

test("no answer is untrue in any order of sends, retries, cancels, revocations, top-ups and crashes", async () => {
  await using api = await startApi({ settings: { ROLES: "api,sender" } });
  const beganMs = performance.now();
  await fc.assert(
    fc.asyncProperty(
      fc.commands(commandsOn(api), { maxCommands: 40, size: "max" }),
      async (commands) => {
        if (performance.now() - beganMs > LIMIT_MS) return;
        const account = await api.createAccount(FIRST_CREDITS);
        const model: Model = { balance: FIRST_CREDITS, messages: new Map() };
        await fc.asyncModelRun(() => ({ model, real: { account } }), commands);
        await assertSound(api.db);
      },
    ),
    { numRuns: 6 },
  );
});
