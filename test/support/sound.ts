import assert from "node:assert/strict";
import type { Database } from "#platform";
import { audit } from "../../server/cli/audit/audit.ts";

/** Checks what must always hold, whoever has just died: all rules, or only the named invariants. */
export async function assertSound(db: Database, of?: readonly string[]): Promise<void> {
  const { violations } = await audit(db, { isDrained: false });
  assert.deepEqual(
    violations.filter(({ invariant }) => of?.includes(invariant) ?? true),
    [],
  );
}
