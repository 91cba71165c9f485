import type { Socket } from "node:net";
import { type buildConnector, Client } from "undici";
import { judgeAddress } from "./egress/address.ts";
import { connect, type ConnectTrace, type Egress } from "./egress/connect.ts";
import type { Failure } from "./egress/failure.ts";
import type { CallbackUrl } from "./egress/judge-url.ts";

/** One connection to a receiver, kept alive between attempts and used by one at a time. */
export type Line = {
  readonly client: Client;
  readonly url: CallbackUrl;
  /** What the connection that carries the present attempt cost; null where it was open already. */
  trace: ConnectTrace | null;
  address: string | null;
  /** True where only the operator's leave lets us call the address. */
  isPrivate: boolean;
  socket: Socket | null;
  /** When the present attempt must be over; connecting obeys it too. Monotonic. */
  deadlineMs: number;
  /** Told of every read, and how many octets the socket has read so far. */
  onRead: ((octets: number) => void) | null;
};

/** Receivers and the balancers before them close idle connections after 5 s and more. */
const KEEP_ALIVE_MS = 4_000;

export const MAX_HEADER_OCTETS = 16 * 1024;

/** Opens nothing yet: the client connects when it is given its first request. */
export function openLine(url: CallbackUrl, egress: Egress, onClosed: (line: Line) => void): Line {
  const client = new Client(url.origin, {
    // Called for every connection, literal addresses included, which a custom lookup is not.
    connect: (_, callback) => void join(line, egress, callback),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_OCTETS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // Off: the one is coarse and 1xx answers escape it, the other starts anew with every octet.
    // The attempt's own deadline is over everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const line: Line = {
    client,
    url,
    trace: null,
    address: null,
    isPrivate: false,
    socket: null,
    deadlineMs: 0,
    onRead: null,
  };
  client.on("connect", () => watchReads(line));
  client.on("disconnect", () => {
    line.socket = null;
    onClosed(line);
  });
  return line;
}

/** Carries the reason through the HTTP client, which knows errors only. */
export class Unreached extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = failure;
  }
}

async function join(line: Line, egress: Egress, callback: buildConnector.Callback): Promise<void> {
  const connected = await connect(line.url, line.deadlineMs, egress);
  line.trace = connected.trace;
  line.address = connected.trace.address;
  if ("failure" in connected) return callback(new Unreached(connected.failure), null);
  line.isPrivate = judgeAddress(line.address ?? "", egress.policy) === "allowed";
  line.socket = connected.socket;
  return callback(null, connected.socket);
}

/** After the client's own listener, so that what was read is parsed when `onRead` is told of it. */
function watchReads(line: Line): void {
  const { socket } = line;
  socket?.on("readable", () => line.onRead?.(socket.bytesRead));
}
