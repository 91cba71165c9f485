import { readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 200;
/** Waits two minutes; a build takes seconds. */
const LOOKS = 600;

/** Allows one build at a time in this folder. The lock of a dead process is taken over. */
export async function holdBuildLock(path: string): Promise<AsyncDisposable> {
  for (let look = 0; look < LOOKS; look += 1) {
    if (await take(path)) return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    if (!(await isHeld(path))) await rm(path, { force: true });
    else await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`Another build of the dashboard does not end. If none runs, delete ${path}.`);
}

async function take(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function isHeld(path: string): Promise<boolean> {
  const pid = Number(await readFile(path, "utf8").catch(() => "0"));
  // An empty file is a lock that is just being written.
  if (pid === 0) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
