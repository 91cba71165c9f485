import { once } from "node:events";
import { makePartitions } from "#messages";
import {
  createLog,
  type Database,
  databaseClock,
  keepYoungObjectsYoung,
  migrate,
  systemClock,
} from "#platform";
import { forgetKilledNodes } from "#sending";
import { keepAttemptDays } from "#webhooks";
import { compose } from "./compose.ts";
import { readConfig } from "./config.ts";
import { greeting } from "./greeting.ts";
import { briefly, publicUrlOf } from "./installation.ts";
import type { Config } from "./settings.ts";
import { buildPages } from "./pages.ts";
import { refuseTakenPorts } from "./ports.ts";
import { requireSecretKey } from "./secret-key.ts";
import { openStorage } from "./storage.ts";

/**
 * Runs the service until a stop signal, then finishes what is in flight and stops PostgreSQL last.
 * A signal during startup ends it at the next step.
 */
export async function start(signal: AbortSignal): Promise<void> {
  keepYoungObjectsYoung();
  const wanted = readConfig();
  const log = createLog(wanted.logLevel);
  const config = { ...wanted, port: await refuseTakenPorts(wanted) };
  const storage = await openStorage(config, { clock: systemClock, log, signal });
  try {
    if (signal.aborted) return;
    await migrate(storage.url, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (signal.aborted) return;
    const secretKey = await briefly(storage.url, (db) => requireSecretKey(config, db));
    if (storage.isEmbedded) await briefly(storage.url, forgetKilledNodes);
    else if (!config.secretKey)
      log.warn(
        { dataDir: config.dataDir },
        "there is no SECRET_KEY: secrets are sealed with secret.key in the data folder, without which no other node starts",
      );
    await briefly(storage.url, (db) => makeReady(db, config)).catch((error: unknown) =>
      log.error({ error }, "partitions could not be made before the start; they are made later"),
    );
    const publicUrl = publicUrlOf(config);
    const isDashboard = config.roles.has("dashboard");
    const stopping = new AbortController();
    const pages = isDashboard ? { pages: () => buildPages(stopping.signal) } : {};
    const clock = databaseClock(systemClock);
    await briefly(storage.url, clock.follow);
    const service = compose({ config, storage, secretKey, publicUrl, clock, log, ...pages });
    try {
      await service.app.listen({ host: config.host, port: config.port });
      const setup = isDashboard ? await service.setupLink() : undefined;
      if (signal.aborted) return;
      await service.start();
      const { isEmbedded } = storage;
      process.stdout.write(greeting(config, { isEmbedded, publicUrl, setup }));
      await aborted(signal);
      process.stdout.write("Stopping: finishing what is in flight.\n");
    } finally {
      stopping.abort();
      await service.stop();
    }
  } finally {
    await storage.stop();
  }
}

/**
 * After a long downtime or a restored backup, the current day and month have no partitions. Rows
 * that arrive before those are made would stay in the default partition for good.
 */
async function makeReady(db: Database, { retentionAttemptsDays }: Config): Promise<void> {
  await makePartitions(db);
  await keepAttemptDays(db, retentionAttemptsDays);
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
