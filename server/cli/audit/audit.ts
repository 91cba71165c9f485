import { type Database, type Queryable, rawSql, sql, type Transaction } from "#platform";
import { access } from "./access.ts";
import type { Invariant } from "./invariant.ts";
import { liveness } from "./liveness.ts";
import { messages } from "./messages.ts";
import { money } from "./money.ts";
import { webhooks } from "./webhooks.ts";

export type Violation = { invariant: string; rule: string } & Record<string, unknown>;

export type Audit = {
  /** How many rows of each kind were checked. */
  checked: Record<string, number>;
  violations: Violation[];
};

/** Whether load has stopped, so that everything due should be done. */
export type AuditOptions = { isDrained: boolean };

const always = [...money, ...messages, ...webhooks, ...access];
export const invariants: readonly Invariant[] = [...always, ...liveness];

/** Shown per rule: a broken rule often breaks for every row, and the first ones tell enough. */
const MAX_SHOWN = 100;

/**
 * Proves from the tables that ledger, balances, messages, refunds and events agree. It reads one
 * snapshot, so it may run under load: it sees each transaction's changes whole or not at all. The
 * database must not have a statement timeout. Nothing is ever repaired.
 */
export function audit(db: Database, options: AuditOptions): Promise<Audit> {
  return db.snapshot((snapshot) => auditWithin(snapshot, options));
}

/** The same, as this transaction sees it. */
export async function auditWithin(tx: Transaction, { isDrained }: AuditOptions): Promise<Audit> {
  // Each rule reads all rows of its tables, best with hash joins. If the planner underestimates a
  // table or expects early matches, it rereads one table for every row of another: in a nested
  // loop, or in a merge on the account alone, to which all messages may belong.
  await tx.query(rawSql("set local enable_nestloop = off"));
  await tx.query(rawSql("set local enable_mergejoin = off"));
  const checked = await countRows(tx);
  const violations: Violation[] = [];
  for (const invariant of isDrained ? invariants : always) {
    violations.push(...(await findViolations(tx, invariant)));
  }
  return { checked, violations };
}

async function findViolations(
  tx: Queryable,
  { name, rule, violations }: Invariant,
): Promise<Violation[]> {
  const rows = await tx.query<Record<string, unknown>>(sql`
    select * from (${violations}) v limit ${MAX_SHOWN}`);
  return rows.map((row) => ({ invariant: name, rule, ...row }));
}

async function countRows(tx: Queryable): Promise<Record<string, number>> {
  const [counts] = await tx.query<Record<string, number>>(sql`
    select (select count(*) from accounts) as accounts,
           (select count(*) from ledger) as "ledgerEntries",
           (select count(*) from ledger where kind = 'refund') as refunds,
           (select count(*) from messages) as messages,
           (select count(*) from send_queue) as queued,
           (select count(*) from submissions) as submissions,
           (select count(*) from events) as events,
           (select count(*) from webhook_deliveries) as "webhookDeliveries",
           (select count(*) from webhook_attempts) as "webhookAttempts",
           (select count(*) from keys) as keys`);
  return counts ?? {};
}
