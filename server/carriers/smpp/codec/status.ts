import type { DeliveryErrorCode } from "#contract";

/** The values of `command_status` that the client knows by name. */
export const status = {
  ok: 0x00,
  invalidMessageLength: 0x01,
  invalidCommandLength: 0x02,
  invalidCommandId: 0x03,
  invalidBindStatus: 0x04,
  alreadyBound: 0x05,
  systemError: 0x08,
  invalidSource: 0x0a,
  invalidDestination: 0x0b,
  bindFailed: 0x0d,
  invalidPassword: 0x0e,
  invalidSystemId: 0x0f,
  queueFull: 0x14,
  submitFailed: 0x45,
  invalidSourceTon: 0x48,
  invalidSourceNpi: 0x49,
  invalidSystemType: 0x53,
  throttled: 0x58,
  /** ESME_RX_T_APPN: a temporary fault of the receiver; the sender repeats it. */
  temporaryAppError: 0x64,
  /** ESME_RX_P_APPN: a permanent fault of the receiver; the sender gives up. */
  permanentAppError: 0x65,
} as const;

const names = new Map<number, string>([
  [0x00, "ESME_ROK"],
  [0x01, "ESME_RINVMSGLEN"],
  [0x02, "ESME_RINVCMDLEN"],
  [0x03, "ESME_RINVCMDID"],
  [0x04, "ESME_RINVBNDSTS"],
  [0x05, "ESME_RALYBND"],
  [0x06, "ESME_RINVPRTFLG"],
  [0x07, "ESME_RINVREGDLVFLG"],
  [0x08, "ESME_RSYSERR"],
  [0x0a, "ESME_RINVSRCADR"],
  [0x0b, "ESME_RINVDSTADR"],
  [0x0c, "ESME_RINVMSGID"],
  [0x0d, "ESME_RBINDFAIL"],
  [0x0e, "ESME_RINVPASWD"],
  [0x0f, "ESME_RINVSYSID"],
  [0x14, "ESME_RMSGQFUL"],
  [0x15, "ESME_RINVSERTYP"],
  [0x43, "ESME_RINVESMCLASS"],
  [0x45, "ESME_RSUBMITFAIL"],
  [0x48, "ESME_RINVSRCTON"],
  [0x49, "ESME_RINVSRCNPI"],
  [0x50, "ESME_RINVDSTTON"],
  [0x51, "ESME_RINVDSTNPI"],
  [0x53, "ESME_RINVSYSTYP"],
  [0x58, "ESME_RTHROTTLED"],
  [0x61, "ESME_RINVSCHED"],
  [0x62, "ESME_RINVEXPIRY"],
  [0x64, "ESME_RX_T_APPN"],
  [0x65, "ESME_RX_P_APPN"],
  [0x66, "ESME_RX_R_APPN"],
  [0xff, "ESME_RUNKNOWNERR"],
]);

/** For operators: `ESME_RTHROTTLED (0x58)`, or the number alone. */
export function statusName(code: number): string {
  const name = names.get(code);
  return name === undefined ? statusCode(code) : `${name} (${statusCode(code)})`;
}

/** For the API: `0x0B`. */
export function statusCode(code: number): string {
  return `0x${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

/**
 * What a refusal means. `throttled` and `rebind` are temporary too: `throttled` slows the whole
 * carrier down, `rebind` says that we are wrong about the bind.
 */
export type StatusClass = {
  kind: "throttled" | "temporary" | "rebind" | "permanent";
  code: DeliveryErrorCode;
};

const PERMANENT: StatusClass = { kind: "permanent", code: "REJECTED_BY_CARRIER" };

/** A temporary refusal has the code with which its message fails if it goes on until it expires. */
const classes = new Map<number, StatusClass>([
  [status.throttled, { kind: "throttled", code: "EXPIRED" }],
  [status.queueFull, { kind: "throttled", code: "EXPIRED" }],
  [status.systemError, { kind: "temporary", code: "EXPIRED" }],
  [status.temporaryAppError, { kind: "temporary", code: "EXPIRED" }],
  [status.invalidBindStatus, { kind: "rebind", code: "EXPIRED" }],
  [status.invalidDestination, { kind: "permanent", code: "RECIPIENT_UNKNOWN" }],
  [status.invalidSource, { kind: "permanent", code: "SENDER_REJECTED" }],
  [status.invalidSourceTon, { kind: "permanent", code: "SENDER_REJECTED" }],
  [status.invalidSourceNpi, { kind: "permanent", code: "SENDER_REJECTED" }],
  [status.invalidMessageLength, { kind: "permanent", code: "CONTENT_REJECTED" }],
]);

/** What a refused submit means; the carrier's settings come first. */
export function classify(code: number, overrides: ReadonlyMap<number, StatusClass>): StatusClass {
  return overrides.get(code) ?? classes.get(code) ?? PERMANENT;
}

/** Why a bind was refused, which decides how long to wait before the next one. */
export function classifyBind(code: number): "already_bound" | "credentials" | "other" {
  switch (code) {
    case status.alreadyBound:
      return "already_bound";
    case status.bindFailed:
    case status.invalidPassword:
    case status.invalidSystemId:
    case status.invalidSystemType:
      return "credentials";
    default:
      return "other";
  }
}
