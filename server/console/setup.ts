import type { Clock, Database } from "#platform";
import { insertLink } from "./links.ts";
import { isInstalled } from "./users.ts";

/**
 * The link by which the operator is made, while there is none. Each start prints a new one; those
 * printed before hold until their day is over, so that several nodes may start at once.
 */
export async function setupLink({
  db,
  clock,
  publicUrl,
}: {
  db: Database;
  clock: Clock;
  publicUrl: string;
}): Promise<string | undefined> {
  if (await isInstalled(db)) return undefined;
  const request = { kind: "setup", createdBy: "system", now: clock.now(), publicUrl } as const;
  return (await insertLink(db, request)).link;
}
