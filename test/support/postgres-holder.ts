/**
 * A service reduced to holding a data folder: takes the lock, starts PostgreSQL, reports in one
 * line of JSON, and stops cleanly when its standard input ends. Tests kill it at other moments.
 */
import { once } from "node:events";
import { checkSurroundings, lockDataDir, silentLog, systemClock, Unfit } from "#platform";
import { startEmbeddedPostgres } from "../../server/platform/embedded-postgres.ts";

const [dataDir = ""] = process.argv.slice(2);

try {
  await checkSurroundings(dataDir);
  const lock = lockDataDir(dataDir);
  const settings = { shared_buffers: "16MB" };
  const deps = { lock, clock: systemClock, log: silentLog, settings };
  const { url, pid, isNew, stop } = await startEmbeddedPostgres(deps);
  process.stdout.write(`${JSON.stringify({ url, pid, isNew })}\n`);
  await once(process.stdin.resume(), "end");
  await stop();
  lock.release();
} catch (error) {
  if (!(error instanceof Unfit)) throw error;
  process.stdout.write(`${JSON.stringify({ unfit: error.message })}\n`);
}
