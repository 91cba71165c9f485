import { Socket } from "node:net";
import pg from "pg";

type Host = { host: string; port: number };

/**
 * A database address that may name several hosts, as in `postgres://user@one:5432,two:5432/name`: one
 * primary and its standbys. The driver knows only one host, so it gets the first, and connections
 * are steered to the one that is believed to be the primary.
 */
export type Primary = {
  /** The address with one host, for the driver to parse. */
  url: string;
  /** For the driver's configuration; empty where there is only one host. */
  stream: { stream?: () => Socket };
  /** Which host is tried at present. */
  position(): number;
  /**
   * The host at this position was not the primary, or not there: the next one is tried. Where others
   * have found that out already, nothing changes: many who fail together go one host on, not many.
   */
  advance(from: number): void;
  count: number;
};

const ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]+)(.*)$/;
const DEFAULT_PORT = 5432;

export function seekPrimary(address: string): Primary {
  const [, before = "", list = "", after = ""] = ADDRESS.exec(address) ?? [];
  const hosts = list.split(",").map(readHost);
  if (hosts.length < 2)
    return { url: address, stream: {}, position: () => 0, advance() {}, count: 1 };
  let position = 0;
  return {
    url: `${before}${list.split(",")[0]}${after}`,
    stream: { stream: () => new SteeredSocket(() => hosts[position] as Host) },
    position: () => position,
    advance(from) {
      if (from === position) position = (position + 1) % hosts.length;
    },
    count: hosts.length,
  };
}

/** Goes where it is told at the moment of connecting, whatever the driver asks for. */
class SteeredSocket extends Socket {
  readonly #target: () => Host;

  constructor(target: () => Host) {
    super();
    this.#target = target;
  }

  override connect(): this {
    const { host, port } = this.#target();
    return super.connect(port, host);
  }
}

function readHost(text: string): Host {
  const [, bracketed, name = "", port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  return { host: bracketed ?? name, port: port === undefined ? DEFAULT_PORT : Number(port) };
}

/** On which ports the hosts of an address listen. */
export function databasePorts(address: string): number[] {
  const [, , list = ""] = ADDRESS.exec(address) ?? [];
  return list.split(",").map((text) => readHost(text).port);
}

/** Whether a connection leads to a server that takes no writes. */
export async function isStandby(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ standby: boolean }>(
    "select pg_is_in_recovery() as standby",
  );
  return rows[0]?.standby ?? false;
}

/** One connection to the primary, for work that needs no pool. Tries each host once. */
export async function connectToPrimary(
  address: string,
  config: pg.ClientConfig = {},
): Promise<pg.Client> {
  const primary = seekPrimary(address);
  let reason: unknown;
  for (let host = 0; host < primary.count; host += 1) {
    const client = new pg.Client({
      connectionTimeoutMillis: 5_000,
      ...config,
      connectionString: primary.url,
      ...primary.stream,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      if (primary.count === 1 || !(await isStandby(client))) return client;
      reason = new Error("every host of the address is a standby");
    } catch (error) {
      reason = error;
    }
    await client.end().catch(() => undefined);
    primary.advance(host);
  }
  throw reason;
}
