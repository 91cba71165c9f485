import type {
  ApiKey,
  DeliveryErrorCode,
  LedgerEntry,
  MemberRole,
  Scope,
  Status,
  WebhookDelivery,
} from "#contract";

/**
 * The contract's words as values; `every` does not compile if a word is missing or extra. Importing
 * `#contract/words` would add a file to every page, which costs more than these words.
 */
function every<Word extends string>(words: Record<Word, true>): Word[] {
  return Object.keys(words) as Word[];
}

export const STATUSES = every<Status>({
  QUEUED: true,
  SENT: true,
  DELIVERED: true,
  UNDELIVERED: true,
  FAILED: true,
});

export const ERROR_CODES = every<DeliveryErrorCode>({
  REJECTED_BY_CARRIER: true,
  RECIPIENT_UNREACHABLE: true,
  RECIPIENT_UNKNOWN: true,
  BLOCKED: true,
  CONTENT_REJECTED: true,
  SENDER_REJECTED: true,
  EXPIRED: true,
  CANCELED: true,
  CARRIER_UNAVAILABLE: true,
  NO_ROUTE: true,
  UNKNOWN: true,
});

export const SCOPES = every<Scope>({ "messages:send": true, "messages:read": true });

export const KEY_STATES = every<ApiKey["state"]>({
  active: true,
  expires_soon: true,
  expired: true,
  revoked: true,
});

export const DELIVERY_STATES = every<WebhookDelivery["state"]>({
  waiting: true,
  retrying: true,
  delivered: true,
  exhausted: true,
  gone: true,
  forbidden: true,
});

export const EVENTS = every<WebhookDelivery["event"]>({
  "message.sent": true,
  "message.delivered": true,
  "message.undelivered": true,
  "message.failed": true,
});

export const LEDGER_KINDS = every<LedgerEntry["kind"]>({
  charge: true,
  refund: true,
  topup: true,
  adjustment: true,
});

export const ROLES = every<MemberRole>({ viewer: true, developer: true, owner: true });
