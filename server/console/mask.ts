import type { ConsoleMessage, MemberRole } from "#contract";
import type { MessageRow } from "#messages";
import { present } from "#messages";

/** A phone number as a viewer sees it. */
function maskRecipient(digits: string): string {
  return `${"•".repeat(Math.max(0, digits.length - 4))}${digits.slice(-4)}`;
}

/** A callback URL as a viewer sees it: the query is cut off, as it may contain the recipient. */
export function maskUrl(url: string): string {
  const { origin = "", pathname = "" } = URL.parse(url) ?? {};
  return `${origin}${pathname}`;
}

/** A message as a role may see it. Only this function decides what is hidden from a viewer. */
export function showMessage(row: MessageRow, role: MemberRole): ConsoleMessage["message"] {
  const message = present(row);
  if (role !== "viewer") return message;
  const recipient = maskRecipient(message.recipient);
  return {
    ...message,
    recipient,
    reference: message.reference?.replaceAll(message.recipient, recipient) ?? null,
    text: null,
    metadata: null,
    callbackUrl: message.callbackUrl && maskUrl(message.callbackUrl),
  };
}
