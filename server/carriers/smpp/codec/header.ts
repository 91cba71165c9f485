/** The 16 octets that begin every PDU: four unsigned 32-bit integers, big-endian. */
export const HEADER_OCTETS = 16;

/** A response is its request with the highest bit set. */
const RESPONSE = 0x80000000;

export const command = {
  genericNack: RESPONSE,
  bindReceiver: 0x01,
  bindReceiverResp: RESPONSE + 0x01,
  bindTransmitter: 0x02,
  bindTransmitterResp: RESPONSE + 0x02,
  submitSm: 0x04,
  submitSmResp: RESPONSE + 0x04,
  deliverSm: 0x05,
  deliverSmResp: RESPONSE + 0x05,
  unbind: 0x06,
  unbindResp: RESPONSE + 0x06,
  bindTransceiver: 0x09,
  bindTransceiverResp: RESPONSE + 0x09,
  outbind: 0x0b,
  enquireLink: 0x15,
  enquireLinkResp: RESPONSE + 0x15,
  alertNotification: 0x102,
  dataSm: 0x103,
  dataSmResp: RESPONSE + 0x103,
} as const;

const names = new Map<number, string>(
  Object.entries(command).map(([name, id]) => [id, name.replace(/[A-Z]/g, "_$&").toLowerCase()]),
);

/** The protocol's name, such as `submit_sm_resp`, or the number if it has none. */
export function commandName(commandId: number): string {
  return names.get(commandId) ?? `0x${commandId.toString(16).padStart(8, "0")}`;
}

export function isResponse(commandId: number): boolean {
  return commandId >= RESPONSE;
}

export function responseTo(commandId: number): number {
  return commandId + RESPONSE;
}

// A frame is at least a header long, so none of these reads past its end.

export function readCommandId(frame: Buffer): number {
  return frame.readUInt32BE(4);
}

export function readStatus(frame: Buffer): number {
  return frame.readUInt32BE(8);
}

export function readSequence(frame: Buffer): number {
  return frame.readUInt32BE(12);
}

export type Head = { commandId: number; status: number; sequence: number };

/**
 * Writes the header of the PDU that fills `buffer` from `start` to `end`; its body is already
 * there. The sequence number is written bit for bit, even with its highest bit set.
 */
export function writeHeader(buffer: Buffer, start: number, end: number, head: Head): void {
  buffer.writeUInt32BE(end - start, start);
  buffer.writeUInt32BE(head.commandId, start + 4);
  buffer.writeUInt32BE(head.status, start + 8);
  buffer.writeUInt32BE(head.sequence, start + 12);
}

/** A PDU without a body. */
export function bare(commandId: number, status: number, sequence: number): Buffer {
  const pdu = Buffer.allocUnsafe(HEADER_OCTETS);
  writeHeader(pdu, 0, HEADER_OCTETS, { commandId, status, sequence });
  return pdu;
}
