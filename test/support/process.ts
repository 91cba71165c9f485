import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#platform";
import { LIMIT_MS } from "./eventually.ts";
import { TEST_KEY } from "./secret-key.ts";

const MAIN = join(import.meta.dirname, "../../server/main.ts");
export const TEST_SECRET_KEY = TEST_KEY.toString("base64");

export type ServiceProcess = AsyncDisposable & {
  pid: number;
  url: string;
  output(): string;
  kill(signal: NodeJS.Signals): void;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

type Settings = Record<string, string>;
/** How many files and connections it may have open; by default, our own limit. */
type Limits = { openFiles?: number };

/** The real service as its own process on the test's database, to be killed at any moment. */
export async function startService(
  databaseUrl: string,
  settings: Settings | ((port: number) => Settings) = {},
  limits: Limits = {},
): Promise<ServiceProcess> {
  for (;;) {
    const port = await freePort();
    try {
      return await startOn(port, { databaseUrl, settings, limits });
    } catch (error) {
      // Another process may have taken the port that was free a moment ago.
      if (!String(error).includes(`Port ${port} on `)) throw error;
    }
  }
}

type StartRequest = {
  databaseUrl: string;
  settings: Settings | ((port: number) => Settings);
  limits: Limits;
};

async function startOn(
  port: number,
  { databaseUrl, settings, limits: { openFiles } }: StartRequest,
): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-process-"));
  const program = [process.execPath, MAIN, "start"] as const;
  const [command, ...args] =
    openFiles === undefined
      ? program
      : (["bash", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`, ...program] as const);
  const child = spawn(command, args, {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      SECRET_KEY: TEST_SECRET_KEY,
      DATA_DIR: folder,
      PORT: String(port),
      WEBHOOK_ALLOW_CIDRS: "127.0.0.0/8",
      WEBHOOK_ALLOW_HTTP: "true",
      LOG_LEVEL: "warn",
      ...(typeof settings === "function" ? settings(port) : settings),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  const url = `http://127.0.0.1:${port}`;
  await ready(child, url, () => output).catch((error: unknown) => {
    child.kill("SIGKILL");
    throw error;
  });
  return {
    pid: child.pid ?? 0,
    url,
    output: () => output,
    kill: (signal) => void child.kill(signal),
    exited,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGCONT");
        child.kill("SIGKILL");
      }
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function ready(child: ChildProcess, url: string, output: () => string): Promise<void> {
  const began = performance.now();
  const ended = new AbortController();
  child.once("exit", () => ended.abort());
  const answers = () =>
    fetch(`${url}/readyz`, { signal: ended.signal }).then(
      ({ ok }) => ok,
      () => false,
    );
  for (;;) {
    // Not fetched before it says so: needless fetches would slow down its start.
    if (output().includes("is running.") && (await answers())) return;
    if (ended.signal.aborted || performance.now() - began > LIMIT_MS) {
      throw new Error(`The service does not start:\n${output()}`);
    }
    await systemClock.sleep(20);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
