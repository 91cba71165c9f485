import { type SmscOptions, startSmsc } from "#carriers";
import type { HistoryEntry, Message } from "#contract";
import { type SecretBox, sql, systemClock } from "#platform";
import { setRoute } from "#messages";
import type { Smsc } from "../../server/carriers/smsc.ts";
import { startApi, type TestApi } from "./api.ts";
import { eventually, LIMIT_MS } from "./eventually.ts";
import { makeCarrier } from "./make-carrier.ts";
import type { TestDatabase } from "./postgres.ts";

type WorldOptions = {
  /** The SMSCs behind carriers `c1`, `c2` …, in the order of the default route. */
  smscs?: SmscOptions[];
  /** The settings of each carrier. */
  settings?: Record<string, unknown>[];
  api?: Parameters<typeof startApi>[0];
};

export type SendingWorld = AsyncDisposable & {
  api: TestApi;
  smscs: Smsc[];
  /** Sends and returns the message as it was accepted. */
  send(body: object): Promise<Message>;
  read(messageId: string): Promise<Message>;
  history(messageId: string): Promise<HistoryEntry[]>;
  /** Resolves with the message once it has one of these statuses. */
  reached(messageId: string, ...statuses: string[]): Promise<Message>;
};

/** API and sender in one process; carriers over SMPP to SMSCs on loopback, or the simulator. */
export async function startSending({
  smscs: scripts = [],
  settings = [],
  api: apiOptions = {},
}: WorldOptions = {}): Promise<SendingWorld> {
  await using started = new AsyncDisposableStack();
  const smscs = await Promise.all(scripts.map((script) => startSmsc(script)));
  started.defer(async () => {
    await Promise.all(smscs.map((smsc) => smsc.stop()));
  });
  const options = {
    ...apiOptions,
    settings: {
      ROLES: "api,sender,webhooks",
      RATE_LIMIT_READS: "100000",
      RATE_LIMIT_READS_BURST: "100000",
      ...apiOptions.settings,
    },
    async prepare(db: TestDatabase, secrets: SecretBox) {
      await apiOptions.prepare?.(db, secrets);
      const carrierIds: string[] = [];
      for (const [position, { port }] of smscs.entries()) {
        const given = { port, rate: 0, reconnect: "100ms-200ms", ...settings[position] };
        const wish = { name: `c${position + 1}`, settings: given, secrets };
        carrierIds.push(await makeCarrier(db, wish));
      }
      if (carrierIds.length > 0)
        await setRoute(db, { prefix: "", carrierIds }, { actor: "test", now: systemClock.now() });
    },
  };
  const api = started.use(await startApi(options));
  await within("a carrier binds", Promise.all(smscs.map((smsc) => smsc.bound())));

  const running = started.move();
  const read = async (messageId: string) => (await api.get(`/v1/messages/${messageId}`)).json();
  return {
    api,
    smscs,
    read,
    async send(body) {
      const answer = await api.send(body);
      if (answer.statusCode !== 202) throw new Error(`The message was refused: ${answer.body}`);
      return answer.json();
    },
    history: async (messageId) => (await api.get(`/v1/messages/${messageId}/events`)).json().data,
    async reached(messageId, ...statuses) {
      const isReached = async () => {
        const rows = await api.db.query(sql`
          select from messages
           where account_id = ${api.accountId} and message_id = ${messageId} and status = any (${statuses})`);
        return rows.length > 0;
      };
      await eventually(`a message is ${statuses.join(" or ")}`, isReached).catch(async (error) => {
        throw new Error(`It is ${JSON.stringify(await read(messageId))}`, { cause: error });
      });
      return read(messageId);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Fails with the name of what it waits for, instead of hanging forever. */
async function within<Result>(what: string, promise: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const cancel = systemClock.timer(LIMIT_MS, () =>
    late.reject(new Error(`waited in vain until ${what}`)),
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    cancel();
  }
}
