import type { ShortMessage } from "./codec/body.ts";
import type { Session } from "./session.ts";

export type BindKind = "transmitter" | "receiver" | "transceiver";

/** Why a connection is over. Each session ends once and is never reused. */
export type SessionEnd =
  | { why: "bind_refused"; status: number; problem: string }
  | { why: "lost" | "stopped"; problem: string };

/** A request of the peer that waits for `respond`. */
export type Delivery = {
  commandId: number;
  sequence: number;
  /** Undefined if the body cannot be read. */
  message: ShortMessage<Buffer> | undefined;
  /** Only lent, like the views in the message: copy it to keep it. */
  frame: Buffer;
};

export type SessionEvents = {
  onConnected(): void;
  onBound(): void;
  /** The peer unbinds: nothing more is submitted, but what is on its way may still be answered. */
  onLeaving(problem: string): void;
  /** The peer answered our enquire_link. */
  onEnquired(): void;
  /** A submit was answered, or the socket takes more again. */
  onRoom(): void;
  onDelivery(delivery: Delivery, session: Session): void;
  /** The peer sent something that fits nothing; it is only logged. */
  onOdd(what: string): void;
  onEnd(end: SessionEnd): void;
};
