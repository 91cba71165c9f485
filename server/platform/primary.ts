import pg from "pg";
import { messageOf } from "./error-text.ts";
import { sessionOptions } from "./session.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/**
 * A database address that may name several hosts, as in `postgres://user@one:5432,two:5432/name`: a
 * primary and its standbys. The driver takes only one host, so each connection is made with the
 * address of the supposed primary, and the certificate is checked against that name.
 */
export type Primary = {
  /** For the driver: a client that picks the host when it is constructed. */
  Client: typeof pg.Client;
  /** The index of the host that is tried now. */
  position(): number;
  /**
   * The host at `from` is not the primary or not reachable, so try the next one. Does nothing if
   * another caller has already done so: many that fail together advance by one host, not by many.
   */
  advance(from: number): void;
  /** The error of the host at this position, with the host's name if there are several. */
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

/** The ports on which the hosts of an address listen. */
export function databasePorts(address: string): number[] {
  const [, , list = ""] = ADDRESS.exec(address) ?? [];
  return list.split(",").map((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? DEFAULT_PORT));
}

/** Whether the connection leads to a server that takes no writes. */
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
