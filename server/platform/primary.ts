import pg from "pg";
import { messageOf } from "./error-text.ts";
import { sessionOptions } from "./session.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/**
 * A database address that may name several hosts, as in `postgres://user@one:5432,two:5432/name`: one
 * primary and its standbys. The driver knows only one host, so each connection is made with the
 * address of the one that is believed to be the primary; its certificate is judged by that name.
 */
export type Primary = {
  /** For the driver: a client that knows where to go when it is made. */
  Client: typeof pg.Client;
  /** Which host is tried at present. */
  position(): number;
  /**
   * The host at this position was not the primary, or not there: the next one is tried. Where others
   * have found that out already, nothing changes: many who fail together go one host on, not many.
   */
  advance(from: number): void;
  /** What the host at this position said, under its name where there are others. */
  refusal(position: number, error: unknown): string;
  count: number;
};

const ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]+)(.*)$/;
const DEFAULT_PORT = 5432;

export function seekPrimary(address: string): Primary {
  const [, before = "", list = "", after = ""] = ADDRESS.exec(address) ?? [];
  const hosts = list.split(",");
  if (hosts.length < 2) {
    const refusal = (_position: number, error: unknown) => messageOf(error);
    return { Client: pg.Client, position: () => 0, advance() {}, refusal, count: 1 };
  }
  let position = 0;
  return {
    Client: class extends pg.Client {
      constructor(config: pg.ClientConfig) {
        super({ ...config, connectionString: `${before}${hosts[position]}${after}` });
      }
    },
    position: () => position,
    advance(from) {
      if (from === position) position = (position + 1) % hosts.length;
    },
    refusal: (at, error) => `${hosts[at]}: ${messageOf(error)}`,
    count: hosts.length,
  };
}

/** On which ports the hosts of an address listen. */
export function databasePorts(address: string): number[] {
  const [, , list = ""] = ADDRESS.exec(address) ?? [];
  return list.split(",").map((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? DEFAULT_PORT));
}

/** Whether a connection leads to a server that takes no writes. */
async function isStandby(client: pg.ClientBase): Promise<boolean> {
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
  const refusals: string[] = [];
  let cause: unknown;
  for (let host = 0; host < primary.count; host += 1) {
    const client = new primary.Client({
      connectionTimeoutMillis: 5_000,
      options: sessionOptions(),
      ...config,
      connectionString: address,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      if (primary.count === 1 || !(await isStandby(client))) return client;
      refusals.push(primary.refusal(host, new Error("this host is a standby")));
    } catch (error) {
      cause = error;
      refusals.push(primary.refusal(host, error));
    }
    await client.end().catch(() => undefined);
    primary.advance(host);
  }
  throw new DatabaseUnavailable(refusals.join("; "), { cause });
}
