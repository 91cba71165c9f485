import { once } from "node:events";
import { createAccount } from "#accounts";
import { type Reply, startSmsc } from "#carriers";
import { setRoute } from "#messages";
import {
  type Database,
  migrate,
  openDatabase,
  type SecretBox,
  silentLog,
  systemClock,
} from "#platform";
import type { ReceivedSubmit } from "../../server/carriers/smsc-script.ts";
import type { Smsc } from "../../server/carriers/smsc.ts";
import { dataFolder } from "../support/data-folder.ts";
import { makeCarrier } from "../support/make-carrier.ts";
import { type Receiver, type Answer, startReceiver } from "../support/receiver.ts";
import { TEST_SECRETS } from "../support/secret-key.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import type { History } from "./history.ts";
import { type StormNode, startNode } from "./node.ts";

/** Everything that a storm can disturb, and the means to judge it. */
export type World = AsyncDisposable & {
  history: History;
  /** The operator's own connections, which bypass the proxies. */
  db: Database;
  databaseUrl: string;
  secrets: SecretBox;
  postgres: { pid(): number };
  nodes: StormNode[];
  smsc: Smsc;
  smscProxy: TcpProxy;
  receiver: Receiver;
  receiverProxy: TcpProxy;
  callbackUrl: string;
  accountIds: string[];
  /** Sets how the SMSC answers from now on; by default it depends on the recipient. */
  answerSubmits(reply: Reply): void;
  answerPosts(answer: Answer): void;
};

export type WorldOptions = {
  history: History;
  /** The roles of each node. */
  roles?: string[];
  accounts?: number;
  /** Uses another PostgreSQL, such as a pair, instead of starting one. */
  postgres?: { url: string; nodeUrl: string; pid(): number };
};

/** PostgreSQL, nodes behind proxies, an SMSC and a receiver: all on loopback, all killable. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { history, roles = ["api,sender,webhooks", "api,sender,webhooks"], accounts = 3 } = options;
  await using built = new AsyncDisposableStack();
  const postgres = options.postgres ?? (await ownPostgres(built));
  await migrate(postgres.url);
  const db = openDatabase({
    url: postgres.url,
    log: silentLog,
    maxConnections: 4,
    statementTimeoutMs: 60_000,
  });
  built.defer(() => db.close());
  const secrets = TEST_SECRETS;

  const carrier = await startCarrier(history);
  built.defer(() => carrier.smsc.stop());
  const smscProxy = built.use(await startTcpProxy({ host: "127.0.0.1", port: carrier.smsc.port }));
  const hook = await startHook(history);
  built.use(hook.receiver);
  const receiverProxy = built.use(
    await startTcpProxy({ host: "127.0.0.1", port: hook.receiver.port }),
  );
  await addRoutes(db, secrets, smscProxy.port);
  const accountIds: string[] = [];
  for (let n = 0; n < accounts; n += 1) {
    const account = { name: `storm ${n}`, actor: "storm", now: systemClock.now(), secrets };
    accountIds.push((await createAccount(db, account)).accountId);
  }
  const nodes = await Promise.all(
    roles.map((each, number) => startNode({ number, roles: each, databaseUrl: postgres.nodeUrl })),
  );
  for (const node of nodes) built.use(node);
  const kept = built.move();
  return {
    history,
    db,
    databaseUrl: postgres.url,
    secrets,
    postgres,
    nodes,
    smsc: carrier.smsc,
    smscProxy,
    receiver: hook.receiver,
    receiverProxy,
    callbackUrl: `http://127.0.0.1:${receiverProxy.port}/hook`,
    accountIds,
    answerSubmits: carrier.answer,
    answerPosts: hook.answer,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function ownPostgres(built: AsyncDisposableStack) {
  const folder = built.use(await dataFolder());
  const postgres = built.use(await folder.supervise());
  return { url: postgres.url, nodeUrl: postgres.url, pid: postgres.pid };
}

/** Recipients with this prefix go to the carrier that never resends what is in doubt. */
export const NEVER_AGAIN_PREFIX = "4917";

async function addRoutes(db: Database, secrets: SecretBox, port: number): Promise<void> {
  const now = systemClock.now();
  const settings = {
    port,
    window: 20,
    binds: 4,
    response_timeout: "3s",
    enquire_link: "3s",
    enquire_link_timeout: "2s",
    bind_timeout: "3s",
    reconnect: "100ms-1s",
    reconnect_already_bound: "100ms-1s",
    reconnect_refused: "100ms-1s",
  };
  // With a rate limit, segments wait in line: a node that froze meanwhile must not send them later.
  for (const [name, inDoubt, prefix, rate] of [
    ["again", "resend", "", 0],
    ["never again", "fail", NEVER_AGAIN_PREFIX, 30],
  ] as const) {
    const wish = { name, settings: { ...settings, rate, in_doubt: inDoubt }, secrets };
    const carrierId = await makeCarrier(db, wish);
    await setRoute(db, { prefix, carrierIds: [carrierId] }, { actor: "storm", now });
  }
}

/** An SMSC that logs each submit before answering it, and each receipt as it leaves. */
async function startCarrier(history: History) {
  let reply: Reply = "by_recipient";
  const answer = ({ recipient, text, concatenation }: ReceivedSubmit): Reply => {
    const isRefusedForNow = reply === "throttle" || reply === "queue_full";
    const segment = concatenation?.number ?? 1;
    const [t, at] = [performance.now(), Date.now()];
    history.log({ kind: "submit", t, at, recipient, segment, text, isRefusedForNow });
    return reply;
  };
  const spellId = (id: string) => {
    history.log({ kind: "receipt", carrierMessageId: id });
    return id;
  };
  const smsc = await startSmsc({ answer, receipts: { spellId, delayMs: 20 }, repeatMs: 300 });
  return { smsc, answer: (wanted: Reply) => void (reply = wanted) };
}

/** A receiver that logs POSTs and answers. The next change of `answer` releases held ones. */
async function startHook(history: History) {
  let answer: Answer = 200;
  let changed = Promise.withResolvers<void>();
  let count = 0;
  const receiver = await startReceiver(async ({ headers, body, closed }) => {
    const number = (count += 1);
    history.log({
      kind: "post",
      number,
      t: performance.now(),
      eventId: headers["webhook-id"] ?? "",
      timestamp: headers["webhook-timestamp"] ?? "",
      signature: headers["webhook-signature"] ?? "",
      body: body.toString(),
    });
    // If the connection is cut, the sender gives up too, and may retry.
    const cut = once(closed, "abort");
    while (answer === "hold" && !closed.aborted) await Promise.race([changed.promise, cut]);
    history.log({ kind: "answered", number, t: performance.now() });
    return answer === "hold" ? 503 : answer;
  });
  return {
    receiver,
    answer(wanted: Answer) {
      answer = wanted;
      changed.resolve();
      changed = Promise.withResolvers();
    },
  };
}
