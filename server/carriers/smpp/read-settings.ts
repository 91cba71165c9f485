import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { messageOf } from "#platform";

import { octetString, type Parse } from "./setting-values.ts";
import { LONGEST_STRING, type Setting, type SmppSettings, smppSettings } from "./settings.ts";

export type SettingFault = { setting: string; message: string };

export type ReadSettings =
  | { outcome: "read"; settings: SmppSettings; warnings: string[] }
  | { outcome: "wrong"; faults: SettingFault[] };

/** Reads the settings of one carrier, keyed by name; reports every wrong one at once. */
export function readSmppSettings(given: Record<string, unknown>): ReadSettings {
  const faults: SettingFault[] = [];
  const entries = Object.entries<Setting>(smppSettings).map(([key, { name, fallback, parse }]) => {
    try {
      return [key, parse(given[name] ?? fallback)];
    } catch (error) {
      faults.push({ setting: name, message: messageOf(error) });
      return [key, undefined];
    }
  });
  faults.push(...unknownNames(given));
  if (faults.length > 0) return { outcome: "wrong", faults };

  const settings = Object.fromEntries(entries) as SmppSettings;
  const contradictory = contradictions(settings);
  if (contradictory.length > 0) return { outcome: "wrong", faults: contradictory };
  return { outcome: "read", settings, warnings: lengthWarnings(settings) };
}

function unknownNames(given: Record<string, unknown>): SettingFault[] {
  const known = new Set<string>(Object.values(smppSettings).map(({ name }) => name));
  return Object.keys(given)
    .filter((name) => !known.has(name))
    .map((name) => ({ setting: name, message: "is not a setting of an SMPP carrier" }));
}

function contradictions(settings: SmppSettings): SettingFault[] {
  const faults: SettingFault[] = [];
  const { tls, tlsCa, tlsCert, tlsKey, tlsServerName, tlsVerify } = settings;
  const forTls = {
    tls_ca: tlsCa,
    tls_cert: tlsCert,
    tls_key: tlsKey,
    tls_server_name: tlsServerName,
  };
  for (const [setting, value] of Object.entries(forTls)) {
    if (!tls && value !== null) faults.push({ setting, message: "is set, but tls is off" });
  }
  if (!tls && !tlsVerify) faults.push({ setting: "tls_verify", message: "is off, but so is tls" });
  if (tlsCert === null && tlsKey !== null) {
    const message = "is missing: the private key needs its certificate beside it";
    faults.push({ setting: "tls_cert", message });
  } else if (tlsCert !== null && tlsKey === null) {
    const message = "is missing: the certificate needs its private key beside it";
    faults.push({ setting: "tls_key", message });
  } else if (tlsCert !== null && tlsKey !== null) {
    const message = "is not the certificate of the private key beside it";
    if (throws(() => createSecureContext({ cert: tlsCert, key: tlsKey })))
      faults.push({ setting: "tls_cert", message });
  }
  // Node silently skips an authority that it cannot read, and then trusts nobody.
  const authorities = tlsCa === null ? [] : certificates(tlsCa);
  if (authorities.some((each) => throws(() => new X509Certificate(each))))
    faults.push({ setting: "tls_ca", message: "is not a certificate" });
  if (settings.destTonNpi === null) {
    faults.push({
      setting: "dest_ton_npi",
      message: "must be such as 1/1: recipients have one form",
    });
  }
  return faults;
}

function throws(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch {
    return true;
  }
}

function certificates(bundle: string): string[] {
  return bundle.split(/(?=-----BEGIN )/).filter((part) => part.startsWith("-----BEGIN "));
}

/** The protocol's limits, without the NUL. Many SMSCs take more, so nothing is ever cut. */
const PROTOCOL_LENGTHS = {
  system_id: 15,
  password: 8,
  system_type: 12,
  address_range: 40,
  service_type: 5,
};

function lengthWarnings(settings: SmppSettings): string[] {
  return [
    ...lengthWarning("system_id", settings.systemId),
    ...lengthWarning("system_type", settings.systemType),
    ...lengthWarning("address_range", settings.addressRange),
    ...lengthWarning("service_type", settings.serviceType),
  ];
}

export function passwordWarnings(password: string): string[] {
  if (password === "") return ["password is empty; few carriers accept that."];
  return lengthWarning("password", password);
}

function lengthWarning(name: keyof typeof PROTOCOL_LENGTHS, value: string): string[] {
  const limit = PROTOCOL_LENGTHS[name];
  if (value.length <= limit) return [];
  return [`${name} is longer than the ${limit} characters of the protocol; it is sent whole.`];
}

export function passwordFault(password: string): string | undefined {
  try {
    octetString(LONGEST_STRING)(password);
    return undefined;
  } catch (error) {
    return `password ${messageOf(error)}`;
  }
}

export type SettingDescription = {
  name: string;
  kind: "value" | "flag" | "file" | "json";
  /** Null if it is required, or if its default is nothing. */
  fallback: string | null;
  isRequired: boolean;
  meaning: string;
  /** Throws an Error that says what would be valid. */
  parse: Parse<unknown>;
};

/** For the command line and the dashboard. */
export function describeSmppSettings(): SettingDescription[] {
  return Object.values<Setting>(smppSettings).map((setting) => ({
    name: setting.name,
    kind: setting.kind ?? "value",
    fallback: printed(setting.fallback),
    isRequired: setting.fallback === undefined,
    meaning: setting.meaning,
    parse: setting.parse,
  }));
}

function printed(fallback: unknown): string | null {
  if (fallback === undefined || fallback === null) return null;
  if (typeof fallback === "boolean") return fallback ? "on" : "off";
  if (typeof fallback === "object") return null;
  return String(fallback);
}
