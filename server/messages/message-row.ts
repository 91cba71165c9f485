import type { DeliveryErrorCode, Message, Status } from "#contract";
import { deliveryErrors } from "#contract/words";
import { isoTime, sql } from "#platform";

/** A message as stored. */
export type MessageRow = {
  account_id: string;
  message_id: string;
  key_id: string | null;
  recipient: string;
  sender: string | null;
  text: string;
  encoding: "gsm7" | "ucs2";
  segments: number;
  credits: number;
  status: Status;
  sequence: number;
  reference: string | null;
  /** JSON text, as the client gave it. */
  metadata: string | null;
  callback_url: string | null;
  concat_reference: number;
  carrier_id: string | null;
  error_code: DeliveryErrorCode | null;
  error_carrier_code: string | null;
  created_at: Date;
  send_at: Date | null;
  expires_at: Date;
  sent_at: Date | null;
  final_at: Date | null;
};

export const messageColumns = sql`
  m.account_id, m.message_id, m.key_id, m.recipient, m.sender, m.text, m.encoding, m.segments, m.credits,
  m.status, m.sequence, m.reference, m.metadata, m.callback_url, m.concat_reference, m.carrier_id,
  m.error_code, m.error_carrier_code, m.created_at, m.send_at, m.expires_at, m.sent_at, m.final_at`;

/** A message as the API shows it. */
export function present(row: MessageRow): Message {
  return {
    messageId: row.message_id,
    recipient: row.recipient,
    sender: row.sender,
    text: row.text,
    status: row.status,
    encoding: row.encoding,
    segments: row.segments,
    credits: row.credits,
    creditsRefunded: row.status === "FAILED" ? row.credits : 0,
    reference: row.reference,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, string>),
    callbackUrl: row.callback_url,
    error: presentError(row.error_code, row.error_carrier_code),
    createdAt: isoTime(row.created_at),
    sendAt: row.send_at && isoTime(row.send_at),
    expiresAt: isoTime(row.expires_at),
    sentAt: row.sent_at && isoTime(row.sent_at),
    deliveredAt: row.status === "DELIVERED" ? row.final_at && isoTime(row.final_at) : null,
    updatedAt: isoTime(row.final_at ?? row.sent_at ?? row.created_at),
  };
}

export function presentError(code: DeliveryErrorCode | null, carrierCode: string | null) {
  return code === null ? null : { code, message: deliveryErrors[code].message, carrierCode };
}

/** The message as it was when it was accepted, whatever happened to it since. */
export function asAccepted(row: MessageRow): MessageRow {
  return {
    ...row,
    status: "QUEUED",
    error_code: null,
    error_carrier_code: null,
    sent_at: null,
    final_at: null,
  };
}
