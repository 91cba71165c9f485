import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Unfit } from "#platform";
import type { Config } from "./settings.ts";

/** Runs before anything is changed. Returns the port: a free one if 0 was asked for. */
export async function refuseTakenPorts({ host, port, metricsListen }: Config): Promise<number> {
  await using service = await probe({ host, port }, ["PORT", "HOST and PORT"]);
  // Checked while the first port is held, so that the two cannot be the same.
  await using _metrics =
    metricsListen && (await probe(metricsListen, ["METRICS_LISTEN", "METRICS_LISTEN"]));
  return service.port;
}

type Address = { host: string; port: number };

/** Cuts off new connections: a proxy would wait for an answer, and startup for the proxy. */
export async function probe({ host, port }: Address, [ofPort, ofAddress]: [string, string]) {
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Unfit(
      code === "EADDRINUSE"
        ? `Port ${port} on ${host} is taken. Stop what uses it, or set ${ofPort} to another.`
        : `Cannot listen on ${host}:${port} (${code}). Set ${ofAddress} to an address of this machine.`,
    );
  }
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}
