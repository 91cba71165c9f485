import { readFile, stat } from "node:fs/promises";
import type { Paths } from "./paths.ts";

/** The user that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

/** The ids of the user who owns nothing, on every Unix, even if its name is missing. */
const NOBODY: Account = { uid: 65_534, gid: 65_534 };

/**
 * PostgreSQL refuses to run as root, so root runs it as another user: the one who already owns the
 * data, or else `postgres` or `nobody`. Undefined means that it runs as our own user.
 */
export async function postgresAccount({ cluster, dataDir }: Paths): Promise<Account | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owners = await Promise.all([cluster, dataDir].map(ownerOf));
  return (
    owners.find((owner) => owner !== undefined && owner.uid !== 0) ?? accountIn(await passwd())
  );
}

/** The user to run as, found in the text of /etc/passwd. */
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
