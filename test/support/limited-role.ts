import { randomBytes } from "node:crypto";
import { rawSql, sql } from "#platform";
import type { TestDatabase } from "./postgres.ts";

/** A role with a connection limit; beyond it, the error is the same as when the server is full. */
export async function limitedRole(db: TestDatabase) {
  const url = new URL(db.url);
  const owner = url.username;
  [url.username, url.password] = [`limited_${randomBytes(8).toString("hex")}`, "test"];
  const { username: role, href } = url;
  await db.query(rawSql(`create role ${role} login password 'test' in role ${owner}`));
  /** Open connections stay open. */
  async function limit(connections: number): Promise<void> {
    await db.query(rawSql(`alter role ${role} connection limit ${connections}`));
  }
  return {
    url: href,
    limit,
    async allow(connections: number): Promise<void> {
      await limit(connections);
      await db.query(sql`
        select pg_terminate_backend(pid, 2000) from pg_stat_activity where usename = ${role}`);
    },
    async [Symbol.asyncDispose]() {
      await db.query(rawSql(`drop owned by ${role}`));
      await db.query(rawSql(`drop role ${role}`));
    },
  };
}
