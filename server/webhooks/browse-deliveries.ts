import type { ToldEvent } from "#contract";
import { eventId, type EventKey, lanesOf, parseEventId } from "#messages";
import {
  allOf,
  idFloor,
  type Looked,
  type Page,
  type Position,
  type Queryable,
  sideOf,
  type Sql,
  sql,
} from "#platform";
import { type DeliveryRow, type DeliveryState, describeDeliveries } from "./describe-deliveries.ts";

export type DeliveryFilter = {
  states: readonly DeliveryState[] | null;
  events: readonly ToldEvent[] | null;
  /** A host, a host and port, or a scheme, host and port. */
  host: string | null;
  messageId: string | null;
  httpStatus: number | null;
  createdAfter: Date | null;
  createdBefore: Date | null;
};

export const NO_DELIVERY_FILTER: DeliveryFilter = {
  states: null,
  events: null,
  host: null,
  messageId: null,
  httpStatus: null,
  createdAfter: null,
  createdBefore: null,
};

/** The most deliveries to look at for one page if no index covers the filter. */
const MAX_LOOKED_AT = 2_000;

type BrowseRequest = Page & { accountId: string; filter: DeliveryFilter };

/** The size of the first look, in pages: enough for a filter that most deliveries pass. */
const FIRST_LOOK = 4;

/**
 * Deliveries of an account in the order of their messages, on one side of a position. The cost of a
 * page does not grow with what is kept: a filtered page looks at a bounded number.
 */
export async function browseDeliveries(
  db: Queryable,
  request: BrowseRequest,
): Promise<Looked<DeliveryRow>> {
  const { filter, limit } = request;
  const isFiltered = Object.values(filter).some((value) => value !== null);
  const most = isFiltered ? Math.min(FIRST_LOOK * limit, MAX_LOOKED_AT) : limit + 1;
  const first = await look(db, request, most);
  const isEnough = first.rows.length > limit || first.lookedUntil === null;
  if (!isFiltered || isEnough || most === MAX_LOOKED_AT) return first;
  return look(db, request, MAX_LOOKED_AT);
}

/** The wanted ones among the `most` nearest. */
async function look(
  db: Queryable,
  request: BrowseRequest,
  most: number,
): Promise<Looked<DeliveryRow>> {
  const { filter, limit, accountId } = request;
  const keys = await findKeys(db, request, most);
  const described = await describeDeliveries(db, accountId, keys);
  const rows = described.filter((row) => isWanted(row, filter)).slice(0, limit + 1);
  const last = keys.at(-1);
  const isCut = keys.length === most && rows.length <= limit;
  return { rows, lookedUntil: isCut && last ? eventId(last.message_id, last.sequence) : null };
}

const LIVE: readonly DeliveryState[] = ["waiting", "retrying"];
const UNDELIVERED: readonly DeliveryState[] = ["exhausted", "gone", "forbidden"];

/** Which deliveries to look at, nearest to the position first. */
function findKeys(
  db: Queryable,
  { accountId, filter, position }: BrowseRequest,
  most: number,
): Promise<EventKey[]> {
  const only = (states: readonly DeliveryState[]) =>
    filter.states?.every((state) => states.includes(state)) ?? false;
  const { order } = sideOf(position);
  const side = boundsOf(position, filter);
  const page = sql`order by k.message_id ${order}, k.sequence ${order} limit ${most}`;
  const lanes = lanesOf(accountId);
  const live = sql`
    (select k.message_id, k.sequence
       from webhook_deliveries k
      where k.host_key between ${lanes.first.toString()}::bigint and ${lanes.last.toString()}::bigint
        and k.account_id = ${accountId} and ${side}
      ${page})`;
  const tried = sql`
    (select distinct k.message_id, k.sequence
       from webhook_attempts k
      where k.account_id = ${accountId} and ${side}
        ${only(UNDELIVERED) ? sql`and k.ended in ('exhausted', 'gone', 'forbidden')` : sql``}
      ${page})`;
  const sources = only(LIVE) ? live : only(UNDELIVERED) ? tried : sql`${live} union ${tried}`;
  return db.query<EventKey>(sql`select k.message_id, k.sequence from (${sources}) k ${page}`);
}

/** The clocks of nodes differ by less: an event is older than its message by at most this. */
const EVENT_BEFORE_MESSAGE_MS = 60_000;

/** Starts a look at a past time there, not at the newest delivery. */
function boundsOf(position: Position, { messageId, createdBefore }: DeliveryFilter): Sql {
  const at = position === null ? undefined : parseEventId(position.id);
  const latest =
    createdBefore && idFloor(new Date(createdBefore.getTime() + EVENT_BEFORE_MESSAGE_MS));
  return allOf([
    at
      ? sql`(k.message_id, k.sequence) ${sideOf(position).beyond} (${at.messageId}::uuid, ${at.sequence}::smallint)`
      : null,
    messageId === null ? null : sql`k.message_id = ${messageId}`,
    latest === null ? null : sql`k.message_id < ${latest}`,
  ]);
}

function isWanted(row: DeliveryRow, filter: DeliveryFilter): boolean {
  const { states, events, host, httpStatus, createdAfter, createdBefore } = filter;
  return (
    (states === null || states.includes(row.state)) &&
    (events === null || events.includes(row.event)) &&
    (host === null || namesOf(row.url).includes(host.toLowerCase())) &&
    (httpStatus === null || row.last?.httpStatus === httpStatus) &&
    (createdAfter === null || row.createdAt >= createdAfter) &&
    (createdBefore === null || row.createdAt < createdBefore)
  );
}

/** Everything a person may mean by the host of a URL. */
function namesOf(url: string): string[] {
  const parsed = URL.parse(url);
  return parsed === null ? [] : [parsed.hostname, parsed.host, parsed.origin];
}
