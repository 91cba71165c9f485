import { type Queryable, type Sql, sql } from "#platform";

export type PlanNode = {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  Plans?: PlanNode[];
};

export type Explained = { "QUERY PLAN": [{ Plan: PlanNode }] };

/** Runs a statement, and returns every node of its plan as executed. */
export async function explain(db: Queryable, statement: Sql): Promise<PlanNode[]> {
  return nodesOf(await db.query<Explained>(sql`explain (analyze, format json) ${statement}`));
}

export function nodesOf(rows: Explained[]): PlanNode[] {
  return rows.flatMap((row) => flatten(row["QUERY PLAN"][0].Plan));
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

/** Rows that a filter discarded were read too. */
export function rowsRead(nodes: PlanNode[]): number {
  return nodes.reduce(
    (sum, node) =>
      sum + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"],
    0,
  );
}
