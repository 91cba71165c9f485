import type { ConsoleMessage, MemberRole } from "#contract";
import type { MessageRow } from "#messages";
import { present } from "#messages";

/** What a viewer sees of a number. */
function maskRecipient(digits: string): string {
  return `${"•".repeat(Math.max(0, digits.length - 4))}${digits.slice(-4)}`;
}

/** What a viewer sees of an address that is called back: its query may name the recipient. */
export function maskUrl(url: string): string {
  const { origin = "", pathname = "" } = URL.parse(url) ?? {};
  return `${origin}${pathname}`;
}

/** A message as a role may see it: here, and nowhere else, is decided what a viewer is not shown. */
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
