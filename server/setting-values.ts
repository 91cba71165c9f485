import { isIP } from "node:net";
import { oneOf, readCollectorHeaders } from "#platform";
import { keyPlaceholder, passwordPlaceholder } from "./placeholder.ts";

// Each of these parses a setting's text, or throws an error that continues its name: "must be …".

export function yesOrNo(value: string): boolean {
  return oneOf(["true", "false"])(value) === "true";
}

export function list(value: string): string[] {
  return value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

export function cidrList(value: string): string[] {
  return rangesAmong(value, () => []);
}

/** Names every wrong entry: those that are not ranges, and those that `faultsOf` rejects. */
export function rangesAmong(value: string, faultsOf: (ranges: string[]) => string[]): string[] {
  const entries = list(value);
  const ranges = entries.map(asRange).filter((range) => range !== undefined);
  const faults = [
    ...entries
      .filter((entry) => asRange(entry) === undefined)
      .map((entry) => `"${entry}" is not an address range such as 10.0.0.0/8.`),
    ...faultsOf(ranges),
  ];
  if (faults.length > 0) throw new Error(faults.join(" "));
  return ranges;
}

function asRange(entry: string): string | undefined {
  const [address = "", prefix, ...more] = entry.split("/");
  const bits = isIP(address) === 4 ? 32 : 128;
  const isFine =
    isIP(address) !== 0 &&
    more.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits));
  if (!isFine) return undefined;
  return prefix === undefined ? `${address}/${bits}` : entry;
}

export function httpUrl(value: string): string {
  const url = URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new Error(`must be an address such as https://sms.example.com, not "${value}".`);
  }
  return url.href.replace(/\/$/, "");
}

/** Links, cookies and pages all assume that they are at the root of a host. */
export function webOrigin(value: string): string {
  const url = httpUrl(value);
  const { origin, username, password } = new URL(url);
  // The value is not repeated: a password in it would be printed.
  if (username !== "" || password !== "")
    throw new Error("must be an address without a user name or password.");
  if (url !== origin) {
    throw new Error(
      `must be an address without a path, such as https://sms.example.com, not "${value}": the service answers at the root of its host.`,
    );
  }
  return url;
}

export function databaseUrl(value: string): string {
  // The standard parser rejects a URL with several hosts, so only the first one is checked.
  const first = value.replace(/^(postgres(?:ql)?:\/\/(?:[^@/]*@)?[^,/]*)(?:,[^/]*)?/, "$1");
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(first)) {
    throw new Error(
      "must be a PostgreSQL address such as postgres://user:password@host:5432/database.",
    );
  }
  const fault = passwordPlaceholder(decoded(new URL(first).password));
  if (fault !== undefined) throw new Error(`${fault}; give the database one of its own.`);
  return value;
}

/** Returns the text unchanged if a % in it stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function hostName(value: string): string {
  const host = value.trim();
  if (isIP(host) === 0 && !/^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/i.test(host))
    throw new Error(`must be an address or host name, such as 127.0.0.1, not "${value}".`);
  return host;
}

export function hostAndPort(value: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(value.trim()) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535)
    throw new Error(`must be an address such as 127.0.0.1:9464, not "${value}".`);
  return { host, port: Number(port) };
}

export function headerList(value: string): string {
  try {
    readCollectorHeaders(value);
    return value;
  } catch {
    // The message leaves out the value, because it may hold a secret.
    throw new Error("must be name=value pairs, percent-encoded and separated by commas.");
  }
}

export function share(value: string): number {
  const number = /^\d*\.?\d+$/.test(value.trim()) ? Number(value) : Number.NaN;
  if (number >= 0 && number <= 1) return number;
  throw new Error(`must be a number from 0 to 1, not "${value}".`);
}

export function base64Of32(value: string): string {
  if (Buffer.from(value, "base64").length !== 32) {
    throw new Error("must be 32 bytes in base64; make one with: openssl rand -base64 32");
  }
  const fault = keyPlaceholder(Buffer.from(value, "base64"));
  if (fault !== undefined) throw new Error(`${fault}; make one: openssl rand -base64 32`);
  return value;
}
