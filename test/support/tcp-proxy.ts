import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type TcpProxy = AsyncDisposable & {
  port: number;
  /** From now on, reads the server's replies but keeps them back; closes nothing. */
  withholdReplies(): void;
  /** Nothing passes in either direction, nothing is closed: like a pulled cable. */
  hold(): void;
  /** Lets everything pass again, starting with what was kept back. */
  release(): void;
  /** Ends every connection at once, without a clean close. */
  cut(): void;
  /** Refuses new connections, or accepts them again. */
  refuse(isRefusing: boolean): void;
  /** Delays every chunk, in both directions. */
  delay(ms: number): void;
  /** Resolves with the first chunk from a client that `wanted` accepts. */
  clientSent(wanted: (chunk: Buffer) => boolean): Promise<Buffer>;
  /** Resolves once a reply of the server has been withheld. */
  replyWithheld(): Promise<void>;
};

type Pair = { client: Socket; server: Socket; kept: Buffer[] };

/** A TCP proxy on loopback whose faults the test chooses. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const listeners = new Set<(chunk: Buffer) => void>();
  const onWithheld = new Set<() => void>();
  let [isWithholding, isHolding, isRefusing] = [false, false, false];
  let delayMs = 0;

  const pass = (to: Socket, chunk: Buffer) => {
    if (delayMs === 0) return void to.write(chunk);
    setTimeout(() => to.writable && to.write(chunk), delayMs);
  };

  const listener = createServer((client) => {
    if (isRefusing) return void client.resetAndDestroy();
    const server = connect(target);
    const pair: Pair = { client, server, kept: [] };
    pairs.add(pair);
    client.on("data", (chunk: Buffer) => {
      listeners.forEach((listen) => listen(chunk));
      pass(server, chunk);
    });
    server.on("data", (chunk: Buffer) => {
      if (!isWithholding) return pass(client, chunk);
      pair.kept.push(chunk);
      for (const tell of onWithheld) tell();
    });
    if (isHolding) for (const socket of [client, server]) socket.pause();
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.setNoDelay(true);
      one.on("error", () => {});
      one.on("close", () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");

  function cut(): void {
    for (const { client, server } of pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  return {
    port: (listener.address() as AddressInfo).port,
    cut,
    withholdReplies() {
      isWithholding = true;
    },
    hold() {
      isHolding = true;
      for (const { client, server } of pairs) for (const end of [client, server]) end.pause();
    },
    release() {
      [isHolding, isWithholding] = [false, false];
      for (const { client, server, kept } of pairs) {
        for (const chunk of kept.splice(0)) client.write(chunk);
        for (const end of [client, server]) end.resume();
      }
    },
    refuse(refusing) {
      isRefusing = refusing;
    },
    delay(ms) {
      delayMs = ms;
    },
    clientSent: (wanted) =>
      new Promise((resolve) => {
        const listen = (chunk: Buffer) => {
          if (!wanted(chunk)) return;
          listeners.delete(listen);
          resolve(chunk);
        };
        listeners.add(listen);
      }),
    replyWithheld: () =>
      new Promise((resolve) => {
        if ([...pairs].some(({ kept }) => kept.length > 0)) return resolve();
        const tell = () => {
          onWithheld.delete(tell);
          resolve();
        };
        onWithheld.add(tell);
      }),
    async [Symbol.asyncDispose]() {
      cut();
      listener.close();
      await once(listener, "close");
    },
  };
}
