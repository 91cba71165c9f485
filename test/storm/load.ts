import { createKey, revokeKey } from "#accounts";
import { bookCredits } from "#credits";
import type { Message } from "#contract";
import { DatabaseUnavailable, systemClock } from "#platform";
import { eventually } from "../support/eventually.ts";
import { call } from "./call.ts";
import type { Outcome, Send, Wish } from "./history.ts";
import type { Random } from "./random.ts";
import { recipients, textFor } from "./wishes.ts";
import type { World } from "./world.ts";

type Key = { key: string; keyId: string; accountId: string };

export type Load = {
  /** Sends these at once, in addition to what the clients do. */
  burst(count: number): Promise<void>;
  /** Logs every account's balance, as each node reports it. */
  tellBalances(): Promise<void>;
  stop(): Promise<void>;
};

type Options = { world: World; random: Random; clients: number; restMs: number };

/** After an unknown outcome, requests are retried with the same key, as a client library does. */
const MAX_TRIES = 4;
const TRY_AGAIN_MS = 150;
const HOUR_MS = 3_600_000;
/** The minimum that a client may ask for: a message may then expire while its carrier is away. */
const SHORT_VALIDITY = { validitySeconds: 60 };

/**
 * Clients that send, repeat, read, cancel and page through lists, and an operator who creates and
 * revokes keys and tops up. All is logged, and chosen at random from one seed. The first account is
 * rich, the second always short of credits, the third small enough to be paged through.
 */
export async function startLoad({ world, random, clients, restMs }: Options): Promise<Load> {
  const { history, db, nodes, accountIds } = world;
  const [rich = "", poor = "", small = ""] = accountIds;
  const numbers = recipients(random);
  const keys: Key[] = [];
  const revoked: Key[] = [];
  const accepted: { messageId: string; key: Key }[] = [];
  const keyed: { wishes: Wish[]; key: Key; idempotencyKey: string }[] = [];
  const stopping = new AbortController();
  let count = 0;

  const nodeOf = () => {
    const serving = nodes.filter(({ roles }) => roles.includes("api"));
    return serving[random.between(0, serving.length - 1)] ?? nodes[0];
  };
  const keyOf = (accountId: string) => {
    const own = keys.filter((key) => key.accountId === accountId);
    return own[random.between(0, own.length - 1)];
  };

  async function makeKey(accountId: string): Promise<void> {
    const wish = { accountId, name: "storm", scopes: ["messages:send", "messages:read"] as const };
    const made = await createKey(db, {
      ...wish,
      expiresAt: null,
      actor: "storm",
      now: systemClock.now(),
    });
    if (made.outcome === "created") keys.push({ key: made.key, keyId: made.keyId, accountId });
  }

  async function topUp(accountId: string, amount: number): Promise<void> {
    const note = `top-up ${(count += 1)}`;
    const t0 = performance.now();
    const booking = { accountId, kind: "topup" as const, amount, note, reference: note };
    const outcome = await settled(
      bookCredits(db, { ...booking, actor: "storm", now: systemClock.now() }),
    );
    history.log({ kind: "topup", accountId, amount, note, outcome, t0, t1: performance.now() });
  }

  async function revoke(key: Key): Promise<void> {
    keys.splice(keys.indexOf(key), 1);
    const t0 = performance.now();
    const outcome = await settled(
      revokeKey(db, { keyId: key.keyId, actor: "storm", now: systemClock.now() }),
    );
    history.log({ kind: "revocation", keyId: key.keyId, outcome, t0, t1: performance.now() });
    revoked.push(key);
  }

  function newWish(): Wish {
    const reference = `storm-${(count += 1)}`;
    const validity = random.isLikely(0.2) ? SHORT_VALIDITY : {};
    return { reference, recipient: numbers.next(), text: textFor(reference, random), ...validity };
  }

  type Try = { wishes: Wish[]; key: Key; idempotencyKey: string | null; sendAt?: string };

  async function sendOnce({ wishes, key, idempotencyKey, sendAt }: Try): Promise<Send> {
    const node = nodeOf();
    const bodies = wishes.map((wish) => ({
      ...wish,
      ...(sendAt === undefined ? {} : { sendAt }),
      ...(random.isLikely(0.7) || idempotencyKey !== null
        ? { callbackUrl: world.callbackUrl }
        : {}),
    }));
    const answer = await call<Message & { data: Message[] }>(node?.url ?? "", {
      method: "POST",
      path: bodies.length === 1 ? "/v1/messages" : "/v1/messages/batch",
      key: key.key,
      ...(idempotencyKey === null ? {} : { idempotencyKey }),
      body: bodies.length === 1 ? bodies[0] : { messages: bodies },
    });
    const messages = answer.body ? (answer.body.data ?? [answer.body]) : [];
    const isOk = answer.outcome === "ok";
    const send: Send = {
      kind: "send",
      node: node?.number ?? 0,
      accountId: key.accountId,
      keyId: key.keyId,
      idempotencyKey,
      wishes,
      outcome: answer.outcome,
      code: answer.code,
      messageIds: isOk ? messages.map(({ messageId }) => messageId) : [],
      required: answer.required,
      available: answer.available,
      t0: answer.t0,
      t1: answer.t1,
    };
    history.log(send);
    for (const messageId of send.messageIds) accepted.push({ messageId, key });
    return send;
  }

  async function send(tried: Try): Promise<Send> {
    let last = await sendOnce(tried);
    for (let n = 1; n < MAX_TRIES && last.outcome === "unknown"; n += 1) {
      if (tried.idempotencyKey === null) break;
      await systemClock.sleep(TRY_AGAIN_MS * n);
      last = await sendOnce(tried);
    }
    return last;
  }

  async function sendSome(size: number, accountId: string): Promise<void> {
    const key = keyOf(accountId);
    if (!key) return;
    const wishes = Array.from({ length: size }, newWish);
    const idempotencyKey = random.isLikely(0.5) ? `key-${(count += 1)}` : null;
    if (idempotencyKey !== null) keyed.push({ wishes, key, idempotencyKey });
    await send({ wishes, key, idempotencyKey });
  }

  /** Repeats a send, or uses its key for something else, which must be refused. */
  async function repeat(): Promise<void> {
    const earlier = keyed[random.between(0, keyed.length - 1)];
    if (!earlier || !keys.includes(earlier.key)) return;
    await send(random.isLikely(0.8) ? earlier : { ...earlier, wishes: [newWish()] });
  }

  async function cancel(): Promise<void> {
    const key = keyOf(rich);
    if (!key) return;
    const sendAt = new Date(systemClock.now().getTime() + HOUR_MS).toISOString();
    const sent = await send({ wishes: [newWish()], key, idempotencyKey: null, sendAt });
    for (const messageId of sent.messageIds) {
      const path = `/v1/messages/${messageId}/cancel`;
      const answer = await call(nodeOf()?.url ?? "", { method: "POST", path, key: key.key });
      const { code, t0, t1 } = answer;
      // A cancellation may have been committed before its connection broke.
      const outcome = code === "UNAVAILABLE" ? "unknown" : answer.outcome;
      history.log({ kind: "cancel", messageId, outcome, code, t0, t1 });
    }
  }

  async function read(): Promise<void> {
    const one = accepted[random.between(0, accepted.length - 1)];
    const key = one && (keys.includes(one.key) ? one.key : keyOf(one.key.accountId));
    if (!key) return;
    const node = nodeOf();
    const path = `/v1/messages/${one.messageId}`;
    const { t0, t1, body, code } = await call<Message>(node?.url ?? "", {
      method: "GET",
      path,
      key: key.key,
    });
    const seen = {
      node: node?.number ?? 0,
      messageId: one.messageId,
      status: body?.status ?? null,
      code,
    };
    history.log({ kind: "read", ...seen, t0, t1 });
  }

  type Page = { data: Message[]; nextCursor: string | null };

  async function walk(): Promise<void> {
    const key = keyOf(small);
    if (!key) return;
    const began = performance.now();
    const messageIds: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const path: string = `/v1/messages?limit=20${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
      const page = await call<Page>(nodeOf()?.url ?? "", { method: "GET", path, key: key.key });
      // The walk was cut off: half of it proves nothing.
      if (page.outcome !== "ok" || !page.body) return;
      messageIds.push(...page.body.data.map(({ messageId }) => messageId));
      cursor = page.body.nextCursor;
    }
    const span = { t0: began, t1: performance.now() };
    history.log({ kind: "walk", accountId: small, messageIds, ...span });
  }

  async function useRevoked(): Promise<void> {
    const key = revoked[random.between(0, revoked.length - 1)];
    if (key) await send({ wishes: [newWish()], key, idempotencyKey: null });
  }

  async function act(): Promise<void> {
    const chance = random.next();
    if (chance < 0.52) return sendSome(1, rich);
    if (chance < 0.6) return sendSome(1, poor);
    if (chance < 0.64) return sendSome(1, small);
    if (chance < 0.69) return sendSome(random.between(2, 8), rich);
    if (chance < 0.76) return repeat();
    if (chance < 0.9) return read();
    if (chance < 0.94) return cancel();
    return chance < 0.97 ? walk() : useRevoked();
  }

  async function client(): Promise<void> {
    while (!stopping.signal.aborted) {
      await act();
      await systemClock.sleep(random.between(0, 2 * restMs));
    }
  }

  async function operator(): Promise<void> {
    while (!stopping.signal.aborted) {
      await systemClock.sleep(random.between(100, 500));
      const victim = keys.length > 6 ? keys[random.between(0, keys.length - 1)] : undefined;
      if (victim && random.isLikely(0.5)) await revoke(victim);
      await makeKey(random.pick([rich, poor, small])).catch(ignoreAbsence);
      if (random.isLikely(0.4)) await topUp(poor, random.between(1, 10));
    }
  }

  for (const accountId of accountIds) await makeKey(accountId);
  await topUp(rich, 1_000_000);
  await topUp(poor, 5);
  await topUp(small, 100_000);
  const running = [...Array.from({ length: clients }, client), operator()];
  return {
    async burst(size) {
      await Promise.all(Array.from({ length: size }, () => sendSome(1, rich)));
    },
    async tellBalances() {
      for (const accountId of accountIds) {
        const key = keyOf(accountId) ?? (await makeKey(accountId).then(() => keyOf(accountId)));
        for (const { url, number: node, roles } of nodes) {
          if (!roles.includes("api")) continue;
          const given = { method: "GET", path: "/v1/credits", key: key?.key ?? "" } as const;
          const { body, t0, t1 } = await eventually(`node ${node} tells a balance`, async () => {
            const called = await call<{ balance: number }>(url, given);
            return called.outcome === "ok" && called;
          });
          const balance = body?.balance ?? Number.NaN;
          history.log({ kind: "balance", node, accountId, balance, t0, t1 });
        }
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function settled(work: Promise<unknown>): Promise<Outcome> {
  return work.then(
    () => "ok" as const,
    (error: unknown) => {
      ignoreAbsence(error);
      return "unknown" as const;
    },
  );
}

/** PostgreSQL is killed now and then; any other error is a bug. */
function ignoreAbsence(error: unknown): void {
  if (!(error instanceof DatabaseUnavailable)) throw error;
}
