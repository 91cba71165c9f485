import { findKeyNames } from "#accounts";
import type { ConsoleMessage, MemberRole } from "#contract";
import type { MessageRow } from "#messages";
import type { Queryable } from "#platform";
import { findCarrierNames } from "#sending";
import { showMessage } from "./mask.ts";

export type Account = { accountId: string; role: MemberRole };

/** Messages of an account as a role may see them, with the names of keys and carriers. */
export async function showMessages(
  db: Queryable,
  rows: MessageRow[],
  { accountId, role }: Account,
): Promise<ConsoleMessage[]> {
  const [keys, carriers] = await Promise.all([
    findKeyNames(db, accountId, distinct(rows.map(({ key_id }) => key_id))),
    findCarrierNames(db, distinct(rows.map(({ carrier_id }) => carrier_id))),
  ]);
  return rows.map((row) => ({
    message: showMessage(row, role),
    version: row.sequence,
    isMasked: role === "viewer",
    key: row.key_id === null ? null : { keyId: row.key_id, name: keys.get(row.key_id) ?? "" },
    carrier: carriers.get(row.carrier_id ?? "") ?? null,
  }));
}

function distinct(ids: (string | null)[]): string[] {
  return [...new Set(ids)].filter((id) => id !== null);
}
