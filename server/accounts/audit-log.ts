import { newId, type Queryable, type Sql, sql } from "#platform";

/** `user:<id>`, `key:<id>`, `cli` or `system`; for dashboard users also their address. */
export type Actor = string | RemoteActor;
export type RemoteActor = { name: string; address: string | null; requestId: string };

/** Who changes something, and when. */
export type Change = { actor: Actor; now: Date };

/** The actor as the audit log stores it. */
export function actorName(actor: Actor): string {
  return typeof actor === "string" ? actor : actor.name;
}

export type AuditEntry = Change & {
  objectId: string | null;
  /** Left out if the action concerns no account. */
  accountId?: string | null;
  /** The values before and after, or whatever else explains the action. Never a secret. */
  details?: Record<string, unknown>;
};

/** Runs in the transaction of the change it records, so that neither exists without the other. */
export async function recordAudit(db: Queryable, action: string, entry: AuditEntry): Promise<void> {
  const { actor, now, objectId, accountId = null, details = {} } = entry;
  const { address = null, requestId = null } = typeof actor === "string" ? {} : actor;
  await db.query(sql`
    insert into audit_log (audit_id, at, account_id, actor, action, object_id, details, address, request_id)
    values (${newId(now.getTime())}, ${now}, ${accountId}, ${actorName(actor)}, ${action}, ${objectId},
            ${JSON.stringify(details)}, ${address}, ${requestId})`);
}

/**
 * Part of a statement: a CTE `noted` that logs the entry of each `n` in the CTE `done (n)`, in the
 * same statement. Entries whose `n` is not in `done` are not written.
 */
export function noteDone(action: string, entries: readonly (AuditEntry & { n: number })[]): Sql {
  const each = <Value>(pick: (entry: AuditEntry & { n: number }) => Value) => entries.map(pick);
  const from = ({ actor }: AuditEntry) => (typeof actor === "string" ? undefined : actor);
  return sql`
    noted as (
      insert into audit_log (audit_id, at, account_id, actor, action, object_id, details, address, request_id)
      select e.audit_id, e.at, e.account_id, e.actor, ${action}, e.object_id, e.details::jsonb, e.address, e.request_id
        from unnest(
          ${each(({ n }) => n)}::integer[], ${each(({ now }) => newId(now.getTime()))}::uuid[],
          ${each(({ now }) => now)}::timestamptz[], ${each(({ accountId = null }) => accountId)}::uuid[],
          ${each(({ actor }) => actorName(actor))}::text[], ${each(({ objectId }) => objectId)}::text[],
          ${each(({ details = {} }) => JSON.stringify(details))}::text[],
          ${each((entry) => from(entry)?.address ?? null)}::text[],
          ${each((entry) => from(entry)?.requestId ?? null)}::text[]
        ) as e (n, audit_id, at, account_id, actor, object_id, details, address, request_id)
        join done on done.n = e.n
    )`;
}
