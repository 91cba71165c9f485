/**
 * An HTTP load over raw sockets, cheap enough to leave the other core to the server. Runs as a
 * process of its own: reads one JSON job from argv, prints one JSON result.
 */
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

export type Job = {
  port: number;
  connections: number;
  seconds: number;
  path: string;
  /** Requests take the keys in turn. */
  keys: string[];
  /** Posted in turn; if empty, the path is fetched with GET. */
  bodies: string[];
  /** The limit of requests per second in total; if left out, each answer triggers the next. */
  perSecond?: number;
  /** A file for the ids of all messages answered with 202, one per line. */
  idsFile?: string;
};
export type Result = {
  perSecond: number;
  statuses: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Broken connections. */
  errors: number;
  /** Requests still unanswered half a minute after the last one was sent. */
  unanswered: number;
  /** The load's own processor time per request. */
  ownMicroseconds: number;
};

const PATIENCE_MS = 30_000;
const WAVE = 200;

if (process.argv[2] === "--job") {
  const result = await run(JSON.parse(process.argv[3] ?? "{}") as Job);
  process.stdout.write(JSON.stringify(result));
}

function requestsOf({ path, keys, bodies }: Job): Buffer[] {
  const head = (method: string) => `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
  if (bodies.length === 0) return [Buffer.from(`${head("GET")}\r\n`)];
  return keys.flatMap((key) =>
    bodies.map((body) =>
      Buffer.from(
        `${head("POST")}X-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      ),
    ),
  );
}

async function run(job: Job): Promise<Result> {
  const requests = requestsOf(job);
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const ids: string[] = [];
  let [errors, turn, sent] = [0, 0, 0];
  const sockets = await connectAll(job, () => (errors += 1));
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + job.seconds * 1000;
  const patience = setTimeout(
    () => sockets.forEach((socket) => socket.destroy()),
    job.seconds * 1000 + PATIENCE_MS,
  );
  await Promise.all(sockets.map(client));
  clearTimeout(patience);
  const seconds = (performance.now() - began) / 1000;
  const used = process.cpuUsage(cpu);
  if (job.idsFile !== undefined) writeFileSync(job.idsFile, ids.join("\n"));
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? 0;
  return {
    perSecond: latencies.length / seconds,
    statuses,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    errors,
    unanswered: sent - latencies.length,
    ownMicroseconds: (used.user + used.system) / latencies.length,
  };

  function note(status: string, answer: string): void {
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (job.idsFile === undefined || status !== "202") return;
    ids.push(/"messageId":"([^"]+)"/.exec(answer)?.[1] ?? "");
  }

  function client(socket: Socket): Promise<void> {
    return new Promise((resolve) => {
      /** When the pending request was sent; undefined if none is pending. */
      let sentAt: number | undefined;
      let held = "";
      const send = () => {
        if (socket.destroyed || performance.now() >= end) return void socket.end();
        sentAt = performance.now();
        sent += 1;
        socket.write(requests[sent % requests.length] as Buffer);
      };
      const sendInTurn = () => {
        const dueAt = began + (turn * 1000) / (job.perSecond ?? Infinity);
        turn += 1;
        const earlyMs = Math.min(dueAt, end) - performance.now();
        if (earlyMs > 1) setTimeout(send, earlyMs);
        else send();
      };
      socket.on("data", (chunk) => {
        held += chunk.toString("latin1");
        const head = held.indexOf("\r\n\r\n");
        if (head < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(held.slice(0, head))?.[1] ?? 0);
        if (held.length < head + 4 + length) return;
        // Unsolicited data, such as a 408 on a silent connection, is not an answer.
        if (sentAt === undefined) return void socket.destroy();
        note(held.slice(9, 12), held);
        held = held.slice(head + 4 + length);
        latencies.push(performance.now() - sentAt);
        sentAt = undefined;
        sendInTurn();
      });
      socket.on("close", () => resolve());
      // The first request ignores the rate, as a silent connection would soon be closed.
      if (socket.destroyed) resolve();
      else send();
    });
  }
}

/** In waves that fit the accept queue: a connection that overflows it retries after a second. */
async function connectAll(job: Job, onError: () => void): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < job.connections) {
    const wave = Array.from({ length: Math.min(WAVE, job.connections - sockets.length) }, () =>
      connect({ port: job.port, host: "127.0.0.1", noDelay: true }).on("error", onError),
    );
    await Promise.all(
      wave.map(
        (socket) =>
          new Promise<void>((resolve) => {
            socket.once("connect", resolve).once("close", () => resolve());
          }),
      ),
    );
    sockets.push(...wave);
  }
  return sockets;
}
