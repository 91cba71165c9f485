import { DAY_MS, HOUR_MS } from "#platform";
import {
  deliveryErrorCode,
  duration,
  idRule,
  map,
  octetString,
  onOff,
  oneOf,
  optional,
  type Parse,
  pem,
  requiredString,
  sender,
  size,
  span,
  statusClass,
  tonNpi,
  upperCaseWord,
  wholeNumber,
} from "./setting-values.ts";

export type Setting<Value = unknown> = {
  /** The name in the carriers table and in JSON; on the command line it has dashes. */
  name: string;
  /** The default; undefined if the setting is required. */
  fallback: unknown;
  parse: Parse<Value>;
  meaning: string;
  /** How the command line takes it, by default a value; `file` names a file to read. */
  kind?: "flag" | "file" | "json";
};

const timeLimit = duration(10, HOUR_MS);
const wait = span(10, DAY_MS);
const octet = wholeNumber(0, 255);

/** Longer than any real string, but short enough that no PDU of ours gets too long to be read. */
export const LONGEST_STRING = 255;

/** Every setting of an SMPP carrier except its password, which is kept separately as a secret. */
export const smppSettings = {
  host: {
    name: "host",
    fallback: undefined,
    parse: requiredString(LONGEST_STRING),
    meaning: "Host name or address of the SMSC.",
  },
  port: { name: "port", fallback: 2775, parse: wholeNumber(1, 65_535), meaning: "Its port." },
  tls: { name: "tls", fallback: false, parse: onOff, kind: "flag", meaning: "Connect with TLS." },
  tlsVerify: {
    name: "tls_verify",
    fallback: true,
    parse: onOff,
    meaning: "Whether the SMSC's certificate must be trusted; off lets anyone read the password.",
  },
  tlsCa: {
    name: "tls_ca",
    fallback: null,
    parse: optional(pem),
    kind: "file",
    meaning: "Certificates of the authority to trust, instead of the system's.",
  },
  tlsCert: {
    name: "tls_cert",
    fallback: null,
    parse: optional(pem),
    kind: "file",
    meaning: "Our certificate, if the SMSC asks for one.",
  },
  tlsKey: {
    name: "tls_key",
    fallback: null,
    parse: optional(pem),
    kind: "file",
    meaning: "The private key of our certificate.",
  },
  tlsServerName: {
    name: "tls_server_name",
    fallback: null,
    parse: optional(octetString(LONGEST_STRING)),
    meaning: "The name that the SMSC's certificate must have. Default: the host.",
  },
  systemId: {
    name: "system_id",
    fallback: undefined,
    parse: requiredString(LONGEST_STRING),
    meaning: "The user name of the bind.",
  },
  systemType: {
    name: "system_type",
    fallback: "",
    parse: octetString(LONGEST_STRING),
    meaning: "Field of the bind.",
  },
  interfaceVersion: {
    name: "interface_version",
    fallback: 0x34,
    parse: octet,
    meaning: "Field of the bind; 0x34 is SMPP 3.4.",
  },
  addrTon: { name: "addr_ton", fallback: 0, parse: octet, meaning: "Field of the bind." },
  addrNpi: { name: "addr_npi", fallback: 0, parse: octet, meaning: "Field of the bind." },
  addressRange: {
    name: "address_range",
    fallback: "",
    parse: octetString(LONGEST_STRING),
    meaning: "Field of the bind.",
  },
  bind: {
    name: "bind",
    fallback: "transceiver",
    parse: oneOf("transceiver", "pair", "transmitter", "receiver"),
    meaning: "What to bind as; a pair is a transmitter and a receiver.",
  },
  binds: {
    name: "binds",
    fallback: 1,
    parse: wholeNumber(1, 1000),
    meaning: "How many binds to hold, over all processes; a pair counts as one.",
  },
  window: {
    name: "window",
    fallback: 10,
    parse: wholeNumber(1, 10_000),
    meaning: "Unanswered submissions per bind.",
  },
  rate: {
    name: "rate",
    fallback: 50,
    parse: wholeNumber(0, 1_000_000),
    meaning:
      "Segments per second over all binds and processes, as agreed with the carrier; 0 for no limit.",
  },
  connectTimeoutMs: {
    name: "connect_timeout",
    fallback: "10s",
    parse: timeLimit,
    meaning: "How long a connection may take.",
  },
  bindTimeoutMs: {
    name: "bind_timeout",
    fallback: "15s",
    parse: timeLimit,
    meaning: "How long the answer to a bind may take.",
  },
  responseTimeoutMs: {
    name: "response_timeout",
    fallback: "30s",
    parse: timeLimit,
    meaning: "How long the answer to a submission may take; after that it is in doubt.",
  },
  unbindTimeoutMs: {
    name: "unbind_timeout",
    fallback: "5s",
    parse: timeLimit,
    meaning: "How long the answer to an unbind may take.",
  },
  enquireLinkMs: {
    name: "enquire_link",
    fallback: "30s",
    parse: duration(100, HOUR_MS),
    meaning: "How long the SMSC may be silent before it is asked whether it is there.",
  },
  enquireLinkTimeoutMs: {
    name: "enquire_link_timeout",
    fallback: "10s",
    parse: timeLimit,
    meaning: "How long that answer may take; after that the link is considered dead.",
  },
  reconnect: {
    name: "reconnect",
    fallback: "1s-60s",
    parse: wait,
    meaning: "Wait before connecting again, doubling from the first to the second, ±20 %.",
  },
  reconnectAlreadyBound: {
    name: "reconnect_already_bound",
    fallback: "30s-5m",
    parse: wait,
    meaning: "The same while the SMSC still holds the old bind.",
  },
  reconnectRefused: {
    name: "reconnect_refused",
    fallback: "5m-30m",
    parse: wait,
    meaning: "The same after the SMSC refused the credentials; trying sooner may lock the account.",
  },
  inDoubt: {
    name: "in_doubt",
    fallback: "resend",
    parse: oneOf("resend", "fail"),
    meaning:
      "What to do with a segment whose answer never came: resend it, which is done once, or fail.",
  },
  statusClasses: {
    name: "status_classes",
    fallback: {},
    parse: map(wholeNumber(1, 0xffffffff), statusClass),
    kind: "json",
    meaning:
      'How to classify a command_status, as temporary, permanent or throttled: {"0x45": "temporary", "0x401": {"class": "permanent", "code": "BLOCKED"}}.',
  },
  defaultSender: {
    name: "default_sender",
    fallback: null,
    parse: optional(sender),
    meaning: "The sender if neither the message nor the account has one.",
  },
  sourceTonNpi: {
    name: "source_ton_npi",
    fallback: "auto",
    parse: tonNpi,
    meaning: "TON/NPI of the sender; auto chooses 1/1, 3/0 or 5/0 by its form.",
  },
  destTonNpi: {
    name: "dest_ton_npi",
    fallback: "1/1",
    parse: tonNpi,
    meaning: "TON/NPI of the recipient.",
  },
  serviceType: {
    name: "service_type",
    fallback: "",
    parse: octetString(LONGEST_STRING),
    meaning: "Field of every submission.",
  },
  protocolId: {
    name: "protocol_id",
    fallback: 0,
    parse: octet,
    meaning: "Field of every submission.",
  },
  priority: { name: "priority", fallback: 0, parse: octet, meaning: "Field of every submission." },
  esmMode: {
    name: "esm_mode",
    fallback: 0,
    parse: wholeNumber(0, 3),
    meaning: "Messaging mode in esm_class; 0 is the SMSC's own.",
  },
  registeredDelivery: {
    name: "registered_delivery",
    fallback: 1,
    parse: octet,
    meaning: "Which receipts to request, for every segment; 1 is the final one.",
  },
  alphabet: {
    name: "alphabet",
    fallback: "gsm",
    parse: oneOf("gsm", "gsm_packed", "latin1", "ascii"),
    meaning: "What alphabet the SMSC uses for plain text.",
  },
  gsmDataCoding: {
    name: "gsm_data_coding",
    fallback: 0,
    parse: octet,
    meaning: "data_coding of text in that alphabet.",
  },
  ucs2DataCoding: {
    name: "ucs2_data_coding",
    fallback: 8,
    parse: octet,
    meaning: "data_coding of UCS-2 text.",
  },
  longMessages: {
    name: "long_messages",
    fallback: "udh",
    parse: oneOf("udh", "sar", "payload"),
    meaning: "How to send long messages; sar is by TLVs, payload whole, in message_payload.",
  },
  validity: {
    name: "validity",
    fallback: "relative",
    parse: oneOf("relative", "absolute", "none"),
    meaning: "How validity_period is written; none leaves it empty.",
  },
  receiptId: {
    name: "receipt_id",
    fallback: "exact",
    parse: idRule,
    meaning:
      "How a receipt writes the answer's id: exact, hex_to_decimal (hex in the answer, decimal in the receipt) or decimal_to_hex; plus strip_zeros, fold_case.",
  },
  receiptPer: {
    name: "receipt_per",
    fallback: "segment",
    parse: oneOf("segment", "message"),
    meaning: "Whether the carrier sends a receipt per segment or one per message.",
  },
  receiptStates: {
    name: "receipt_states",
    fallback: {},
    parse: map(upperCaseWord, oneOf("delivered", "undelivered", "rejected", "none")),
    kind: "json",
    meaning:
      'What a state in the carrier\'s own words means, delivered, undelivered, rejected or none: {"FAILED": "undelivered"}.',
  },
  errorCodes: {
    name: "error_codes",
    fallback: {},
    parse: map(String, deliveryErrorCode),
    kind: "json",
    meaning: 'What the err of a receipt means: {"011": "RECIPIENT_UNKNOWN"}.',
  },
  receiptWindowMs: {
    name: "receipt_window",
    fallback: "7d",
    parse: duration(1000, 365 * DAY_MS),
    meaning: "How long after its submission a receipt may match it.",
  },
  parkedReceiptsMs: {
    name: "parked_receipts",
    fallback: "7d",
    parse: duration(1000, 365 * DAY_MS),
    meaning: "How long a receipt that matches nothing is kept.",
  },
  maxPdu: {
    name: "max_pdu",
    fallback: "72KiB",
    parse: size(1024, 16 * 1024 * 1024),
    meaning: "The longest PDU to read; a longer one ends the connection.",
  },
  pduLog: {
    name: "pdu_log",
    fallback: "off",
    parse: oneOf("off", "headers", "full"),
    meaning: "Log every PDU. Password and text are always masked.",
  },
} as const satisfies Record<string, Setting>;

export type SmppSettings = {
  [Key in keyof typeof smppSettings]: ReturnType<(typeof smppSettings)[Key]["parse"]>;
};
