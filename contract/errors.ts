import { consoleErrors } from "./console-errors.ts";

export type ErrorEntry = {
  status: number;
  /** The sentence that the client reads in the answer. */
  message: string;
  /** When this is answered, and what did or did not happen. */
  meaning: string;
  /** What to do about it. */
  fix: string;
};

/** What can go wrong under `/v1`. OpenAPI and the SDK know only these. */
export const apiErrors = {
  JSON_INVALID: {
    status: 400,
    message: "The body is not valid JSON in UTF-8.",
    meaning: "The request body could not be read as UTF-8 JSON. Nothing was stored or charged.",
    fix: "Send one JSON object, encoded as UTF-8 without a byte order mark.",
  },
  CURSOR_INVALID: {
    status: 400,
    message: "The cursor is damaged, or belongs to other filters.",
    meaning: "A cursor is opaque and works only with the filters it was issued for.",
    fix: "Pass `nextCursor` back unchanged, with the same filters, or leave out `cursor` to start over.",
  },
  IDEMPOTENCY_KEY_INVALID: {
    status: 400,
    message:
      "The Idempotency-Key header must be given once, with 1 to 255 printable ASCII characters.",
    meaning:
      "The `Idempotency-Key` header is empty, too long, given more than once, or contains a character that is not printable ASCII.",
    fix: "Use a new UUID for each message, and reuse it only to repeat that request.",
  },
  REQUEST_INVALID: {
    status: 400,
    message: "The request is not valid HTTP.",
    meaning: "The request line or a header could not be read.",
    fix: "Check the URL, its percent-encoding and the headers; a standard HTTP client gets them right.",
  },
  API_KEY_MISSING: {
    status: 401,
    message: "The X-API-Key header is missing.",
    meaning: "Every request under `/v1` needs an API key.",
    fix: "Send your key in the `X-API-Key` header. Keys are created in the dashboard.",
  },
  API_KEY_INVALID: {
    status: 401,
    message: "The API key is malformed or unknown.",
    meaning:
      "The header does not contain a key of this installation: the key is mistyped, truncated, or from another installation.",
    fix: "Copy the key again (`sms_` and 36 letters and digits), or create a new one in the dashboard.",
  },
  API_KEY_REVOKED: {
    status: 401,
    message: "The API key was revoked.",
    meaning: "The key was revoked. Revocation takes effect immediately and cannot be undone.",
    fix: "Use another key of the account, or create a new one in the dashboard.",
  },
  API_KEY_EXPIRED: {
    status: 401,
    message: "The API key has expired.",
    meaning: "The key was created with an expiry time, which has passed.",
    fix: "Create a new key in the dashboard.",
  },
  CREDITS_INSUFFICIENT: {
    status: 402,
    message: "The account does not have enough credits.",
    meaning: "`details` has the credits required and available. Nothing was stored or charged.",
    fix: "Top up the account, then repeat the request with the same `Idempotency-Key`.",
  },
  API_KEY_SCOPE_DENIED: {
    status: 403,
    message: "The API key lacks the scope that this operation requires.",
    meaning: "Sending needs `messages:send`, reading needs `messages:read`.",
    fix: "Use a key with that scope; scopes are chosen when a key is created.",
  },
  MESSAGE_NOT_FOUND: {
    status: 404,
    message: "There is no such message.",
    meaning: "No message of this account has that id.",
    fix: "Check the `messageId`, and that the key belongs to the account that sent the message.",
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    message: "There is nothing at this path.",
    meaning: "No operation has this path.",
    fix: "Compare the path with the API reference at `/docs`.",
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: "This path does not support this method.",
    meaning:
      "The path exists, but not with this HTTP method; the `Allow` header lists the methods it supports.",
    fix: "Use a method listed in `Allow`.",
  },
  REQUEST_TIMEOUT: {
    status: 408,
    message: "The request did not arrive in time.",
    meaning: "Headers and body must arrive within 10 seconds. Nothing was stored or charged.",
    fix: "Send the request in one go; check the network between you and the service.",
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 409,
    message: "This Idempotency-Key was used with another request.",
    meaning:
      "The same key was used within the last 24 hours with another body or operation. Nothing was stored or charged.",
    fix: "Use a new key for each new message; repeat a key only with exactly the same request.",
  },
  MESSAGE_NOT_CANCELABLE: {
    status: 409,
    message: "The message can no longer be canceled.",
    meaning: "It was handed to the carrier, is being handed over, or has reached a final status.",
    fix: "Read the message to see its status.",
  },
  BODY_TOO_LARGE: {
    status: 413,
    message: "The body exceeds the size limit, 1 MiB by default.",
    meaning: "Nothing was stored or charged.",
    fix: "Split the batch into smaller ones.",
  },
  CONTENT_TYPE_UNSUPPORTED: {
    status: 415,
    message: "The body must be uncompressed application/json in UTF-8.",
    meaning: "The `Content-Type` or `Content-Encoding` header names something else.",
    fix: "Send `Content-Type: application/json` and no `Content-Encoding`.",
  },
  VALIDATION_FAILED: {
    status: 422,
    message: "Some fields are invalid; details lists each of them.",
    meaning:
      "Every invalid field is in `details`, with its own code. Nothing was stored or charged.",
    fix: "Correct the fields listed in `details` and send the request again.",
  },
  RECIPIENT_NOT_SERVED: {
    status: 422,
    message: "No carrier serves this recipient.",
    meaning: "No route matches the recipient's number. Nothing was stored or charged.",
    fix: "Ask the operator of this installation for a route to that country.",
  },
  PRICE_ABOVE_LIMIT: {
    status: 422,
    message: "The message costs more than maxCredits.",
    meaning: "The price is above the `maxCredits` of the request. Nothing was stored or charged.",
    fix: "Shorten the text, or raise `maxCredits`.",
  },
  RATE_LIMITED: {
    status: 429,
    message: "Too many requests; wait for Retry-After seconds.",
    meaning:
      "The account's send rate, the key's read rate, or the address's rate of failed authentications is exhausted.",
    fix: "Wait for `Retry-After` seconds. Send many messages as one batch.",
  },
  QUEUE_FULL: {
    status: 429,
    message: "The service is at capacity; wait for Retry-After seconds.",
    meaning: "More requests are arriving than can be processed. Nothing was stored or charged.",
    fix: "Wait for `Retry-After` seconds, then repeat the request; repeat a send with the same `Idempotency-Key`.",
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    message: "The headers are too large.",
    meaning: "All headers together must fit in 16 KiB.",
    fix: "Send fewer or shorter headers.",
  },
  INTERNAL: {
    status: 500,
    message:
      "Something failed on our side. Repeat the request; repeat a send with the same Idempotency-Key.",
    meaning:
      "A fault in the service, or the outcome of a commit is unknown: the message may or may not have been accepted or canceled.",
    fix: "Repeat the request; repeat a send with the same `Idempotency-Key`, so that it is accepted at most once. If the error persists, report the `requestId`.",
  },
  UNAVAILABLE: {
    status: 503,
    message: "The service is unavailable. Nothing was accepted; try again.",
    meaning:
      "The database cannot be reached or cannot serve the request now, or this node does not serve the API. Nothing was stored or charged.",
    fix: "Repeat the request after `Retry-After` seconds.",
  },
} as const satisfies Record<string, ErrorEntry>;

/**
 * The one list of everything that can go wrong. Answers, error pages and the dashboard's texts are
 * made from it.
 */
export const errors = { ...apiErrors, ...consoleErrors };

export type ErrorCode = keyof typeof errors;

/** What can be wrong with a field: the `code` of an entry in `details`. */
export const detailCodes = {
  FIELD_REQUIRED: "The field is required.",
  FIELD_UNKNOWN: "No such field exists here.",
  FIELD_INVALID: "The value has the wrong type or format.",
  RECIPIENT_INVALID: "Not a phone number in its country's numbering plan.",
  TEXT_INVALID: "The text is empty, or contains something that cannot be sent.",
  TEXT_TOO_LONG: "The text needs more than 10 segments.",
  TEXT_NOT_GSM7: "With `encoding` gsm7, every character must be in the GSM alphabet.",
  SENDER_INVALID: "Not an E.164 number, a short code or an alphanumeric sender.",
  CALLBACK_URL_INVALID: "Not a valid absolute http(s) URL.",
  CALLBACK_URL_FORBIDDEN: "This service must not call that address.",
  REFERENCE_INVALID: "The reference is too long, or contains a NUL or an unpaired surrogate.",
  METADATA_INVALID: "Not an object of at most 20 string values and 2 KB in total.",
  ENCODING_INVALID: "Not one of auto, gsm7, ucs2.",
  MAX_CREDITS_INVALID: "Not a whole number of 1 or more.",
  SEND_AT_INVALID: "Not a future time within 35 days.",
  VALIDITY_SECONDS_INVALID: "Not a whole number from 60 to 259200.",
  PARAMETER_INVALID: "The query parameter has an invalid value.",
  PARAMETER_UNKNOWN: "No such query parameter exists here.",
  JSON_INVALID: "What made the body unreadable, and where.",
  API_KEY_SCOPE_DENIED: "The scope that the operation requires.",
  RATE_LIMITED:
    "The limit that was reached: the account's sends, the key's reads, or the address's failed authentications.",
  UNAVAILABLE: "Why this node cannot answer.",
  CREDITS_INSUFFICIENT: "The credits required and available.",
  MESSAGE_NOT_CANCELABLE: "The message's current status.",
  RECIPIENT_NOT_SERVED: "No route matches the recipient's number.",
  PRICE_ABOVE_LIMIT: "The price is above `maxCredits`.",
} as const;

export type DetailCode = keyof typeof detailCodes;

/** One wrong field of a request. `field` is null if no single field is to blame. */
export type Detail = {
  field: string | null;
  code: DetailCode;
  message: string;
  required?: number;
  available?: number;
};

/** Why a message became UNDELIVERED or FAILED: its `error.code`. */
export const deliveryErrors = {
  REJECTED_BY_CARRIER: {
    message: "The carrier refused the message.",
    fix: "The carrier's own code says why; ask the carrier if it is unclear.",
  },
  RECIPIENT_UNREACHABLE: {
    message: "The recipient's handset could not be reached.",
    fix: "The handset may be off or out of reach; try again later.",
  },
  RECIPIENT_UNKNOWN: {
    message: "The carrier does not know the recipient's number.",
    fix: "Check the number; it may no longer be in use.",
  },
  BLOCKED: {
    message: "The recipient or the carrier blocked this message.",
    fix: "The recipient may have opted out; do not send again without consent.",
  },
  CONTENT_REJECTED: {
    message: "The carrier refused the content of the message.",
    fix: "Change the text: links, length or alphabet are the usual causes.",
  },
  SENDER_REJECTED: {
    message: "The carrier refused the sender.",
    fix: "Use a sender that is registered with the carrier for that country.",
  },
  EXPIRED: {
    message: "The message could not be handed over or delivered within its validity.",
    fix: "Raise validitySeconds, or find out why the carrier was unreachable.",
  },
  CANCELED: {
    message: "The message was canceled before it was handed over.",
    fix: "Nothing to do: it was canceled on request and refunded.",
  },
  CARRIER_UNAVAILABLE: {
    message: "The carrier could not be reached.",
    fix: "The operator should check the carrier: it may be down, or have been removed midway through the message.",
  },
  NO_ROUTE: {
    message: "No carrier serves this recipient any more.",
    fix: "The operator should set a route for this number's prefix.",
  },
  UNKNOWN: {
    message: "The carrier gave no reason, or its answer never came.",
    fix: "See the message's history for what is known.",
  },
} as const;

export type DeliveryErrorCode = keyof typeof deliveryErrors;
