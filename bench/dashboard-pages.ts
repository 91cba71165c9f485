import { type ConsoleOperation, type ConsoleOperationName, consoleOperations } from "#contract";
import { eventId } from "#messages";
import { systemClock as clock } from "#platform";
import { percentile } from "./percentile.ts";

/** A signed-in user, as a browser sees it. */
export type Visitor = { url: string; cookie: string };

type Query = Record<string, string>;
/** The nth query; the previous answer says where a reader would go on. */
type Asking = (n: number, before: { nextCursor?: string | null }) => Query;
export type Known = { accountId: string; keyId: string; userId: string; messageIds: string[] };
export type Timed = { page: string; p50Ms: number; p95Ms: number };

const WARM_UP = 5;
const HOUR_MS = 3_600_000;

/** Reads every list and panel of the dashboard `times` times over HTTP, one after the other. */
export async function timePages(visitor: Visitor, known: Known, times: number): Promise<Timed[]> {
  const asked = askings(known);
  const timed: Timed[] = [];
  for (const [name, operation] of Object.entries<ConsoleOperation>(consoleOperations)) {
    if (!isRead(name, operation)) continue;
    const kinds = asked[name as ConsoleOperationName] ?? { "": () => ({}) };
    for (const [kind, asking] of Object.entries(kinds)) {
      const { path } = operation;
      const durations = await time(visitor, { path, asking, known, times });
      const page = kind === "" ? name : `${name}, ${kind}`;
      timed.push({ page, p50Ms: percentile(durations, 0.5), p95Ms: percentile(durations, 0.95) });
    }
  }
  return timed;
}

/** Files and streams are not pages, and nothing here has a setup or a replay to read. */
function isRead(name: string, { method, success }: ConsoleOperation): boolean {
  const isPage = method === "GET" && success.type === undefined;
  return isPage && !["readSetup", "readReplay"].includes(name);
}

/** The filters that pages offer, common and rare; a rare one causes the longest search. */
function askings(known: Known): Partial<Record<ConsoleOperationName, Record<string, Asking>>> {
  const { accountId, keyId, userId, messageIds } = known;
  const id = (n: number) => messageIds[n % messageIds.length] ?? "";
  const ago = (hours: number) => new Date(clock.now().getTime() - hours * HOUR_MS).toISOString();
  const lists = { "first page": () => ({}), "page after page": further({}) };
  const ranges = Object.fromEntries(
    ["1h", "24h", "7d", "30d"].map((range) => [range, () => ({ range, zone: "Europe/Paris" })]),
  );
  return {
    browseMessages: {
      ...lists,
      "100 a page": further({ limit: "100" }),
      "one recipient": (n) => ({ recipient: `49151${String(n * 7).padStart(8, "0")}` }),
      "one reference": (n) => ({ reference: `order-${n * 7}` }),
      "recipient and reference": (n) => ({
        recipient: `49151${String(n * 7).padStart(8, "0")}`,
        reference: `order-${n * 7}`,
      }),
      "status DELIVERED": () => ({ status: "DELIVERED" }),
      "status FAILED": further({ status: "FAILED" }),
      "a rare error": further({ errorCode: "REJECTED_BY_CARRIER" }),
      "one key": () => ({ keyId }),
      "sent by people": further({ keyId: "console" }),
      "a sender nobody has": further({ sender: "Nobody" }),
      "the last hour": () => ({ createdAfter: ago(1) }),
      "a day of last week": () => ({ createdAfter: ago(192), createdBefore: ago(168) }),
    },
    listDeliveries: {
      ...lists,
      "state delivered": further({ state: "delivered" }),
      "state exhausted": further({ state: "exhausted" }),
      "state retrying": further({ state: "retrying" }),
      "one host": further({ host: "host-7.example.com" }),
      "a host nobody has": further({ host: "nobody.example.com" }),
      "one event": further({ event: "message.undelivered" }),
      "one message": (n) => ({ messageId: id(n) }),
      "answer 503": further({ httpStatus: "503" }),
      "a day of last week": () => ({ createdAfter: ago(192), createdBefore: ago(168) }),
    },
    listLedger: {
      ...lists,
      charges: further({ kind: "charge" }),
      refunds: further({ kind: "refund" }),
      "top-ups": () => ({ kind: "topup" }),
      "one message": (n) => ({ messageId: id(n) }),
      "one month": () => ({ month: ago(0).slice(0, 7) }),
    },
    listKeys: { ...lists, revoked: () => ({ state: "revoked" }) },
    listAccounts: { ...lists, "by name": () => ({ q: "customer 77" }) },
    listUsers: { ...lists, "by e-mail": () => ({ q: "customer77@" }) },
    listAudit: {
      ...lists,
      "one account": further({ accountId }),
      "one person": further({ actor: `user:${userId}` }),
      "a person nobody knows": () => ({ actor: "user:nobody" }),
      "a rare action": further({ action: "carrier.paused" }),
      "an action nobody took": () => ({ action: "key.forgotten" }),
      "one object": (n) => ({ objectId: String(n * 7) }),
      "a day of last month": () => ({ after: ago(744), before: ago(720) }),
    },
    readSummary: ranges,
    readStatuses: ranges,
    readLatency: ranges,
    readCreditsUse: ranges,
    readErrors: ranges,
    readWebhookHealth: ranges,
    findRoute: { "": () => ({ recipient: "4915112345678" }) },
    findPrice: { "": () => ({ recipient: "4915112345678" }) },
  };
}

/** A reader who pages through the list, and starts again after the last page. */
function further(query: Query): Asking {
  return (_n, { nextCursor }) => (nextCursor ? { ...query, cursor: nextCursor } : query);
}

type Wanted = { path: string; asking: Asking; known: Known; times: number };

async function time(visitor: Visitor, { path, asking, known, times }: Wanted): Promise<number[]> {
  const durations: number[] = [];
  let before = {};
  for (let n = -WARM_UP; n < times; n += 1) {
    const messageId = known.messageIds[(n + WARM_UP) % known.messageIds.length] ?? "";
    const address = path
      .replace("{accountId}", known.accountId)
      .replace("{messageId}", messageId)
      .replace("{deliveryId}", eventId(messageId, 2));
    const query = new URLSearchParams(asking(n + WARM_UP, before));
    const startMs = clock.monotonicMs();
    before = await read(visitor, `${address}?${query.toString()}`);
    if (n >= 0) durations.push(clock.monotonicMs() - startMs);
  }
  return durations;
}

async function read({ url, cookie }: Visitor, address: string): Promise<object> {
  const answer = await fetch(`${url}${address}`, { headers: { cookie } });
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as object;
}
