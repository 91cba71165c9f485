import type { Clock, Database } from "#platform";
import { insertLink } from "./links.ts";
import { isInstalled } from "./users.ts";

/**
 * The link by which the first operator is created, until there is one. Each start prints a new
 * link; earlier ones stay valid for their 24 hours, so that several nodes may start at once.
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
