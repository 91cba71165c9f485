import { isIP } from "node:net";
import { addressTier, judgeAddress } from "./address.ts";
import { blockedPorts } from "./blocked-ports.ts";
import type { EgressPolicy } from "./policy.ts";

export type UrlVerdict = CallbackUrl | Refusal;

/** Where a POST may go, as far as the URL tells; a name is judged again once it is resolved. */
export type CallbackUrl = {
  allowed: true;
  secure: boolean;
  /** Normalized: lower case, punycode, an IPv6 literal without brackets, no final dot. */
  hostname: string;
  port: number;
  /** scheme://host[:port] */
  origin: string;
};

export type Refusal = {
  allowed: false;
  /** The API's detail code: a malformed URL, or one that policy forbids. */
  code: "CALLBACK_URL_INVALID" | "CALLBACK_URL_FORBIDDEN";
  /** Says what is wrong and what to do. */
  message: string;
};

const MAX_URL_LENGTH = 2048;

/** More origins than one installation sees in a day; beyond that they are judged again. */
const MAX_VERDICTS = 4096;

/**
 * Judges a callback URL without a lookup: syntax, scheme, port, literal addresses, localhost.
 * Called for every accepted message, so a known origin costs only one map lookup.
 */
export function judgeUrl(raw: string, policy: EgressPolicy): UrlVerdict {
  const known = policy.verdicts.get(upToPath(raw));
  if (known === undefined || raw.length > MAX_URL_LENGTH || STRANGE.test(raw)) {
    return judgeUnknown(raw, policy);
  }
  return known;
}

/** Anything but printable ASCII without `#` and backslash. */
const STRANGE = /[^!"$-[\]-~]/;

/** Scheme and authority, if a path follows; the keys of `verdicts` have this form. */
function upToPath(raw: string): string {
  const end = raw.indexOf("/", "https://".length);
  return end === -1 ? raw : raw.slice(0, end);
}

/**
 * The parser is lenient: it drops tabs, reads a backslash as a slash, adds missing slashes. Such a
 * URL may mean one thing here and another to the next reader, so the raw string is judged first.
 */
function judgeUnknown(raw: string, policy: EgressPolicy): UrlVerdict {
  if (raw.length > MAX_URL_LENGTH) {
    return invalid(`The URL has ${raw.length} characters; at most ${MAX_URL_LENGTH} are accepted.`);
  }
  const [start, authority] = /^https?:\/\/([^/?#\\]*)/i.exec(raw) ?? [];
  if (start === undefined) return invalid("The URL must begin with https:// or http://.");
  if (/[\s\\\p{Cc}]/u.test(raw) || !raw.isWellFormed()) {
    return invalid("The URL contains a space, control character or backslash; percent-encode it.");
  }
  if (raw.includes("#"))
    return invalid("The URL must not have a fragment; remove everything from the # on.");
  if (authority === "") return invalid("The URL names no host.");
  if (authority?.includes("@")) {
    return invalid(
      "The URL must not carry a user name or password; verify X-SMS-Signature instead.",
    );
  }
  return judgeAuthority(start, policy);
}

/** Nothing after the authority changes what is called, so verdicts are cached by it alone. */
function judgeAuthority(start: string, policy: EgressPolicy): UrlVerdict {
  const verdict = judgeParsed(start, policy);
  if (policy.verdicts.size >= MAX_VERDICTS) policy.verdicts.clear();
  policy.verdicts.set(start, verdict);
  return verdict;
}

function judgeParsed(start: string, policy: EgressPolicy): UrlVerdict {
  const url = URL.parse(start);
  if (url === null) return invalid("The host or port of the URL is not valid.");
  const secure = url.protocol === "https:";
  const host = url.hostname.replace(/\.$/, "");
  const hostname = host.replace(/^\[|\]$/g, "");
  if (isIP(hostname) === 0 && !isName(hostname)) return invalid(`"${host}" is not a host name.`);
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  const origin = `${url.protocol}//${host}${url.port === "" ? "" : `:${url.port}`}`;
  return judgePlace({ allowed: true, secure, hostname, port, origin }, policy);
}

/** Whether DNS can look it up: labels of 1 to 63 characters, 253 in all. */
function isName(hostname: string): boolean {
  const labels = hostname.split(".");
  return hostname.length <= 253 && labels.every(({ length }) => length >= 1 && length <= 63);
}

function judgePlace(url: CallbackUrl, policy: EgressPolicy): UrlVerdict {
  const { secure, hostname, port } = url;
  if (!secure && !policy.allowHttp) {
    return forbidden(
      "Only https is allowed here; use https://, or ask the operator to set WEBHOOK_ALLOW_HTTP.",
    );
  }
  if (blockedPorts.has(port)) return forbidden(`Port ${port} is never called; use another port.`);
  if (isLocalhost(hostname) && loopbackAddresses(policy).length === 0)
    return privateRefusal(hostname);
  if (isIP(hostname) !== 0 && judgeAddress(hostname, policy) === "forbidden") {
    return addressTier(hostname) === "private" ? privateRefusal(hostname) : neverRefusal(hostname);
  }
  const isPrivate = isLocalhost(hostname) || addressTier(hostname) === "private";
  if (isPrivate && policy.ownPorts.has(port)) {
    return forbidden(`Port ${port} of ${hostname} belongs to this service; use your receiver's.`);
  }
  return url;
}

export function isLocalhost(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

/** The addresses of localhost: the loopback addresses the operator allows. No lookup is made. */
export function loopbackAddresses(policy: EgressPolicy): string[] {
  return ["127.0.0.1", "::1"].filter((ip) => judgeAddress(ip, policy) === "allowed");
}

function privateRefusal(hostname: string): Refusal {
  return forbidden(
    `${hostname} is a private address; use a public one, or ask the operator to allow it with WEBHOOK_ALLOW_CIDRS.`,
  );
}

function neverRefusal(hostname: string): Refusal {
  return forbidden(`${hostname} is a reserved address that is never called; use a public one.`);
}

function invalid(message: string): Refusal {
  return { allowed: false, code: "CALLBACK_URL_INVALID", message };
}

function forbidden(message: string): Refusal {
  return { allowed: false, code: "CALLBACK_URL_FORBIDDEN", message };
}
