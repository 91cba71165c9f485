/** Optional parameters, by the names of the protocol. */
export const tag = {
  receiptedMessageId: 0x001e,
  sarMsgRefNum: 0x020c,
  sarTotalSegments: 0x020e,
  sarSegmentSeqnum: 0x020f,
  networkErrorCode: 0x0423,
  messagePayload: 0x0424,
  messageState: 0x0427,
} as const;

export type Tlv = { tag: number; value: Uint8Array };

const TLV_HEADER_OCTETS = 4;

/**
 * The value of the first TLV with that tag. A TLV that claims more octets than there are is damaged
 * and not found, since half an id is a wrong id; `cut` takes what is there.
 */
export function findTlv(block: Buffer, wanted: number, damaged?: "cut"): Buffer | undefined {
  let at = 0;
  while (at + TLV_HEADER_OCTETS <= block.length) {
    const found = block.readUInt16BE(at);
    const start = at + TLV_HEADER_OCTETS;
    const end = start + block.readUInt16BE(at + 2);
    if (found === wanted && (end <= block.length || damaged === "cut")) {
      return block.subarray(start, end);
    }
    at = end;
  }
  return undefined;
}

/** A TLV as an unsigned integer; undefined if it is missing, empty or wider than four octets. */
export function findTlvInteger(block: Buffer, wanted: number): number | undefined {
  const value = findTlv(block, wanted);
  if (value === undefined || value.length === 0 || value.length > 4) return undefined;
  return value.readUIntBE(0, value.length);
}

/**
 * Where the TLVs begin: some SMSCs put a NUL after `short_message` that `sm_length` does not count.
 * It is skipped only if the TLVs fit exactly without it and not with it.
 */
export function tlvsStart(frame: Buffer, at: number): number {
  if (at >= frame.length || frame[at] !== 0 || fits(frame, at)) return at;
  return fits(frame, at + 1) ? at + 1 : at;
}

function fits(frame: Buffer, start: number): boolean {
  let at = start;
  while (at + TLV_HEADER_OCTETS <= frame.length) {
    at += TLV_HEADER_OCTETS + frame.readUInt16BE(at + 2);
  }
  return at === frame.length;
}

export function encodeTlvs(tlvs: Tlv[]): Buffer {
  const octets = tlvs.reduce((sum, { value }) => sum + TLV_HEADER_OCTETS + value.length, 0);
  const block = Buffer.allocUnsafe(octets);
  let at = 0;
  for (const { tag: id, value } of tlvs) {
    block.writeUInt16BE(id, at);
    block.writeUInt16BE(value.length, at + 2);
    block.set(value, at + TLV_HEADER_OCTETS);
    at += TLV_HEADER_OCTETS + value.length;
  }
  return block;
}
