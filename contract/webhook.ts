import { type TSchema, Type } from "typebox";
import { deliveryErrors, type DeliveryErrorCode } from "./errors.ts";
import { DeliveryError, MESSAGE_EXAMPLE } from "./message.ts";
import { closed, Id, Time } from "./schema.ts";
import { eventNames, type ToldStatus } from "./words.ts";

const AT = "2026-11-15T09:30:02.345Z";

/** The bodies of webhooks, with their fields in the order in which they are written. */
export const webhookBodies = {
  "message.sent": bodyOf("SENT", { sentAt: Time }, { sentAt: AT }),
  "message.delivered": bodyOf("DELIVERED", { deliveredAt: Time }, { deliveredAt: AT }),
  "message.undelivered": bodyOf(
    "UNDELIVERED",
    { undeliveredAt: Time, error: DeliveryError },
    { undeliveredAt: AT, error: errorExample("RECIPIENT_UNREACHABLE", "001") },
  ),
  "message.failed": bodyOf(
    "FAILED",
    { failedAt: Time, error: DeliveryError },
    { failedAt: AT, error: errorExample("SENDER_REJECTED", "0x0A") },
  ),
};

function bodyOf<Fields extends Record<string, TSchema>>(
  status: ToldStatus,
  fields: Fields,
  example: Record<keyof Fields, unknown>,
) {
  const { messageId, recipient } = MESSAGE_EXAMPLE;
  const event = eventNames[status];
  return closed(
    {
      event: Type.Literal(event),
      messageId: Id,
      recipient: Type.String({ description: "E.164 digits without the plus." }),
      status: Type.Literal(status),
      ...fields,
    },
    { examples: [{ event, messageId, recipient, status, ...example }] },
  );
}

function errorExample(code: DeliveryErrorCode, carrierCode: string) {
  return { code, message: deliveryErrors[code].message, carrierCode };
}

/** Headers sent with the body. `docs/verify-webhooks.md` shows how to check the signatures. */
export const webhookHeaderMeanings = {
  "X-SMS-Event": "The event, as in the body.",
  "X-SMS-Signature":
    "Hex HMAC-SHA256 of the raw body, keyed with the account's signing secret as text.",
  "X-SMS-Signature-Previous": "The same with the previous secret, for a while after a rotation.",
  "X-SMS-Attempt": "Which attempt this is, starting at 1.",
  "X-SMS-Sequence": "The position of the event among those of its message.",
  "X-SMS-Test": "`true` on a test event; its message does not exist.",
  "webhook-id": "The same on every attempt and replay of an event; use it to recognize duplicates.",
  "webhook-timestamp": "When this attempt was signed, in seconds since 1970.",
  "webhook-signature": "Signatures as in Standard Webhooks, one for each secret in force.",
};

/** All other headers are on every webhook. */
export const occasionalWebhookHeaders = ["X-SMS-Signature-Previous", "X-SMS-Test"];
