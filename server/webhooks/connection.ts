import type { Socket } from "node:net";
import { messageOf } from "#platform/light";
import { judgeAddress } from "./egress/address.ts";
import { connect, type ConnectTrace, type Egress } from "./egress/connect.ts";
import { type Failure, STOPPING } from "./egress/failure.ts";
import type { CallbackUrl } from "./egress/judge-url.ts";

/** The exchange whose request a connection currently carries. */
export type ConnectionUser = {
  onData(octets: Buffer): void;
  /** The receiver has ended its side. */
  onEnd(): void;
  /** The connection is gone, or was never reached. */
  onLost(error: Error): void;
};

/** Why there is no connection. */
export class Unreached extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = failure;
  }
}

/** One connection to a receiver, kept alive between attempts and used by one at a time. */
export class Connection {
  readonly url: CallbackUrl;
  /** What connecting cost in the current attempt; null if it was already open. */
  trace: ConnectTrace | null = null;
  address: string | null = null;
  /** Whether only the operator's permission lets us call the address. */
  isPrivate = false;
  hasEnded = false;
  /** While idle: when it becomes too old to be used again. Monotonic. */
  idleUntilMs = 0;

  readonly #egress: Egress;
  readonly #onIdleLost: (connection: Connection) => void;
  #socket: Socket | null = null;
  #user: ConnectionUser | null = null;

  /** Opens nothing yet: it connects with its first request. */
  constructor(url: CallbackUrl, egress: Egress, onIdleLost: (connection: Connection) => void) {
    this.url = url;
    this.#egress = egress;
    this.#onIdleLost = onIdleLost;
  }

  /** `deadlineMs` limits connecting; it is monotonic. */
  send(octets: Buffer, deadlineMs: number, user: ConnectionUser): void {
    this.#user = user;
    this.trace = null;
    if (this.hasEnded) this.#lose(new Unreached(STOPPING));
    else if (this.#socket) this.#socket.write(octets);
    else this.#connect(octets, deadlineMs).catch((error: unknown) => this.#fail(error));
  }

  /** The answer is complete: nothing the receiver sends from now on was asked for. */
  rest(): void {
    this.#user = null;
  }

  /** Also works while it connects: the late socket is then destroyed. */
  end(): void {
    const socket = this.#socket;
    this.#lose(new Unreached(STOPPING));
    socket?.destroy();
  }

  async #connect(octets: Buffer, deadlineMs: number): Promise<void> {
    const connected = await connect(this.url, deadlineMs, this.#egress);
    this.trace = connected.trace;
    this.address = connected.trace.address;
    if ("failure" in connected) return this.#lose(new Unreached(connected.failure));
    const { socket } = connected;
    if (this.hasEnded) return void socket.destroy();
    this.isPrivate = judgeAddress(this.address ?? "", this.#egress.policy) === "allowed";
    this.#socket = socket;
    socket.on("data", (data: Buffer) => {
      if (this.#user) this.#user.onData(data);
      else this.end();
    });
    socket.on("end", () => {
      if (this.#user) this.#user.onEnd();
      else this.end();
    });
    socket.on("error", (error) => this.#lose(error));
    socket.on("close", () => this.#lose(new Error(CLOSED)));
    socket.write(octets);
  }

  /** A bug costs this connection, not the process. */
  #fail(error: unknown): void {
    const detail = `connecting failed: ${messageOf(error)}`;
    this.#lose(new Unreached({ kind: "our_fault", detail }));
  }

  /** Reports the loss once, to the connection's user or, if it is idle, to its keeper. */
  #lose(error: Error): void {
    const [user, wasKept] = [this.#user, !this.hasEnded];
    this.hasEnded = true;
    this.#user = null;
    this.#socket = null;
    if (user) user.onLost(error);
    else if (wasKept) this.#onIdleLost(this);
  }
}

/** The error text for a connection that ended without an error. */
export const CLOSED = "other side closed";
