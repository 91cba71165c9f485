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
  /** What those who store and match its receipts must know. */
  readonly receiptRules: ReceiptRules;
  /** How many submissions can leave at once: free window, present rate. Zero while not bound. */
  room(): number;
  /** Called when `room()` may have grown, so that the send loop need not poll for it. */
  onRoom(listener: () => void): void;
  /**
   * Settles exactly once, also when the connection closes. Rejects only on a bug. What waits for its
   * turn asks `mayLeave` when the turn has come: this process may have slept meanwhile.
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
  /** Whether each segment gets a receipt of its own, or the message one for all. */
  per: "segment" | "message";
  /** How long after its submission a receipt may match it: carriers use their ids again. */
  windowMs: number;
  /** How long a receipt that matches nothing is kept. */
  parkedMs: number;
  /** The sender of messages that have none. */
  defaultSender?: string | null;
};

export type OutgoingSegment = {
  messageId: string;
  recipient: string;
  /** Null where the carrier is to fill it. */
  sender: string | null;
  /** The segment's own text, already cut; the whole text for a carrier with `wholeMessages`. */
  text: string;
  /** The message's text, to be judged with its first segment. */
  wholeText: string;
  encoding: "gsm7" | "ucs2";
  /** 1-based position among `segments`. */
  segment: number;
  segments: number;
  /** 0–255, the same for all segments of a message and on every resend. */
  concatReference: number;
  /** What is left of the message's validity. */
  validitySeconds: number;
  /** Which submission of this segment this is, 1 for the first. */
  attempt: number;
  /** Whether an earlier submission of this segment is in doubt. */
  resent: boolean;
  /** Whether others got through between its tries: if it is throttled again, that is about this message. */
  isOvertaken: boolean;
};

/**
 * `in_doubt` is an outcome of its own: octets left and no answer came, so the carrier may or may
 * not have the segment. Policy decides what follows; nobody may take it for a failure.
 */
export type SubmitOutcome =
  | {
      kind: "accepted";
      /** As the carrier gave it, empty where it gave none: then no receipt can ever match. */
      carrierMessageId: string;
      /** The same id in the form that receipts are compared with, by the carrier's id rule. */
      matchId: string;
    }
  | {
      kind: "refused";
      temporary: boolean;
      /** The carrier asked for less: it slows down by itself, and `room()` says when to go on. */
      throttled: boolean;
      code: DeliveryErrorCode;
      /** Null where the refusal is ours: a text that the carrier's alphabet cannot hold. */
      carrierCode: string | null;
    }
  | {
      kind: "in_doubt";
      why: "timeout" | "link_lost";
      /** Only after a time-out on a live link. Settles in bounded time; in_doubt: it never came. */
      lateAnswer?: Promise<SubmitOutcome>;
    }
  | { kind: "unsent" };

/** What a receipt says, in our words; storing, matching and parking it belongs to sending. */
export type Receipt = {
  carrierId: string;
  /** What to look for among the `matchId`s, in this order: the exact id, by the id rule, as it stands. */
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
  /** How the PDU begins, to be kept with a receipt that is parked. */
  raw: Uint8Array | null;
};

export type ReceiptSink = {
  /**
   * Resolves after commit; only then is the carrier answered. Names those that were not stored, where
   * only some were: the carrier is asked to repeat them. Rejects where none was: all are tried again first.
   */
  store(receipts: Receipt[]): Promise<readonly Receipt[]>;
  /** When it last stored anything of anybody's, by the monotonic clock: then it is slow and not stuck. */
  storedAtMs(): number;
};

/** Of a link or of a whole carrier, as it is now. */
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
  /** When the carrier last answered our enquire_link: only an idle link is asked. */
  enquireLinkAt: Date | null;
  /** Why the link is not bound, or will soon be no more, in words. */
  problem: string | null;
};

export type CarrierState = Speed & {
  state: "up" | "degraded" | "down";
  /** Never while it is down; one that only receives may be up and take none. */
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
  /** Receipts whose state is a word that nothing maps. */
  unknownStates: number;
  /** Receipts and requests that could not be understood. */
  unreadable: number;
  throttled: number;
  reconnects: number;
  inboundTexts: number;
};
