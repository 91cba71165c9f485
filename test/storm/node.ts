import { systemClock } from "#platform";
import { type ServiceProcess, startService } from "../support/process.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** A node of the service; it is restarted whenever it ends, as by a supervisor. */
export type StormNode = AsyncDisposable & {
  number: number;
  roles: string;
  /** Where clients reach it, through `front`. */
  url: string;
  front: TcpProxy;
  /** Between the node and PostgreSQL; undefined if the node itself connects to several hosts. */
  database: TcpProxy | undefined;
  service(): ServiceProcess | undefined;
  /** Ends it by this signal; resolves once it is running again. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  running(): Promise<void>;
  /** Unexpected ends, each with the process's last output. */
  deaths: string[];
  starts(): number;
};

type NodeOptions = { number: number; roles: string; databaseUrl: string };

const RETRY_MS = 200;
/** Only the faults should hold clients back. */
const SETTINGS = {
  RATE_LIMIT_SENDS: "400",
  RATE_LIMIT_SENDS_BURST: "400",
  RATE_LIMIT_READS: "100000",
  RATE_LIMIT_READS_BURST: "100000",
  RATE_LIMIT_FAILED_AUTH: "1000000",
  LOG_LEVEL: "error",
  NODE_OPTIONS: `--import ${new URL("./stepped-clock.ts", import.meta.url).href}`,
};
const SEVERAL_HOSTS = /@[^/]*,/;

export async function startNode({ number, roles, databaseUrl }: NodeOptions): Promise<StormNode> {
  const own = SEVERAL_HOSTS.test(databaseUrl) ? undefined : new URL(databaseUrl);
  const database = own && (await startTcpProxy({ host: own.hostname, port: Number(own.port) }));
  if (own && database) own.port = String(database.port);
  const url = own?.href ?? databaseUrl;
  // The front's port stays the same while the service behind it restarts on another.
  const behind = { host: "127.0.0.1", port: 1 };
  const front = await startTcpProxy(behind);

  const deaths: string[] = [];
  let service: ServiceProcess | undefined;
  const stopping = new AbortController();
  let [isEndWanted, starts] = [false, 0];
  let started = Promise.withResolvers<void>();
  /** Resolved once the supervisor has seen the last process end. */
  let noticed = Promise.withResolvers<void>();

  async function keepRunning(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        service = await startService(url, { ...SETTINGS, ROLES: roles });
        if (stopping.signal.aborted) return;
        behind.port = Number(new URL(service.url).port);
        starts += 1;
        started.resolve();
        const { code, signal } = await service.exited;
        if (!stopping.signal.aborted && !isEndWanted)
          deaths.push(`exit ${code ?? signal}: ${service.output().slice(-2_000)}`);
        await service[Symbol.asyncDispose]();
        isEndWanted = false;
        service = undefined;
        started = Promise.withResolvers();
        noticed.resolve();
        noticed = Promise.withResolvers();
      } catch {
        // The database is away: retry, as a supervisor does.
        await systemClock.sleep(RETRY_MS);
      }
    }
  }
  const kept = keepRunning();
  await started.promise;
  return {
    number,
    roles,
    url: `http://127.0.0.1:${front.port}`,
    front,
    database,
    deaths,
    service: () => service,
    starts: () => starts,
    running: () => started.promise,
    async end(signal) {
      if (service === undefined) return started.promise;
      isEndWanted = true;
      const [{ exited }, { promise: seen }] = [service, noticed];
      service.kill("SIGCONT");
      service.kill(signal);
      await exited;
      await seen;
      return started.promise;
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      started.resolve();
      await service?.[Symbol.asyncDispose]();
      await kept;
      await service?.[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    },
  };
}
