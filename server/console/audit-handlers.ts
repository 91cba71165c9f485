import { type AuditFilter, type AuditRow, browseAudit, findAccountNames } from "#accounts";
import type { AuditEntry, ConsoleOperations, QueryOf } from "#contract";
import type { Pager } from "#http";
import { chosen, type Database, type Page, type Queryable, readBound, readId } from "#platform";
import { findActors } from "./actors.ts";
import type { ConsoleHandlers, CsvAnswer } from "./console-call.ts";
import { allPages, type Columns, csvOf } from "./csv.ts";

/** The audit log: who changed what, and when. */
export function auditHandlers({ db, pager }: { db: Database; pager: Pager }) {
  const listed = (filter: AuditFilter) => ({
    boundTo: ["audit", filter],
    browse: (page: Page) => browseAudit(db, { filter, ...page }),
    idOf: (row: AuditRow) => row.audit_id,
  });

  return {
    async listAudit({ query }) {
      const { rows, cursors } = await pager.list(query, listed(filterOf(query)));
      return { data: await present(db, rows), ...cursors };
    },

    exportAudit({ query }): Promise<CsvAnswer> {
      const pages = allPages(listed(filterOf(query)));
      const lines = csvOf({ columns: csvColumns, pages, show: (rows) => present(db, rows) });
      return Promise.resolve({ fileName: "audit.csv", lines });
    },
  } satisfies Partial<ConsoleHandlers>;
}

function filterOf(asked: QueryOf<ConsoleOperations["exportAudit"]>): AuditFilter {
  const { accountId = null, actor = null, objectId = null } = asked;
  return {
    accountId,
    actor: actor && actor.toLowerCase(),
    actions: chosen(asked.action),
    objectId: objectId && (readId(objectId) ?? objectId),
    after: readBound(asked.after),
    before: readBound(asked.before),
  };
}

async function present(db: Queryable, rows: AuditRow[]): Promise<AuditEntry[]> {
  const accountIds = rows.map(({ account_id }) => account_id).filter((id) => id !== null);
  const [actors, names] = await Promise.all([
    findActors(
      db,
      rows.map(({ actor }) => actor),
    ),
    findAccountNames(db, accountIds),
  ]);
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

const csvColumns: Columns<AuditEntry> = {
  auditId: ({ auditId }) => auditId,
  at: ({ at }) => at,
  account: ({ accountName }) => accountName,
  actor: ({ actor }) => actor.name,
  address: ({ address }) => address,
  action: ({ action }) => action,
  objectId: ({ objectId }) => objectId,
  details: ({ details }) => JSON.stringify(details),
  requestId: ({ requestId }) => requestId,
};
