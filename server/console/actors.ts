import type { Actor } from "#contract";
import { isId, type Queryable, sql } from "#platform";

export type ActorNames = (kept: string) => Actor;

/** Names for the actors that tables keep as `user:<id>`, `cli` or `system`. */
export async function findActors(
  db: Queryable,
  kept: readonly (string | null)[],
): Promise<ActorNames> {
  const ids = [...new Set(kept)].map((actor) => userIdOf(actor ?? "")).filter((id) => id !== null);
  const rows = await db.query<{ user_id: string; name: string }>(sql`
    select user_id, name from users where user_id = any (${ids}::uuid[])`);
  const names = new Map(rows.map(({ user_id, name }) => [user_id, name]));
  return (actor) => {
    const userId = userIdOf(actor);
    if (userId !== null) return { kind: "user", name: names.get(userId) ?? "Unknown user" };
    if (actor.startsWith("key:")) return { kind: "key", name: "API key" };
    return actor === "system"
      ? { kind: "system", name: "Posthorn" }
      : { kind: "cli", name: "Terminal" };
  };
}

function userIdOf(actor: string): string | null {
  const id = actor.startsWith("user:") ? actor.slice(5) : "";
  return isId(id) ? id : null;
}
