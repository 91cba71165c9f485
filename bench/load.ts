/**
 * A load of HTTP requests over raw sockets, cheap enough to leave the other core to the server.
 * Runs as a process of its own: reads one JSON job from argv, prints one JSON result.
 */
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

export type Job = {
  port: number;
  connections: number;
  seconds: number;
  path: string;
  /** One is taken in turn for each request. */
  keys: string[];
  /** Posted in turn; where there are none, the path is fetched with GET. */
  bodies: string[];
  /** At most so many requests a second in all; as many as are answered where it is left out. */
  perSecond?: number;
  /** A file for the ids of all messages that were answered with 202, one a line. */
  idsFile?: string;
};
export type Result = {
  perSecond: number;
  statuses: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Connections that broke. */
  errors: number;
  /** Requests that were sent and not answered, half a minute after the last. */
  unanswered: number;
  /** Processor time that the load itself took of each request. */
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
      /** When the request left that is to be answered; undefined where none is. */
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
        // What nobody asked for, such as 408 to a silent connection, is no answer to a request.
        if (sentAt === undefined) return void socket.destroy();
        note(held.slice(9, 12), held);
        held = held.slice(head + 4 + length);
        latencies.push(performance.now() - sentAt);
        sentAt = undefined;
        sendInTurn();
      });
      socket.on("close", () => resolve());
      // The first at once, whatever the rate: a silent connection is soon closed.
      if (socket.destroyed) resolve();
      else send();
    });
  }
}

/** In waves that fit the queue of a listening socket: what does not is tried again a second later. */
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
