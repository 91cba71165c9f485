import assert from "node:assert/strict";
import type { Database } from "#platform";
import { audit } from "../../server/cli/audit/audit.ts";

/** What must hold at any moment holds, whoever died just now; of all rules, or of the invariants named. */
export async function assertSound(db: Database, of?: readonly string[]): Promise<void> {
  const { violations } = await audit(db, { isDrained: false });
  assert.deepEqual(
    violations.filter(({ invariant }) => of?.includes(invariant) ?? true),
    [],
  );
}
