import type { Log } from "#platform";

import { readDataSm, readShortMessage, type ShortMessage } from "./codec/body.ts";
import { command, commandName, readCommandId, readSequence, readStatus } from "./codec/header.ts";
import { statusName } from "./codec/status.ts";

export type Trace = (direction: "sent" | "received", pdu: Buffer) => void;

/** Logs PDUs as the carrier's setting asks; undefined if logging is off. */
export function pduLog(
  level: "off" | "headers" | "full",
  { log, carrier }: { log: Log; carrier: string },
): Trace | undefined {
  if (level === "off") return undefined;
  return (direction, pdu) => {
    const described = { ...describeHeader(pdu), ...(level === "full" ? describeBody(pdu) : {}) };
    log.info({ carrier, direction, ...described }, `${direction} ${described.command}`);
  };
}

function describeHeader(pdu: Buffer): { command: string; status: string; sequence: number } {
  return {
    command: commandName(readCommandId(pdu)),
    status: statusName(readStatus(pdu)),
    sequence: readSequence(pdu),
  };
}

/**
 * The fields that help to find a fault. This is a list of what to log, not a dump with texts,
 * passwords and whole numbers masked: a field that nobody thought of cannot slip through.
 */
function describeBody(pdu: Buffer): object {
  switch (readCommandId(pdu)) {
    case command.submitSm:
    case command.deliverSm:
      return describeMessage(readShortMessage(pdu));
    case command.dataSm:
      return describeMessage(readDataSm(pdu));
    default:
      return { octets: pdu.length };
  }
}

function describeMessage(message: ShortMessage<Buffer> | undefined): object {
  if (message === undefined) return { body: "unreadable" };
  const { source, destination } = message;
  return {
    serviceType: message.serviceType,
    source: { ...source, address: maskNumber(source.address) },
    destination: { ...destination, address: maskNumber(destination.address) },
    esmClass: message.esmClass,
    validityPeriod: message.validityPeriod,
    registeredDelivery: message.registeredDelivery,
    dataCoding: message.dataCoding,
    shortMessage: `[${message.shortMessage.length} octets]`,
    tlvs: `[${message.tlvs.length} octets]`,
  };
}

/** Keeps only the last two digits, to tell numbers apart without revealing them. */
function maskNumber(digits: string): string {
  return `${"•".repeat(Math.max(0, digits.length - 2))}${digits.slice(-2)}`;
}
