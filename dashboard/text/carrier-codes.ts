/** What an SMSC means by its `command_status`; the codes of receipts are each carrier's own. */
const MEANINGS = new Map(
  Object.entries({
    "0x01": "message too long",
    "0x02": "wrong length of the command",
    "0x03": "unknown command",
    "0x04": "not bound for this",
    "0x05": "already bound",
    "0x08": "system error",
    "0x0A": "sender not allowed",
    "0x0B": "wrong recipient",
    "0x0C": "wrong message id",
    "0x0D": "bind failed",
    "0x0E": "wrong password",
    "0x0F": "wrong system id",
    "0x14": "queue full",
    "0x15": "wrong service type",
    "0x43": "wrong esm_class",
    "0x45": "submit failed",
    "0x48": "wrong type of the sender",
    "0x49": "wrong plan of the sender",
    "0x50": "wrong type of the recipient",
    "0x51": "wrong plan of the recipient",
    "0x53": "wrong system type",
    "0x58": "throttled",
    "0x61": "wrong delivery time",
    "0x62": "wrong validity",
    "0x64": "temporary fault",
    "0x65": "permanent fault",
    "0x66": "refused",
    "0xFF": "unknown error",
  }),
);

/** "0x58 throttled", or the code alone. */
export function codeInWords(code: string): string {
  const meaning = MEANINGS.get(code);
  return meaning === undefined ? code : `${code} ${meaning}`;
}

/** A receipt without an error says so by zeros. */
export function isNoError(code: string): boolean {
  return /^0+$/.test(code);
}
