import { type Database, type Sql } from "#platform";
import type { ServiceProcess } from "./process.ts";

/** While the work runs the service answers nobody, as if it hung: what waits for it stays waiting. */
export async function frozen(service: ServiceProcess, work: () => Promise<void>): Promise<void> {
  service.kill("SIGSTOP");
  try {
    await work();
  } finally {
    service.kill("SIGCONT");
  }
}

/** While the work runs a column is missing, so that whatever reads it fails inside the service. */
export async function withoutColumn(
  db: Database,
  column: `${string}.${string}`,
  work: () => Promise<void>,
): Promise<void> {
  const [table, name] = column.split(".");
  const rename = (from: string, to: string): Sql =>
    ({ text: `alter table ${table} rename column ${from} to ${to}`, values: [] }) as never;
  await db.query(rename(`${name}`, `${name}_away`));
  try {
    await work();
  } finally {
    await db.query(rename(`${name}_away`, `${name}`));
  }
}
