import type { DeliveryErrorCode } from "#contract";

/** One upstream network. Adapters know protocols; they know nothing of accounts or SQL. */
export type Carrier = {
  readonly carrierId: string;
  readonly name: string;
  /** What to do with a segment that the carrier may or may not have. */
  readonly inDoubt: "resend" | "fail";
  /** Whether a message of several segments leaves as one submission (`message_payload`). */
  readonly wholeMessages: boolean;
  /** How many submissions can leave at once: free window, present rate. Zero while not bound. */
  room(): number;
  /** Called when `room()` may have grown, so that the send loop need not poll for it. */
  onRoom(listener: () => void): void;
  /** Settles exactly once, also when the connection closes. Rejects only on a bug. */
  submit(segment: OutgoingSegment, signal: AbortSignal): Promise<SubmitOutcome>;
  /** Whether `text` fits the carrier's alphabet; a carrier that cannot hold it is passed over. */
  canCarry(segment: Pick<OutgoingSegment, "encoding" | "text">): boolean;
  state(): CarrierState;
  start(): void;
  /** Submits no more, lets what is in flight be answered, unbinds and closes. */
  stop(): Promise<void>;
};

export type OutgoingSegment = {
  messageId: string;
  recipient: string;
  /** Null where the carrier is to fill it. */
  sender: string | null;
  /** The segment's own text, already cut; the whole text for a carrier with `wholeMessages`. */
  text: string;
  encoding: "gsm7" | "ucs2";
  /** 1-based position among `segments`. */
  segment: number;
  segments: number;
  /** 0–255, the same for all segments of a message and on every resend. */
  concatReference: number;
  /** What is left of the message's validity. */
  validitySeconds: number;
};

/**
 * `in_doubt` is an outcome of its own: octets left and no answer came, so the carrier may or may
 * not have the segment. Policy decides what follows; nobody may take it for a failure.
 */
export type SubmitOutcome =
  | { kind: "accepted"; carrierMessageId: string }
  | { kind: "refused"; temporary: boolean; code: DeliveryErrorCode; carrierCode: string }
  | { kind: "in_doubt"; why: "timeout" | "link_lost"; lateAnswer?: Promise<SubmitOutcome> }
  | { kind: "unsent" };

/** What a receipt says, in our words; storing, matching and parking it belongs to sending. */
export type Receipt = {
  carrierId: string;
  /** The id as the receipt has it, and every other spelling the carrier's id rule allows. */
  carrierMessageIds: string[];
  /** The carrier's own word, such as DELIVRD. */
  state: string;
  effect: "delivered" | "undelivered" | "rejected" | "none";
  /** The delivery error code when the effect is undelivered or rejected. */
  errorCode: DeliveryErrorCode | null;
  /** The receipt's `err`, as given. */
  carrierCode: string | null;
  /** Breaks ties between equal ids. */
  recipient: string | null;
};

/** Resolves after commit; only then is the carrier answered. A rejection asks it to repeat. */
export type ReceiptSink = (receipts: Receipt[]) => Promise<void>;

export type LinkState = {
  bind: "transmitter" | "receiver" | "transceiver" | "simulator";
  state: "starting" | "binding" | "bound" | "throttled" | "connection_lost" | "refused" | "stopped";
  since: Date;
  windowInUse: number;
  /** Why the link is not bound, in words. */
  problem: string | null;
};

export type CarrierState = {
  state: "up" | "degraded" | "down";
  links: LinkState[];
  submitsPerSecond: number;
  receiptsPerSecond: number;
  responseMs: { p50: number; p99: number } | null;
  counts: {
    accepted: number;
    refused: number;
    inDoubt: number;
    receipts: number;
    throttled: number;
    reconnects: number;
    inboundTexts: number;
  };
  /** Refusals since start by `command_status`, such as "0x0B". */
  statuses: Record<string, number>;
};
