import { type Head, HEADER_OCTETS, writeHeader } from "./header.ts";
import { readLatin1, stringEnd, writeString } from "./octets.ts";
import { tlvsStart } from "./tlv.ts";

export type Address = { ton: number; npi: number; address: string };

/** The body of both `submit_sm` and `deliver_sm`. One that was read holds views of its frame. */
export type ShortMessage<Octets extends Uint8Array = Uint8Array> = {
  serviceType: string;
  source: Address;
  destination: Address;
  esmClass: number;
  protocolId: number;
  priority: number;
  scheduleDeliveryTime: string;
  validityPeriod: string;
  registeredDelivery: number;
  replaceIfPresent: number;
  dataCoding: number;
  defaultMessageId: number;
  shortMessage: Octets;
  /** The encoded optional parameters, see tlv.ts. */
  tlvs: Octets;
};

/** The bit of `esm_class` that announces a user data header. */
export const HAS_UDH = 0x40;

/** The neutral values: no priority, no times, the default alphabet. */
export const unused = {
  protocolId: 0,
  priority: 0,
  scheduleDeliveryTime: "",
  validityPeriod: "",
  registeredDelivery: 0,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
} as const satisfies Partial<ShortMessage>;

/** The total octets of the fixed-width fields of a `ShortMessage`. */
const FIXED_OCTETS = 17;

/** How many octets `writeShortMessage` takes. */
export function shortMessageOctets(message: ShortMessage): number {
  return (
    HEADER_OCTETS +
    FIXED_OCTETS +
    message.serviceType.length +
    message.source.address.length +
    message.destination.address.length +
    message.scheduleDeliveryTime.length +
    message.validityPeriod.length +
    message.shortMessage.length +
    message.tlvs.length
  );
}

/** Writes the whole PDU; returns where it ends. `shortMessage` is at most 255 octets. */
export function writeShortMessage(
  buffer: Buffer,
  start: number,
  head: Head,
  message: ShortMessage,
): number {
  let at = writeString(buffer, start + HEADER_OCTETS, message.serviceType);
  at = writeAddress(buffer, at, message.source);
  at = writeAddress(buffer, at, message.destination);
  buffer[at] = message.esmClass;
  buffer[at + 1] = message.protocolId;
  buffer[at + 2] = message.priority;
  at = writeString(buffer, at + 3, message.scheduleDeliveryTime);
  at = writeString(buffer, at, message.validityPeriod);
  buffer[at] = message.registeredDelivery;
  buffer[at + 1] = message.replaceIfPresent;
  buffer[at + 2] = message.dataCoding;
  buffer[at + 3] = message.defaultMessageId;
  buffer[at + 4] = message.shortMessage.length;
  buffer.set(message.shortMessage, at + 5);
  at += 5 + message.shortMessage.length;
  buffer.set(message.tlvs, at);
  at += message.tlvs.length;
  writeHeader(buffer, start, at, head);
  return at;
}

/**
 * Reads liberally: strings of any length, a `sm_length` past the end cut to what is there, anything
 * after it. Undefined if any of the fixed fields is missing.
 */
export function readShortMessage(frame: Buffer): ShortMessage<Buffer> | undefined {
  const serviceEnd = stringEnd(frame, HEADER_OCTETS);
  const sourceEnd = stringEnd(frame, serviceEnd + 3);
  const destinationEnd = stringEnd(frame, sourceEnd + 3);
  const scheduleEnd = stringEnd(frame, destinationEnd + 4);
  const validityEnd = stringEnd(frame, scheduleEnd + 1);
  const fixed = validityEnd + 1;
  const start = fixed + 5;
  // A string without its NUL runs to the end of the frame and leaves no room for the rest.
  if (start > frame.length) return undefined;

  const end = Math.min(start + octet(frame, fixed + 4), frame.length);
  return {
    serviceType: readLatin1(frame, HEADER_OCTETS, serviceEnd),
    source: readAddress(frame, serviceEnd + 1, sourceEnd),
    destination: readAddress(frame, sourceEnd + 1, destinationEnd),
    esmClass: octet(frame, destinationEnd + 1),
    protocolId: octet(frame, destinationEnd + 2),
    priority: octet(frame, destinationEnd + 3),
    scheduleDeliveryTime: readLatin1(frame, destinationEnd + 4, scheduleEnd),
    validityPeriod: readLatin1(frame, scheduleEnd + 1, validityEnd),
    registeredDelivery: octet(frame, fixed),
    replaceIfPresent: octet(frame, fixed + 1),
    dataCoding: octet(frame, fixed + 2),
    defaultMessageId: octet(frame, fixed + 3),
    shortMessage: frame.subarray(start, end),
    tlvs: frame.subarray(tlvsStart(frame, end)),
  };
}

/** Reads a `data_sm` into the fields of a `ShortMessage` that it has. Its text is a TLV. */
export function readDataSm(frame: Buffer): ShortMessage<Buffer> | undefined {
  const serviceEnd = stringEnd(frame, HEADER_OCTETS);
  const sourceEnd = stringEnd(frame, serviceEnd + 3);
  const destinationEnd = stringEnd(frame, sourceEnd + 3);
  const start = destinationEnd + 4;
  if (start > frame.length) return undefined;
  return {
    serviceType: readLatin1(frame, HEADER_OCTETS, serviceEnd),
    source: readAddress(frame, serviceEnd + 1, sourceEnd),
    destination: readAddress(frame, sourceEnd + 1, destinationEnd),
    esmClass: octet(frame, destinationEnd + 1),
    ...unused,
    registeredDelivery: octet(frame, destinationEnd + 2),
    dataCoding: octet(frame, destinationEnd + 3),
    shortMessage: frame.subarray(start, start),
    tlvs: frame.subarray(start),
  };
}

export function encodeShortMessage(head: Head, message: ShortMessage): Buffer {
  const pdu = Buffer.allocUnsafe(shortMessageOctets(message));
  writeShortMessage(pdu, 0, head, message);
  return pdu;
}

export type Bind = {
  systemId: string;
  password: string;
  systemType: string;
  interfaceVersion: number;
  addrTon: number;
  addrNpi: number;
  addressRange: string;
};

export function encodeBind(commandId: number, sequence: number, bind: Bind): Buffer {
  const { systemId, password, systemType, addressRange } = bind;
  const strings = systemId.length + password.length + systemType.length + addressRange.length;
  const pdu = Buffer.allocUnsafe(HEADER_OCTETS + strings + 7);
  let at = writeString(pdu, HEADER_OCTETS, systemId);
  at = writeString(pdu, at, password);
  at = writeString(pdu, at, systemType);
  pdu[at] = bind.interfaceVersion;
  pdu[at + 1] = bind.addrTon;
  pdu[at + 2] = bind.addrNpi;
  writeString(pdu, at + 3, addressRange);
  writeHeader(pdu, 0, pdu.length, { commandId, status: 0, sequence });
  return pdu;
}

export function readBind(frame: Buffer): Bind | undefined {
  const systemIdEnd = stringEnd(frame, HEADER_OCTETS);
  const passwordEnd = stringEnd(frame, systemIdEnd + 1);
  const systemTypeEnd = stringEnd(frame, passwordEnd + 1);
  const fixed = systemTypeEnd + 1;
  if (fixed + 3 > frame.length) return undefined;
  return {
    systemId: readLatin1(frame, HEADER_OCTETS, systemIdEnd),
    password: readLatin1(frame, systemIdEnd + 1, passwordEnd),
    systemType: readLatin1(frame, passwordEnd + 1, systemTypeEnd),
    interfaceVersion: octet(frame, fixed),
    addrTon: octet(frame, fixed + 1),
    addrNpi: octet(frame, fixed + 2),
    addressRange: readLatin1(frame, fixed + 3, stringEnd(frame, fixed + 3)),
  };
}

/** The string that is the body of most responses: a message id, or a system id. */
export function readId(frame: Buffer): string {
  return readLatin1(frame, HEADER_OCTETS, stringEnd(frame, HEADER_OCTETS));
}

export function encodeId(head: Head, id: string): Buffer {
  const pdu = Buffer.allocUnsafe(HEADER_OCTETS + id.length + 1);
  writeString(pdu, HEADER_OCTETS, id);
  writeHeader(pdu, 0, pdu.length, head);
  return pdu;
}

function writeAddress(buffer: Buffer, at: number, { ton, npi, address }: Address): number {
  buffer[at] = ton;
  buffer[at + 1] = npi;
  return writeString(buffer, at + 2, address);
}

function readAddress(frame: Buffer, at: number, end: number): Address {
  return {
    ton: octet(frame, at),
    npi: octet(frame, at + 1),
    address: readLatin1(frame, at + 2, end),
  };
}

function octet(frame: Uint8Array, at: number): number {
  return frame[at] ?? 0;
}
