/** The meanings of an SMSC's `command_status`; codes in receipts are specific to each carrier. */
const MEANINGS = new Map(
  Object.entries({
    "0x01": "invalid message length",
    "0x02": "invalid command length",
    "0x03": "invalid command id",
    "0x04": "incorrect bind status",
    "0x05": "already bound",
    "0x08": "system error",
    "0x0A": "invalid sender",
    "0x0B": "invalid recipient",
    "0x0C": "invalid message id",
    "0x0D": "bind failed",
    "0x0E": "invalid password",
    "0x0F": "invalid system id",
    "0x14": "queue full",
    "0x15": "invalid service type",
    "0x43": "invalid esm_class",
    "0x45": "submit failed",
    "0x48": "invalid sender TON",
    "0x49": "invalid sender NPI",
    "0x50": "invalid recipient TON",
    "0x51": "invalid recipient NPI",
    "0x53": "invalid system type",
    "0x58": "throttled",
    "0x61": "invalid scheduled delivery time",
    "0x62": "invalid validity period",
    "0x64": "temporary error",
    "0x65": "permanent error",
    "0x66": "rejected",
    "0xFF": "unknown error",
  }),
);

/** "0x58 (throttled)", or only the code. */
export function codeInWords(code: string): string {
  const meaning = MEANINGS.get(code);
  return meaning === undefined ? code : `${code} (${meaning})`;
}

/** A receipt without an error has a code of zeros. */
export function isNoError(code: string): boolean {
  return /^0+$/.test(code);
}
