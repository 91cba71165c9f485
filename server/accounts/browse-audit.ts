import {
  allOf,
  idFloor,
  listPage,
  type Looked,
  type Page,
  type Queryable,
  type Sql,
  sql,
} from "#platform";

export type AuditRow = {
  audit_id: string;
  at: Date;
  account_id: string | null;
  actor: string;
  action: string;
  object_id: string | null;
  details: Record<string, unknown>;
  address: string | null;
  request_id: string | null;
};

export type AuditFilter = {
  accountId: string | null;
  actor: string | null;
  actions: readonly string[] | null;
  objectId: string | null;
  after: Date | null;
  before: Date | null;
};

export function browseAudit(
  db: Queryable,
  { filter, ...page }: Page & { filter: AuditFilter },
): Promise<Looked<AuditRow>> {
  return listPage(db, {
    ...page,
    select: sql`
      select l.audit_id, l.at, l.account_id, l.actor, l.action, l.object_id, l.details, l.address, l.request_id
        from audit_log l`,
    where: conditions(filter),
    id: sql`l.audit_id`,
  });
}

function conditions({ accountId, actor, actions, objectId, after, before }: AuditFilter): Sql {
  return allOf([
    accountId === null ? null : sql`l.account_id = ${accountId}`,
    actor === null ? null : sql`l.actor = ${actor}`,
    actions && isOneOf(actions),
    objectId === null ? null : sql`l.object_id = ${objectId}`,
    after && sql`l.audit_id >= ${idFloor(after)}`,
    before && sql`l.audit_id < ${idFloor(before)}`,
  ]);
}

/** For a single action the index gives the rows in page order; for several it would not. */
function isOneOf(actions: readonly string[]): Sql {
  const [action, ...others] = actions;
  return others.length === 0 && action !== undefined
    ? sql`l.action = ${action}`
    : sql`l.action = any (${actions}::text[])`;
}
