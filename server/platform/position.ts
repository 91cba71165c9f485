import { rawSql } from "./sql.ts";

/** Where a page of a list begins: beside the entry with this id, on the older or the newer side. */
export type Position<Id = string> = { direction: "older" | "newer"; id: Id } | null;

/** In SQL, where ids are in order of age: what lies on that side, up to where, and the nearest first. */
export function sideOf(position: Position<unknown>) {
  return position?.direction === "newer"
    ? { beyond: rawSql(">"), upTo: rawSql("<="), order: rawSql("asc") }
    : { beyond: rawSql("<"), upTo: rawSql(">="), order: rawSql("desc") };
}
