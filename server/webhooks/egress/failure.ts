import type { X509Certificate } from "node:crypto";
import { codeOf } from "#platform/light";

/**
 * Every way a POST can fail before or without an HTTP status, and what it means to the receiver's
 * operator. The dashboard shows the sentence; tables and metrics hold the class.
 */
export const failureClasses = {
  dns_not_found: "The host name does not exist. Check its spelling and its DNS records.",
  dns_failed: "The host name could not be resolved. Check the name servers of its domain.",
  dns_timeout: "The host name was not resolved in time. Check the name servers of its domain.",
  connect_refused:
    "The connection was refused. Check that the receiver runs and listens on that port.",
  connect_timeout: "The connection was not accepted in time. Check the receiver's firewall.",
  connect_unreachable:
    "The address cannot be reached. Check the host name's address and its network.",
  connect_failed: "The connection failed before anything was sent. Check the receiver's network.",
  tls_timeout: "The TLS handshake did not end in time. Check that the port speaks TLS.",
  tls_certificate_expired: "The receiver's certificate is not valid at this time. Renew it.",
  tls_certificate_name:
    "The receiver's certificate is for another host name. Use one for this name.",
  tls_certificate_untrusted:
    "No known authority vouches for the receiver's certificate. Send the whole chain, or ask the operator to add your CA.",
  tls_failed:
    "The TLS handshake failed. The receiver must speak TLS 1.2 or newer without DHE, and HTTP/1.1.",
  timeout: "The answer was not complete within 10 seconds. Answer first, do the work afterwards.",
  connection_lost: "The receiver closed the connection before its answer was complete.",
  http_broken: "The receiver's answer is not HTTP/1.1. Check what listens on that port.",
  headers_too_large: "The headers of the answer are larger than 16 KiB. Send fewer.",
} as const;

export type FailureClass = keyof typeof failureClasses;

/** Why there is no connection. Only `failed` says anything about the receiver. */
export type Failure =
  | { kind: "failed"; class: FailureClass; detail: string }
  /** The address must not be called; nothing was sent to it. */
  | { kind: "forbidden"; detail: string }
  /** This machine is at fault, so the attempt does not count. */
  | { kind: "our_fault"; detail: string };

export function failed(failure: FailureClass, detail: string): Failure {
  return { kind: "failed", class: failure, detail };
}

export const STOPPING: Failure = { kind: "our_fault", detail: "this service is stopping" };

/** This machine is out of descriptors, memory, ports, network or turns for a lookup. */
const OUR_CODES = new Set([
  "EMFILE",
  "ENFILE",
  "ENOMEM",
  "ENOBUFS",
  "ENETDOWN",
  "EAI_MEMORY",
  "DNS_BUSY",
]);

/**
 * Without IPv6 on this machine, any IPv6 address gives one of these. A receiver without IPv4 cannot
 * help that, and waiting 5 s does not fix it. For IPv4 they are a fault of this machine.
 */
const OUR_CODES_IPV4 = new Set(["ENETUNREACH", "EADDRNOTAVAIL"]);

export function dnsFailure(error: unknown, name: string): Failure {
  const code = codeOf(error);
  if (OUR_CODES.has(code)) return { kind: "our_fault", detail: `${code} resolving ${name}` };
  const isUnknown = code === "ENOTFOUND" || code === "ENODATA";
  return failed(isUnknown ? "dns_not_found" : "dns_failed", `${code} ${name}`);
}

export function connectFailure(error: unknown, address: string): Failure {
  const code = codeOf(error);
  const detail = `${code} ${address}`;
  if (OUR_CODES.has(code)) return { kind: "our_fault", detail };
  if (OUR_CODES_IPV4.has(code) && !address.includes(":")) return { kind: "our_fault", detail };
  return failed(connectClasses[code] ?? "connect_failed", detail);
}

const connectClasses: Record<string, FailureClass> = {
  ECONNREFUSED: "connect_refused",
  ETIMEDOUT: "connect_timeout",
  EHOSTUNREACH: "connect_unreachable",
  ENETUNREACH: "connect_unreachable",
  EADDRNOTAVAIL: "connect_unreachable",
  EAFNOSUPPORT: "connect_unreachable",
};

export function tlsFailure(error: unknown, certificate?: X509Certificate): Failure {
  const code = codeOf(error);
  return failed(tlsClasses[code] ?? "tls_failed", `${code}${validityOf(code, certificate)}`);
}

/** The receiver's own certificate; if that one is in order, another in its chain is not. */
function validityOf(code: string, certificate: X509Certificate | undefined): string {
  if (certificate && code === "CERT_HAS_EXPIRED") return `: valid until ${certificate.validTo}`;
  if (certificate && code === "CERT_NOT_YET_VALID") return `: valid from ${certificate.validFrom}`;
  return "";
}

const tlsClasses: Record<string, FailureClass> = {
  CERT_HAS_EXPIRED: "tls_certificate_expired",
  CERT_NOT_YET_VALID: "tls_certificate_expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls_certificate_name",
  HOSTNAME_MISMATCH: "tls_certificate_name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_certificate_untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_certificate_untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "tls_certificate_untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls_certificate_untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls_certificate_untrusted",
  CERT_SIGNATURE_FAILURE: "tls_certificate_untrusted",
  CERT_UNTRUSTED: "tls_certificate_untrusted",
  CERT_REVOKED: "tls_certificate_untrusted",
};
