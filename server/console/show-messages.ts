import { findKeyNames } from "#accounts";
import type { ConsoleMessage, MemberRole } from "#contract";
import { findQueuedFor, type MessageRow } from "#messages";
import type { Queryable } from "#platform";
import { findCarrierNames, findCarriersAway, findLastCarriers } from "#sending";
import { showMessage } from "./mask.ts";

export type Account = { accountId: string; role: MemberRole };

/** Messages of an account as a role may see them, with the names of their keys and carriers. */
export async function showMessages(
  db: Queryable,
  rows: MessageRow[],
  { accountId, role }: Account,
): Promise<ConsoleMessage[]> {
  const idsOf = (is: (row: MessageRow) => boolean) =>
    rows.filter(is).map(({ message_id }) => message_id);
  const [keys, last, queued] = await Promise.all([
    findKeyNames(db, accountId, distinct(rows.map(({ key_id }) => key_id))),
    findLastCarriers(db, idsOf(isUnsettled)),
    findQueuedFor(db, idsOf(isQueued)),
  ]);
  const carrierOf = ({ message_id: id, carrier_id: first }: MessageRow) =>
    last.get(id) ?? queued.get(id) ?? first;
  const [carriers, away] = await Promise.all([
    findCarrierNames(db, distinct([...rows.map(carrierOf), ...queued.values()])),
    findCarriersAway(db, distinct([...queued.values()])),
  ]);
  const waitsFor = ({ message_id }: MessageRow) => {
    const id = queued.get(message_id) ?? "";
    const carrier = carriers.get(id);
    return carrier ? { carrier: carrier.name, away: away.get(id) ?? null } : null;
  };
  return rows.map((row) => ({
    message: showMessage(row, role),
    version: row.sequence,
    isMasked: role === "viewer",
    key: row.key_id === null ? null : { keyId: row.key_id, name: keys.get(row.key_id) ?? "" },
    carrier: carriers.get(carrierOf(row) ?? "") ?? null,
    isSubmitted: last.has(row.message_id) || !isUnsettled(row),
    waitsFor: waitsFor(row),
  }));
}

function isQueued({ status }: MessageRow): boolean {
  return status === "QUEUED";
}

/** Until a carrier has accepted all segments, the row names the first carrier of the route. */
function isUnsettled(row: MessageRow): boolean {
  return isQueued(row) || row.status === "FAILED";
}

function distinct(ids: (string | null)[]): string[] {
  return [...new Set(ids)].filter((id) => id !== null);
}
