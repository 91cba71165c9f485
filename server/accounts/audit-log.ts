import { newId, type Queryable, sql } from "#platform";

/** Who did it: `user:<id>`, `key:<id>`, `cli`, `system`; of a person at the dashboard also from where. */
export type Actor = string | { name: string; address: string | null; requestId: string };

/** As it is kept. */
export function actorName(actor: Actor): string {
  return typeof actor === "string" ? actor : actor.name;
}

export type AuditEntry = {
  at: Date;
  accountId: string | null;
  actor: Actor;
  action: string;
  objectId: string | null;
  /** Before and after, or what else explains it. Never a secret. */
  details?: Record<string, unknown>;
};

/** Written in the transaction of the change it tells of, so that neither is there without the other. */
export async function recordAudit(db: Queryable, entry: AuditEntry): Promise<void> {
  const { at, accountId, actor, action, objectId, details = {} } = entry;
  const { address = null, requestId = null } = typeof actor === "string" ? {} : actor;
  await db.query(sql`
    insert into audit_log (audit_id, at, account_id, actor, action, object_id, details, address, request_id)
    values (${newId(at.getTime())}, ${at}, ${accountId}, ${actorName(actor)}, ${action}, ${objectId},
            ${JSON.stringify(details)}, ${address}, ${requestId})`);
}
