// Made from contract/ by generate-model.ts; a change here is lost.

export type Status = "QUEUED" | "SENT" | "DELIVERED" | "UNDELIVERED" | "FAILED";

export type EventName =
  | "message.queued"
  | "message.sent"
  | "message.delivered"
  | "message.undelivered"
  | "message.failed";

export type ErrorCode =
  | "JSON_INVALID"
  | "CURSOR_INVALID"
  | "IDEMPOTENCY_KEY_INVALID"
  | "REQUEST_INVALID"
  | "API_KEY_MISSING"
  | "API_KEY_INVALID"
  | "API_KEY_REVOKED"
  | "API_KEY_EXPIRED"
  | "CREDITS_INSUFFICIENT"
  | "API_KEY_SCOPE_DENIED"
  | "MESSAGE_NOT_FOUND"
  | "ROUTE_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "REQUEST_TIMEOUT"
  | "IDEMPOTENCY_KEY_REUSED"
  | "MESSAGE_NOT_CANCELABLE"
  | "BODY_TOO_LARGE"
  | "CONTENT_TYPE_UNSUPPORTED"
  | "VALIDATION_FAILED"
  | "RECIPIENT_NOT_SERVED"
  | "PRICE_ABOVE_LIMIT"
  | "RATE_LIMITED"
  | "QUEUE_FULL"
  | "HEADERS_TOO_LARGE"
  | "INTERNAL"
  | "UNAVAILABLE";

export type DetailCode =
  | "FIELD_REQUIRED"
  | "FIELD_UNKNOWN"
  | "FIELD_INVALID"
  | "RECIPIENT_INVALID"
  | "TEXT_INVALID"
  | "TEXT_TOO_LONG"
  | "TEXT_NOT_GSM7"
  | "SENDER_INVALID"
  | "CALLBACK_URL_INVALID"
  | "CALLBACK_URL_FORBIDDEN"
  | "REFERENCE_INVALID"
  | "METADATA_INVALID"
  | "ENCODING_INVALID"
  | "MAX_CREDITS_INVALID"
  | "SEND_AT_INVALID"
  | "VALIDITY_SECONDS_INVALID"
  | "PARAMETER_INVALID"
  | "PARAMETER_UNKNOWN"
  | "JSON_INVALID"
  | "API_KEY_SCOPE_DENIED"
  | "RATE_LIMITED"
  | "UNAVAILABLE"
  | "CREDITS_INSUFFICIENT"
  | "MESSAGE_NOT_CANCELABLE"
  | "RECIPIENT_NOT_SERVED"
  | "PRICE_ABOVE_LIMIT";

export type NewMessage = {
  /** The number in E.164 format: 7 to 15 digits without the plus. A leading + is accepted and removed. */
  recipient: string;
  /** What to send: at most 10 segments, never truncated. */
  text: string;
  /** E.164 digits, a short code of 3 to 8 digits, or 1 to 11 letters, digits, space, - _ . & with at least one letter. If left out, the account's default, else the carrier's. */
  sender?: string | null;
  /** Receives a signed webhook on every change of status. */
  callbackUrl?: string | null;
  /** Your own id; can be filtered by, need not be unique. */
  reference?: string | null;
  /** At most 20 string values, 2 KB in total; returned to you, never sent to the recipient. */
  metadata?: Record<string, string> | null;
  /** auto uses GSM 03.38 if the text fits, else UCS-2; gsm7 refuses a text that does not fit. */
  encoding?: "auto" | "gsm7" | "ucs2" | null;
  /** Refuse the message if it costs more than this. */
  maxCredits?: number | null;
  /** Send at this time, at most 35 days ahead; ISO 8601 with a time zone. Charged on acceptance. */
  sendAt?: string | null;
  /** A message not handed over within this time (from sendAt, else from acceptance) becomes FAILED with EXPIRED. Default 86400. */
  validitySeconds?: number | null;
};

export type Message = {
  messageId: string;
  recipient: string;
  sender: string | null;
  text: string;
  status: Status;
  encoding: "gsm7" | "ucs2";
  segments: number;
  /** Credits charged. */
  credits: number;
  /** 0, or credits. */
  creditsRefunded: number;
  reference: string | null;
  metadata: Record<string, string> | null;
  callbackUrl: string | null;
  error: DeliveryError | null;
  createdAt: string;
  sendAt: string | null;
  expiresAt: string;
  sentAt: string | null;
  deliveredAt: string | null;
  updatedAt: string;
};

export type DeliveryError = {
  code:
    | "REJECTED_BY_CARRIER"
    | "RECIPIENT_UNREACHABLE"
    | "RECIPIENT_UNKNOWN"
    | "BLOCKED"
    | "CONTENT_REJECTED"
    | "SENDER_REJECTED"
    | "EXPIRED"
    | "CANCELED"
    | "CARRIER_UNAVAILABLE"
    | "NO_ROUTE"
    | "UNKNOWN";
  message: string;
  carrierCode: string | null;
};

export type MessageBatch = {
  data: Message[];
};

export type Preview = {
  recipient: string;
  /** ISO 3166 alpha-2, or null for numbers that belong to no country. */
  country: string | null;
  encoding: "gsm7" | "ucs2";
  segments: number;
  credits: number;
  balance: number;
  nonGsmCharacters: {
    character: string;
    /** Index of its first UTF-16 code unit in the text. */
    position: number;
  }[];
};

export type ListQuery = {
  limit?: number;
  /** `nextCursor` of the previous page. */
  cursor?: string;
  /** Repeatable. */
  status?: Status[];
  /** 7 to 15 digits, with or without a leading plus. */
  recipient?: string;
  /** Text without a NUL character. */
  reference?: string;
  /** ISO 8601 with a zone, such as 2026-11-15T09:30:00.123Z. */
  createdAfter?: string;
  /** ISO 8601 with a zone, such as 2026-11-15T09:30:00.123Z. */
  createdBefore?: string;
};

export type MessagePage = {
  data: Message[];
  nextCursor: string | null;
};

export type HistoryEntry =
  | {
      type: "status";
      at: string;
      /** QUEUED is 1. */
      sequence: number;
      event: EventName;
      status: Status;
      error: DeliveryError | null;
      webhook: {
        eventId: string;
        state: "pending" | "delivered" | "exhausted" | "gone" | "forbidden";
        attempts: {
          attempt: number;
          at: string;
          durationMs: number;
          httpStatus: number | null;
          error: string | null;
        }[];
      } | null;
    }
  | {
      type: "submission";
      at: string;
      carrier: string;
      segment: number;
      outcome: "accepted" | "refused_temporarily" | "refused" | "unsent";
      carrierMessageId: string | null;
      carrierCode: string | null;
    }
  | {
      type: "doubt";
      at: string;
      carrier: string;
      segment: number;
      reason: string;
      action: "resend" | "fail";
    }
  | {
      type: "receipt";
      at: string;
      carrier: string;
      segment: number;
      /** The carrier's word, such as DELIVRD. */
      state: string;
      carrierCode: string | null;
      /** False if it changed nothing. */
      applied: boolean;
    };

export type Credits = {
  balance: number;
};

export type SentEvent = {
  event: "message.sent";
  messageId: string;
  /** E.164 digits without the plus. */
  recipient: string;
  status: "SENT";
  sentAt: string;
};

export type DeliveredEvent = {
  event: "message.delivered";
  messageId: string;
  /** E.164 digits without the plus. */
  recipient: string;
  status: "DELIVERED";
  deliveredAt: string;
};

export type UndeliveredEvent = {
  event: "message.undelivered";
  messageId: string;
  /** E.164 digits without the plus. */
  recipient: string;
  status: "UNDELIVERED";
  undeliveredAt: string;
  error: DeliveryError;
};

export type FailedEvent = {
  event: "message.failed";
  messageId: string;
  /** E.164 digits without the plus. */
  recipient: string;
  status: "FAILED";
  failedAt: string;
  error: DeliveryError;
};
