import type { Sql } from "#platform";

/** A statement that always holds. Its query returns violations: any row is an alarm. */
export type Invariant = {
  /** The name in `docs/generated/audit.md`; several queries may prove one statement. */
  name: `I${number}`;
  rule: string;
  violations: Sql;
};
