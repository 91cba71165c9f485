import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createLog, migrate, systemClock, Unfit } from "#platform";
import { compose } from "./compose.ts";
import { type Config, readConfig } from "./config.ts";
import { openStorage, readSecretKey } from "./storage.ts";
import { version } from "./version.ts";

/** Runs the service until a stop signal: finishes what is in flight, PostgreSQL last. */
export async function start(): Promise<void> {
  const wanted = readConfig();
  const log = createLog(wanted.logLevel);
  const config = { ...wanted, port: await refuseTakenPort(wanted) };
  const storage = await openStorage(config, { clock: systemClock, log });
  const stopSignal = waitForStopSignal();
  try {
    await migrate(storage.url);
    const secretKey = await readSecretKey(config);
    const publicUrl = config.publicUrl ?? `http://${addressOf(config.host)}:${config.port}`;
    const isDashboard = config.roles.has("dashboard");
    const pages = isDashboard ? { pages: buildPages() } : {};
    const parts = { config, storage, secretKey, publicUrl, clock: systemClock, log, ...pages };
    const service = compose(parts);
    try {
      await service.app.listen({ host: config.host, port: config.port });
      await service.start();
      const setup = isDashboard ? await service.setupLink() : undefined;
      greet(config, { isEmbedded: storage.isEmbedded, publicUrl, setup });
      await stopSignal;
      process.stdout.write("Stopping: finishing what is in flight.\n");
    } finally {
      await service.stop();
    }
  } finally {
    await storage.stop();
  }
}

/** Once, and again only where the pages' sources have changed since. */
async function buildPages(): Promise<string> {
  const { buildDashboard } = await import("../dashboard/build.ts");
  return (await buildDashboard()).folder;
}

/** Found out before anything is changed. Answers the port, which is a free one where 0 was asked for. */
async function refuseTakenPort({ host, port }: Config): Promise<number> {
  const probe = createServer();
  try {
    probe.listen({ host, port });
    await once(probe, "listening");
    return (probe.address() as AddressInfo).port;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Unfit(
      code === "EADDRINUSE"
        ? `Port ${port} on ${host} is taken. Stop what uses it, or set PORT to another port.`
        : `Cannot listen on ${host}:${port} (${code}). Set HOST and PORT to an address of this machine.`,
    );
  } finally {
    probe.close();
  }
}

/** The first signal stops in order; a second one, for the impatient, ends the process at once. */
function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => resolve());
    }
  });
}

function addressOf(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

type Running = { isEmbedded: boolean; publicUrl: string; setup: string | undefined };

function greet(config: Config, { isEmbedded, publicUrl, setup }: Running): void {
  const database = isEmbedded
    ? `embedded PostgreSQL in ${config.dataDir}`
    : "PostgreSQL at DATABASE_URL";
  process.stdout.write(
    [
      `Posthorn ${version} is running.`,
      ...(config.roles.has("dashboard") ? [`  Dashboard  ${publicUrl}`] : []),
      `  API        ${publicUrl}/v1`,
      `  Reference  ${publicUrl}/docs`,
      `  Database   ${database}`,
      ...(isEmbedded && config.webhookAllowCidrs === undefined
        ? ["  Webhooks   loopback addresses are allowed (WEBHOOK_ALLOW_CIDRS)"]
        : []),
      ...(setup === undefined
        ? []
        : ["", "Set up this installation by opening, once:", `  ${setup}`, ""]),
      "Stop with Ctrl+C.",
      "",
    ].join("\n"),
  );
}
