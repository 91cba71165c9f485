import type { DeliveryErrorCode } from "#contract";
import type { linkBinds, linkStates } from "#contract/words";

/** One upstream network. Adapters know protocols; they know nothing of accounts or SQL. */
export type Carrier = {
  readonly carrierId: string;
  readonly name: string;
  /** What to do with a segment that the carrier may or may not have. */
  readonly inDoubt: "resend" | "fail";
  /** Whether a message of several segments leaves as one submission (`message_payload`). */
  readonly wholeMessages: boolean;
  /** What storing and matching its receipts needs to know. */
  readonly receiptRules: ReceiptRules;
  /** How many submissions can leave at once: free window, present rate. Zero while not bound. */
  room(): number;
  /** Called when `room()` may have grown, so that the send loop need not poll for it. */
  onRoom(listener: () => void): void;
  /**
   * Settles exactly once, even if the connection closes. Rejects only on a bug. A submission that
   * waits for its turn asks `mayLeave` when the turn comes: this process may have slept meanwhile.
   */
  submit(
    segment: OutgoingSegment,
    signal: AbortSignal,
    mayLeave: () => boolean,
  ): Promise<SubmitOutcome>;
  state(): CarrierState;
  start(): void;
  /** Submits no more, lets what is in flight be answered, unbinds and closes. */
  stop(): Promise<void>;
};

export type ReceiptRules = {
  /** Whether each segment gets its own receipt, or the message gets one for all. */
  per: "segment" | "message";
  /** How long after its submission a receipt may match it: carriers reuse their ids. */
  windowMs: number;
  /** How long a receipt that matches nothing is kept. */
  parkedMs: number;
  /** The sender of messages that have none. */
  defaultSender?: string | null;
};

export type OutgoingSegment = {
  messageId: string;
  recipient: string;
  /** Null if the carrier is to fill it in. */
  sender: string | null;
  /** The segment's own text, already cut; the whole text for a carrier with `wholeMessages`. */
  text: string;
  /** The whole message's text, checked when its first segment is submitted. */
  wholeText: string;
  encoding: "gsm7" | "ucs2";
  /** 1-based position among `segments`. */
  segment: number;
  segments: number;
  /** 0–255, the same for all segments of a message and on every resend. */
  concatReference: number;
  /** What is left of the message's validity. */
  validitySeconds: number;
  /** The number of this submission of the segment, from 1. */
  attempt: number;
  /** Whether an earlier submission of this segment is in doubt. */
  resent: boolean;
  /** Whether others got through between its tries: one more throttle is about this message. */
  isOvertaken: boolean;
};

/**
 * `in_doubt` is an outcome of its own: something was written and no answer came, so the carrier may
 * or may not have the segment. Policy decides what follows; it must not be treated as a failure.
 */
export type SubmitOutcome =
  | {
      kind: "accepted";
      /** As the carrier gave it; empty if it gave none, and then no receipt can ever match. */
      carrierMessageId: string;
      /** The same id, normalized by the carrier's id rule, as receipts are matched against it. */
      matchId: string;
    }
  | {
      kind: "refused";
      temporary: boolean;
      /** The carrier asked for less: it is slowed down by itself; `room()` says when to go on. */
      throttled: boolean;
      code: DeliveryErrorCode;
      /** Null if the refusal is ours: a text that the carrier's alphabet cannot hold. */
      carrierCode: string | null;
    }
  | {
      kind: "in_doubt";
      why: "timeout" | "link_lost";
      /** Only after a time-out on a live link. Settles in bounded time; `in_doubt` if none came. */
      lateAnswer?: Promise<SubmitOutcome>;
    }
  | { kind: "unsent" };

/** What a receipt says, in our terms. The sending room stores, matches and parks it. */
export type Receipt = {
  carrierId: string;
  /** The `matchId`s to look for, in this order: the exact id, the id by the id rule, the raw id. */
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
  /** The beginning of the PDU, kept with a parked receipt. */
  raw: Uint8Array | null;
};

export type ReceiptSink = {
  /**
   * Resolves after commit; only then is the carrier answered. Returns the receipts not stored if
   * some were: the carrier is asked to repeat them. Rejects if none was: all are retried first.
   */
  store(receipts: Receipt[]): Promise<readonly Receipt[]>;
  /** When it last stored anything, by the monotonic clock: tells a slow sink from a stuck one. */
  storedAtMs(): number;
};

/** The current speed of a link or of a whole carrier. */
export type Speed = {
  submitsPerSecond: number;
  receiptsPerSecond: number;
  responseMs: { p50: number; p99: number } | null;
};

export type LinkState = Speed & {
  bind: (typeof linkBinds)[number];
  state: (typeof linkStates)[number];
  since: Date;
  windowInUse: number;
  /** When the carrier last answered our enquire_link, which only an idle link sends. */
  enquireLinkAt: Date | null;
  /** Why the link is not bound, or soon will not be, in words. */
  problem: string | null;
};

export type CarrierState = Speed & {
  state: "up" | "degraded" | "down";
  /** False while it is down. A carrier that only receives may be up and take none. */
  takesMessages: boolean;
  links: LinkState[];
  counts: CarrierCounts;
  /** Refusals since start by `command_status`, such as "0x0B". */
  statuses: Record<string, number>;
};

export type CarrierCounts = {
  accepted: number;
  acceptedWithoutId: number;
  refused: number;
  inDoubt: number;
  lateAnswers: number;
  receipts: number;
  /** Receipts whose state is a word without a mapping. */
  unknownStates: number;
  /** Receipts and requests that could not be understood. */
  unreadable: number;
  throttled: number;
  reconnects: number;
  inboundTexts: number;
};
