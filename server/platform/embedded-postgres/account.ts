import { readFile, stat } from "node:fs/promises";
import type { Paths } from "./paths.ts";

/** The user that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

/** What every Unix calls the user who owns nothing, where even its name is missing. */
const NOBODY: Account = { uid: 65_534, gid: 65_534 };

/**
 * PostgreSQL refuses to run as root, so root lends it another user: the one who owns the data
 * already, else `postgres` or `nobody`. Undefined means that it runs as whoever runs us.
 */
export async function postgresAccount({ cluster, dataDir }: Paths): Promise<Account | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owners = await Promise.all([cluster, dataDir].map(ownerOf));
  return (
    owners.find((owner) => owner !== undefined && owner.uid !== 0) ?? accountIn(await passwd())
  );
}

/** The user to lend, from the text of /etc/passwd. */
export function accountIn(passwd: string): Account {
  const users = passwd.split("\n").map((line) => line.split(":"));
  for (const wanted of ["postgres", "_postgres", "nobody"]) {
    const user = users.find(([name]) => name === wanted);
    const [uid, gid] = [Number(user?.[2]), Number(user?.[3])];
    if (uid > 0 && gid > 0) return { uid, gid };
  }
  return NOBODY;
}

function ownerOf(path: string): Promise<Account | undefined> {
  return stat(path).then(
    ({ uid, gid }) => ({ uid, gid }),
    () => undefined,
  );
}

function passwd(): Promise<string> {
  return readFile("/etc/passwd", "utf8").catch(() => "");
}
