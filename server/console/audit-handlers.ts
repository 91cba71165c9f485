import { type AuditFilter, type AuditRow, browseAudit, findAccounts } from "#accounts";
import type { AuditEntry } from "#contract";
import { type Database, isId, type Position, type Queryable } from "#platform";
import { findActors } from "./actors.ts";
import type { ConsoleHandlers, CsvAnswer } from "./console-call.ts";
import { csvLine } from "./csv.ts";
import { judgeTime, nulFaults, refuseFields } from "./field-problems.ts";
import type { Pager } from "./paging.ts";

type Asked = {
  accountId?: string;
  actor?: string;
  action?: string[];
  objectId?: string;
  after?: string;
  before?: string;
};

const MAX_CSV_ROWS = 100_000;
const CSV_PAGE = 1_000;

/** The audit log: who changed what, and when. */
export function auditHandlers({ db, pager }: { db: Database; pager: Pager }) {
  return {
    async listAudit({ query }) {
      const { limit: _limit, cursor: _cursor, ...asked } = query;
      const filter = filterOf(asked);
      const { rows, cursors } = await pager.list(query, {
        boundTo: ["audit", filter],
        browse: (page) => browseAudit(db, { filter, ...page }),
        idOf: (row) => row.audit_id,
      });
      return { data: await present(db, rows), ...cursors };
    },

    exportAudit({ query }): Promise<CsvAnswer> {
      return Promise.resolve({ fileName: "audit.csv", lines: csvOf(db, filterOf(query)) });
    },
  } satisfies Partial<ConsoleHandlers>;
}

function filterOf(asked: Asked): AuditFilter {
  const { accountId = null, actor = null, action = null, objectId = null } = asked;
  const [after, before] = [judgeTime(asked.after), judgeTime(asked.before)];
  refuseFields({
    accountId: accountId === null || isId(accountId) ? [] : ["accountId must be an account's id."],
    actor: nulFaults("actor", actor),
    action: nulFaults("action", action?.join("")),
    objectId: nulFaults("objectId", objectId),
    after: after.faults,
    before: before.faults,
  });
  return {
    accountId,
    actor,
    actions: action,
    objectId,
    after: after.time,
    before: before.time,
  };
}

async function present(db: Queryable, rows: AuditRow[]): Promise<AuditEntry[]> {
  const accountIds = rows.map(({ account_id }) => account_id).filter((id) => id !== null);
  const [actors, accounts] = await Promise.all([
    findActors(
      db,
      rows.map(({ actor }) => actor),
    ),
    findAccounts(db, [...new Set(accountIds)]),
  ]);
  const names = new Map(accounts.map(({ account_id, name }) => [account_id, name]));
  return rows.map((row) => ({
    auditId: row.audit_id,
    at: row.at.toISOString(),
    accountId: row.account_id,
    accountName: names.get(row.account_id ?? "") ?? null,
    actor: actors(row.actor),
    actorId: row.actor.startsWith("user:") ? row.actor.slice(5) : null,
    address: row.address,
    action: row.action,
    objectId: row.object_id,
    details: row.details,
    requestId: row.request_id,
  }));
}

async function* csvOf(db: Database, filter: AuditFilter): AsyncGenerator<string> {
  yield csvLine([
    "auditId",
    "at",
    "account",
    "actor",
    "address",
    "action",
    "objectId",
    "details",
    "requestId",
  ]);
  let position: Position = null;
  for (let written = 0; written < MAX_CSV_ROWS; written += CSV_PAGE) {
    const rows: AuditRow[] = await browseAudit(db, { filter, position, limit: CSV_PAGE - 1 });
    for (const entry of await present(db, rows)) {
      const { auditId, at, accountName, actor, address, action, objectId, details, requestId } =
        entry;
      const told = JSON.stringify(details);
      yield csvLine([
        auditId,
        at,
        accountName,
        actor.name,
        address,
        action,
        objectId,
        told,
        requestId,
      ]);
    }
    const last = rows.at(-1);
    if (!last || rows.length < CSV_PAGE) return;
    position = { direction: "older", id: last.audit_id };
  }
}
