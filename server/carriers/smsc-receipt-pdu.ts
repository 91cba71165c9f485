import { encodeShortMessage, type ShortMessage, unused } from "./smpp/codec/body.ts";
import { command, HEADER_OCTETS, writeHeader } from "./smpp/codec/header.ts";
import { messageStates } from "./smpp/codec/message-state.ts";
import { writeString } from "./smpp/codec/octets.ts";
import { encodeTlvs, tag } from "./smpp/codec/tlv.ts";
import type { ReceiptScript } from "./smsc-script.ts";

/** A receipt that an SMSC owes. */
export type OwedReceipt = {
  id: string;
  /** The recipient of the message is the sender of its receipt. */
  recipient: string;
  sender: string;
  state: string;
  err: string;
  at: Date;
  /** The receipt quotes the beginning of the message's text. */
  text: string;
};

const NOTHING = Buffer.alloc(0);

/** The PDU of a receipt, in the form that the script asks for. */
export function receiptPdu(owed: OwedReceipt, script: ReceiptScript, sequence: number): Buffer {
  const text = Buffer.from(receiptText(owed, script), "latin1");
  const idAndState = () =>
    encodeTlvs([
      { tag: tag.receiptedMessageId, value: Buffer.from(`${script.spellId(owed.id)}\0`, "latin1") },
      { tag: tag.messageState, value: Buffer.of(Math.max(0, messageStates.indexOf(owed.state))) },
    ]);
  const deliver = (shortMessage: Buffer, tlvs: Buffer) =>
    deliverSm(owed, script, sequence, { shortMessage, tlvs });
  switch (script.form) {
    case "text":
      return deliver(text, NOTHING);
    case "tlvs":
      return deliver(NOTHING, idAndState());
    case "text_and_tlvs":
      return deliver(text, idAndState());
    case "payload":
      return deliver(NOTHING, encodeTlvs([{ tag: tag.messagePayload, value: text }]));
    case "data_sm":
      return dataSm(owed, script, sequence, idAndState());
  }
}

function receiptText({ id, state, err, at, text }: OwedReceipt, script: ReceiptScript): string {
  const date = at
    .toISOString()
    .replaceAll(/[^0-9]/g, "")
    .slice(2, 12);
  const delivered = state === "DELIVRD" ? "001" : "000";
  const quoted = text.slice(0, 20).replaceAll(/[^\x20-\x7e]/g, "?");
  return (
    `id:${script.spellId(id)} sub:001 dlvrd:${delivered} submit date:${date} done date:${date} ` +
    `stat:${state} err:${err} text:${quoted}`
  );
}

function deliverSm(
  { recipient, sender }: OwedReceipt,
  { serviceType, esmClass }: ReceiptScript,
  sequence: number,
  content: Pick<ShortMessage, "shortMessage" | "tlvs">,
): Buffer {
  return encodeShortMessage(
    { commandId: command.deliverSm, status: 0, sequence },
    {
      serviceType,
      source: { ton: 1, npi: 1, address: recipient },
      destination: { ton: 0, npi: 1, address: sender },
      esmClass,
      ...unused,
      ...content,
    },
  );
}

function dataSm(
  { recipient, sender }: OwedReceipt,
  { serviceType, esmClass }: ReceiptScript,
  sequence: number,
  tlvs: Buffer,
): Buffer {
  const strings = serviceType.length + recipient.length + sender.length;
  const pdu = Buffer.alloc(HEADER_OCTETS + strings + 10 + tlvs.length);
  let at = writeString(pdu, HEADER_OCTETS, serviceType);
  pdu.fill(1, at, at + 2);
  at = writeString(pdu, at + 2, recipient);
  at = writeString(pdu, at + 2, sender);
  pdu[at] = esmClass;
  pdu.set(tlvs, at + 3);
  writeHeader(pdu, 0, pdu.length, { commandId: command.dataSm, status: 0, sequence });
  return pdu;
}
