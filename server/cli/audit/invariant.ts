import type { Sql } from "#platform";

/** Something that always holds. Its query returns what breaks it: any row is an alarm. */
export type Invariant = {
  /** As `docs/generated/audit.md` lists it; several queries may prove one. */
  name: `I${number}`;
  rule: string;
  violations: Sql;
};
