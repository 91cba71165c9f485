import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, type Log, type SecretBox, secretBox, silentLog, systemClock } from "#platform";
import { compose } from "../../server/compose.ts";
import { readConfig } from "../../server/config.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";
import { TEST_KEY } from "./secret-key.ts";

export type ServiceOptions = {
  /** As environment variables. */
  settings?: Record<string, string>;
  clock?: Clock;
  log?: Log;
  secretKey?: Buffer;
  publicUrl?: string;
  /** Given to add another node on the same database. */
  db?: TestDatabase;
  /** Prepares what must exist before the service starts, such as carriers. */
  prepare?: (db: TestDatabase, secrets: SecretBox) => Promise<void>;
};

/** The service on its own database, without a port. */
export async function startComposed(options: ServiceOptions) {
  const { clock = systemClock, log = silentLog, secretKey = TEST_KEY } = options;
  const { publicUrl = "http://posthorn.test" } = options;
  // If a step fails, this ends what has started; otherwise the test's process would not end.
  await using started = new AsyncDisposableStack();
  const db = options.db ?? started.use(await testDatabase());
  const folder = mkdtempSync(join(tmpdir(), "posthorn-test-"));
  const config = readConfig({ PORT: "0", DATA_DIR: folder, ...options.settings }, folder);
  const storage = { url: db.url, isEmbedded: true, stop: () => Promise.resolve() };
  const service = compose({ config, storage, secretKey, publicUrl, clock, log });
  started.defer(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const secrets = secretBox(secretKey);
  await options.prepare?.(db, secrets);
  await service.start();
  const running = started.move();
  const stop = () => running.disposeAsync();
  return { db, service, clock, secretKey, secrets, publicUrl, [Symbol.asyncDispose]: stop };
}
