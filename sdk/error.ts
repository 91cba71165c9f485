import type { DetailCode, ErrorCode } from "./model.ts";

/** One wrong field of a request; `field` is null where no single field is to blame. */
export type ErrorDetail = {
  field: string | null;
  code: DetailCode | (string & {});
  message: string;
  /** Credits, on `CREDITS_INSUFFICIENT`. */
  required?: number;
  available?: number;
};

/** What went wrong on the way, where the service gave no answer that can be read; `ABORTED` by your signal. */
export type ConnectionCode = "CONNECTION_FAILED" | "TIMED_OUT" | "ANSWER_UNREADABLE" | "ABORTED";

type Facts = {
  code: string;
  message: string;
  status?: number | null;
  details?: ErrorDetail[];
  docUrl?: string | null;
  requestId?: string | null;
  retryAfterSeconds?: number | null;
  cause?: unknown;
};

/** Every refusal of the service and every failure to reach it, told apart by `code`. */
export class PosthornError extends Error {
  override readonly name = "PosthornError";
  /** From the service's list of errors, which may grow, or why it could not be reached. */
  readonly code: ErrorCode | ConnectionCode | (string & {});
  /** HTTP status; null where no answer came. */
  readonly status: number | null;
  /** Every wrong field at once. */
  readonly details: ErrorDetail[];
  readonly docUrl: string | null;
  /** Names the request in the logs of the service. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  /** How often the request was made; 0 where the signal had ended the call before. */
  attempts = 1;
  /** Repeat a send with this key, and the message is accepted at most once. */
  idempotencyKey: string | null = null;

  constructor({ code, message, cause, ...facts }: Facts) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = facts.status ?? null;
    this.details = facts.details ?? [];
    this.docUrl = facts.docUrl ?? null;
    this.requestId = facts.requestId ?? null;
    this.retryAfterSeconds = facts.retryAfterSeconds ?? null;
  }
}
