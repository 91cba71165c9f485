/**
 * A load of HTTP requests over raw sockets, cheap enough to leave the other core to the server.
 * Runs as a process of its own: reads one JSON job from argv, prints one JSON result.
 */
import { connect, type Socket } from "node:net";

export type Job = {
  port: number;
  connections: number;
  seconds: number;
  path: string;
  /** One is taken in turn for each request. */
  keys: string[];
  bodies: string[];
  /** At most so many requests a second in all; as many as are answered where it is left out. */
  perSecond?: number;
};
export type Result = {
  perSecond: number;
  statuses: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  errors: number;
};

if (process.argv[2] === "--job") {
  const result = await run(JSON.parse(process.argv[3] ?? "{}") as Job);
  process.stdout.write(JSON.stringify(result));
}

async function run(job: Job): Promise<Result> {
  const requests = job.keys.flatMap((key) =>
    job.bodies.map((body) =>
      Buffer.from(
        `POST ${job.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      ),
    ),
  );
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let errors = 0;
  let turn = 0;
  const began = performance.now();
  const end = began + job.seconds * 1000;
  const sockets = Array.from({ length: job.connections }, () => client());
  await Promise.all(sockets);
  const seconds = (performance.now() - began) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? 0;
  return {
    perSecond: latencies.length / seconds,
    statuses,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    errors,
  };

  function client(): Promise<void> {
    return new Promise((resolve) => {
      const socket: Socket = connect(job.port, "127.0.0.1");
      socket.setNoDelay(true);
      let sentAt = 0;
      let held = "";
      const send = () => {
        if (performance.now() >= end) return void socket.end();
        const earlyMs = began + (turn * 1000) / (job.perSecond ?? Infinity) - performance.now();
        if (earlyMs > 1) return void setTimeout(send, earlyMs);
        sentAt = performance.now();
        turn += 1;
        socket.write(requests[turn % requests.length] as Buffer);
      };
      socket.on("connect", send);
      socket.on("data", (chunk) => {
        held += chunk.toString("latin1");
        const head = held.indexOf("\r\n\r\n");
        if (head < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(held.slice(0, head))?.[1] ?? 0);
        if (held.length < head + 4 + length) return;
        const status = held.slice(9, 12);
        held = held.slice(head + 4 + length);
        statuses[status] = (statuses[status] ?? 0) + 1;
        latencies.push(performance.now() - sentAt);
        send();
      });
      socket.on("error", () => {
        errors += 1;
        resolve();
      });
      socket.on("close", () => resolve());
    });
  }
}
