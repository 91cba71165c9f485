import { failureClasses } from "./egress/failure.ts";
import type { AttemptRow, DeliveryRow } from "./describe-deliveries.ts";
import { eventHeaders } from "./headers.ts";

type Failed = Pick<AttemptRow, "error_class" | "error">;

/** What went wrong with an attempt and what to do about it, in words; null for a success. */
export function attemptInWords({ error_class: kind, error }: Failed): string | null {
  if (kind === null) return null;
  const status = /^http_(\d+)$/.exec(kind)?.[1];
  if (status !== undefined) return statusInWords(Number(status));
  if (kind === "gone") return "The receiver answered 410: it does not want this one any more.";
  const sentence = failureClasses[kind as keyof typeof failureClasses] as string | undefined;
  if (sentence === undefined) return error;
  return error === null || error === "" ? sentence : `${sentence} (${error})`;
}

function statusInWords(status: number): string {
  const answered = `The receiver answered ${status}.`;
  if (status >= 300 && status < 400)
    return `${answered} Redirects are never followed: give the final address.`;
  if (status === 401 || status === 403)
    return `${answered} Check that it verifies with the account's current signing secret.`;
  if (status === 404) return `${answered} Check the path of its address.`;
  return status >= 500 ? `${answered} See its own log for the reason.` : answered;
}

/** The headers of an attempt that can be shown later: all but the signatures. */
export function headersOfAttempt(
  delivery: Pick<DeliveryRow, "deliveryId" | "event" | "sequence">,
  { attempt, at }: Pick<AttemptRow, "attempt" | "at">,
  version: string,
): Record<string, string> {
  const { event, sequence, deliveryId } = delivery;
  return {
    ...eventHeaders({ event, attempt, sequence }, version),
    "webhook-id": deliveryId,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  };
}
