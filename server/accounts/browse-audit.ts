import { allOf, idFloor, type Position, type Queryable, sideOf, type Sql, sql } from "#platform";

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

/** Entries on one side of a position, nearest first; one more than `limit` tells that there are more. */
export function browseAudit(
  db: Queryable,
  { filter, position, limit }: { filter: AuditFilter; position: Position; limit: number },
): Promise<AuditRow[]> {
  return db.query<AuditRow>(sql`
    select l.audit_id, l.at, l.account_id, l.actor, l.action, l.object_id, l.details, l.address, l.request_id
      from audit_log l
     where ${conditions(filter, position)}
     order by l.audit_id ${sideOf(position).order}
     limit ${limit + 1}`);
}

function conditions(filter: AuditFilter, position: Position): Sql {
  const { accountId, actor, actions, objectId, after, before } = filter;
  return allOf([
    ...(position ? [sql`l.audit_id ${sideOf(position).beyond} ${position.id}`] : []),
    ...(accountId === null ? [] : [sql`l.account_id = ${accountId}`]),
    ...(actor === null ? [] : [sql`l.actor = ${actor}`]),
    ...(actions === null ? [] : [isOneOf(actions)]),
    ...(objectId === null ? [] : [sql`l.object_id = ${objectId}`]),
    ...(after === null ? [] : [sql`l.audit_id >= ${idFloor(after)}`]),
    ...(before === null ? [] : [sql`l.audit_id < ${idFloor(before)}`]),
  ]);
}

/** One action is found in the order of the page by its index; of several, that order would be lost. */
function isOneOf(actions: readonly string[]): Sql {
  const [action, ...others] = actions;
  return others.length === 0 && action !== undefined
    ? sql`l.action = ${action}`
    : sql`l.action = any (${actions}::text[])`;
}
