import {
  browseDeliveries,
  type DeliveryRow,
  type DeliveryState,
  finishReplay,
  MAX_REPLAYED,
  NO_DELIVERY_FILTER,
  replayDelivery,
  startBulkReplay,
} from "#webhooks";
import type { Queryable } from "#platform";
import { accountOption, requireAccount } from "./accounts.ts";
import { ACTOR, command, CommandFailure, type Context, WrongCall } from "./command.ts";
import { flag, optional, unless, withFallback } from "./input.ts";
import { id, moment, momentBefore, oneOf, wholeNumber } from "./input-values.ts";
import { facts, table } from "./table.ts";

/** The API's names of states; internally, `pending` is told apart as waiting or retrying. */
const states = {
  pending: ["waiting", "retrying"],
  delivered: ["delivered"],
  exhausted: ["exhausted"],
  gone: ["gone"],
  forbidden: ["forbidden"],
} as const satisfies Record<string, readonly DeliveryState[]>;
type State = keyof typeof states;
const stateNames = Object.keys(states) as State[];

const list = command({
  name: "webhook list",
  summary: "Lists an account's webhook deliveries, newest first.",
  options: {
    account: accountOption,
    state: optional(
      "STATE",
      oneOf(stateNames),
      `Only deliveries in this state: ${stateNames.join(", ")}.`,
    ),
    limit: withFallback("N", wholeNumber(1, 10_000), {
      meaning: "Most deliveries to show.",
      fallback: "100",
    }),
  },
  prints:
    '{"data":[{"deliveryId","messageId","event","sequence","url","state","attempts","createdAt","nextAttemptAt","lastAttemptAt","lastHttpStatus","lastError"}]}',
  examples: ["webhook list --account 019a85c2-5b00-7abc-8def-0123456789ab --state exhausted"],
  async run({ account, state, limit }, context) {
    const { db } = await context.installation();
    await requireAccount(db, account);
    const rows = await newestDeliveries(db, { accountId: account, state, limit });
    const data = rows.map(presentDelivery);
    const lines = data.map((row) => [
      row.deliveryId,
      row.event,
      row.state,
      row.attempts,
      row.lastHttpStatus ?? row.lastError,
      row.url,
    ]);
    const columns = ["DELIVERY", "EVENT", "STATE", "ATTEMPTS", "LAST ANSWER", "URL"];
    return { json: { data }, text: table(columns, lines) };
  },
});

type ListRequest = { accountId: string; state: State | undefined; limit: number };

/** A filtered page looks at a bounded number of deliveries, so one page may not be enough. */
async function newestDeliveries(
  db: Queryable,
  { accountId, state, limit }: ListRequest,
): Promise<DeliveryRow[]> {
  const filter = { ...NO_DELIVERY_FILTER, states: state === undefined ? null : states[state] };
  const found: DeliveryRow[] = [];
  let position: { direction: "older"; id: string } | null = null;
  do {
    const request = { accountId, filter, position, limit: limit - found.length };
    const { rows, lookedUntil } = await browseDeliveries(db, request);
    found.push(...rows);
    position = lookedUntil === null ? null : { direction: "older", id: lookedUntil };
  } while (position !== null && found.length < limit);
  return found.slice(0, limit);
}

function presentDelivery(row: DeliveryRow) {
  const { last, createdAt, nextAttemptAt } = row;
  const isPending = row.state === "waiting" || row.state === "retrying";
  return {
    deliveryId: row.deliveryId,
    messageId: row.messageId,
    event: row.event,
    sequence: row.sequence,
    url: row.url,
    state: isPending ? "pending" : row.state,
    attempts: row.attempts,
    createdAt: createdAt.toISOString(),
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    lastAttemptAt: last?.at.toISOString() ?? null,
    lastHttpStatus: last?.httpStatus ?? null,
    lastError: last?.errorClass ?? null,
  };
}

const SINCE = "30d";

const replay = command({
  name: "webhook replay",
  summary: "Delivers a webhook again, or all exhausted ones of an account.",
  arguments: {
    delivery: unless("exhausted", optional("ID", id, "The delivery's id; see webhook list.")),
  },
  options: {
    account: optional("ID", id, accountOption.meaning),
    exhausted: flag("All of the account's exhausted deliveries that were not replayed since."),
    since: unless(
      "delivery",
      withFallback("TIME", moment, {
        meaning: "Only those that ended after this: an ISO time, or a time before now such as 24h.",
        fallback: SINCE,
      }),
    ),
  },
  prints: '{"replayed":n}',
  examples: [
    "webhook replay 019a85c2-5b00-7abc-8def-0123456789a2",
    "webhook replay --account 019a85c2-5b00-7abc-8def-0123456789ab --exhausted --since 24h",
  ],
  async run({ delivery, account, exhausted, since = moment(SINCE) }, context) {
    const now = context.clock.now();
    const replayed =
      delivery === undefined
        ? await replayExhausted(context, { account, exhausted, since: momentBefore(since, now) })
        : await replayOne(context, delivery, account);
    return { json: { replayed }, text: facts({ replayed }) };
  },
});

async function replayOne(
  context: Context,
  deliveryId: string,
  accountId: string | undefined,
): Promise<number> {
  const { db } = await context.installation();
  const request = { deliveryId, actor: ACTOR, now: context.clock.now() };
  const { outcome } = await replayDelivery(db, accountId ? { ...request, accountId } : request);
  switch (outcome) {
    case "replayed":
    case "repeated":
      return 1;
    case "not_found":
      throw new CommandFailure(
        `There is no delivery ${deliveryId}. List an account's with: npx posthorn webhook list --account ID`,
      );
    case "in_flight":
      throw new CommandFailure(
        "It is being attempted right now. Repeat the command when that attempt has ended.",
      );
    case "too_old":
      throw new CommandFailure("It is older than 30 days and can no longer be replayed.");
  }
}

type Exhausted = { account: string | undefined; exhausted: boolean; since: Date };

async function replayExhausted(context: Context, request: Exhausted): Promise<number> {
  const { account, exhausted, since } = request;
  if (account === undefined || !exhausted) {
    throw new WrongCall("Say what to replay: the ID of a delivery, or --account ID --exhausted.");
  }
  const { db } = await context.installation();
  await requireAccount(db, account);
  const { clock } = context;
  const bulk = { accountId: account, since, actor: ACTOR, now: clock.now() };
  const { replayId } = await startBulkReplay(db, bulk);
  const replayed = await finishReplay({ db, clock }, replayId);
  if (replayed >= MAX_REPLAYED)
    context.terminal.say(
      `At most ${MAX_REPLAYED} are replayed at once; repeat the command for the rest.`,
    );
  return replayed;
}

export const webhookCommands = [list, replay];
