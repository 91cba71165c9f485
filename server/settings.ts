import { resolve } from "node:path";
import { oneOf, Secret, text, wholeNumber } from "#platform";
// Imported without the whole room: every command reads the settings, and so starts twice as fast.
import { opensPrivate, PRIVATE } from "#webhooks/ranges";
import {
  base64Of32,
  cidrList,
  databaseUrl,
  headerList,
  hostAndPort,
  hostName,
  httpUrl,
  list,
  rangesAmong,
  share,
  webOrigin,
  yesOrNo,
} from "./setting-values.ts";

/** The kinds of work that a node may do. */
export const roles = ["api", "sender", "webhooks", "dashboard"] as const;
export type Role = (typeof roles)[number];

const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

export type Setting<Value> = {
  /** Its name in the environment; `posthorn.toml` has the same name in lower case. */
  name: string;
  /** Used if the setting is left out; undefined if leaving it out has a meaning of its own. */
  fallback?: string;
  /** The fallback in words, if it depends on something else. */
  fallbackText?: string;
  parse: (text: string) => Value;
  meaning: string;
};

/** A message may be scheduled 35 days ahead, valid for 3, and its receipt may take another 7. */
const LEAST_KEPT_DAYS = 45;

function keptDays(value: string): number {
  const days = wholeNumber(0)(value);
  if (days === 0 || days >= LEAST_KEPT_DAYS) return days;
  throw new Error(
    `must be 0, to keep them forever, or at least ${LEAST_KEPT_DAYS}, not "${value}".`,
  );
}

/** Every setting. `docs/generated/configuration.md` is made from this list. */
export const settings = {
  host: {
    name: "HOST",
    fallback: "127.0.0.1",
    parse: hostName,
    meaning: "Address to listen on.",
  },
  port: {
    name: "PORT",
    fallback: "8080",
    parse: wholeNumber(0, 65_535),
    meaning: "Port to listen on; 0 takes a free one.",
  },
  dataDir: {
    name: "DATA_DIR",
    fallback: "./data",
    parse: (value: string) => resolve(text(value)),
    meaning: "Folder for the embedded PostgreSQL and generated secrets.",
  },
  databaseUrl: {
    name: "DATABASE_URL",
    fallbackText: "the embedded PostgreSQL",
    parse: (value: string) => new Secret(databaseUrl(value)),
    meaning:
      "External PostgreSQL 15 or newer, such as postgres://user:password@host:5432/posthorn. Several hosts, separated by commas, are tried in turn to find the primary.",
  },
  publicUrl: {
    name: "PUBLIC_URL",
    fallbackText: "http://HOST:PORT",
    parse: webOrigin,
    meaning: "Address at which people and receivers reach this service.",
  },
  secretKey: {
    name: "SECRET_KEY",
    fallbackText: "made once in DATA_DIR",
    parse: (value: string) => new Secret(base64Of32(value)),
    meaning: "32 bytes in base64; encrypts secrets at rest. The same on all nodes.",
  },
  secretKeyPrevious: {
    name: "SECRET_KEY_PREVIOUS",
    fallbackText: "none",
    parse: (value: string) => new Secret(base64Of32(value)),
    meaning:
      "A second key, used only to decrypt: during a change of SECRET_KEY first the new key, then the old one until npx posthorn secrets reseal.",
  },
  roles: {
    name: "ROLES",
    fallback: roles.join(","),
    parse: roleList,
    meaning: `What this node does: ${roles.join(", ")}.`,
  },
  webhookAllowCidrs: {
    name: "WEBHOOK_ALLOW_CIDRS",
    fallbackText: "127.0.0.0/8,::1/128 with the embedded database, else none",
    parse: privateRanges,
    meaning:
      "Loopback, private and CGNAT ranges that callback addresses may point to, separated by commas.",
  },
  webhookAllowHttp: {
    name: "WEBHOOK_ALLOW_HTTP",
    fallbackText: "true with the embedded database, else false",
    parse: yesOrNo,
    meaning: "Whether callback addresses may use plain http.",
  },
  webhookShowPrivateAnswers: {
    name: "WEBHOOK_SHOW_PRIVATE_ANSWERS",
    fallbackText: "true with the embedded database, else false",
    parse: yesOrNo,
    meaning:
      "Whether accounts see what allowed private addresses answer, not just status and times.",
  },
  rateLimitSends: {
    name: "RATE_LIMIT_SENDS",
    fallback: "100",
    parse: wholeNumber(1),
    meaning: "Sends per second per account; a batch counts its messages.",
  },
  rateLimitSendsBurst: {
    name: "RATE_LIMIT_SENDS_BURST",
    fallback: "1000",
    parse: wholeNumber(1),
    meaning:
      "Sends that an account may make at once. A larger batch passes when the allowance is full, and leaves a debt that must be paid off before the next send.",
  },
  rateLimitReads: {
    name: "RATE_LIMIT_READS",
    fallback: "100",
    parse: wholeNumber(1),
    meaning: "Reads per second per key.",
  },
  rateLimitReadsBurst: {
    name: "RATE_LIMIT_READS_BURST",
    fallback: "200",
    parse: wholeNumber(1),
    meaning: "Reads that a key may make at once.",
  },
  rateLimitFailedAuth: {
    name: "RATE_LIMIT_FAILED_AUTH",
    fallback: "20",
    parse: wholeNumber(1),
    meaning: "Failed authentications per minute per address.",
  },
  bodyLimit: {
    name: "BODY_LIMIT",
    fallback: "1048576",
    parse: wholeNumber(1_024, 104_857_600),
    meaning: "Largest request body, in bytes.",
  },
  trustProxy: {
    name: "TRUST_PROXY",
    fallback: "",
    parse: cidrList,
    meaning: "Addresses of proxies whose X-Forwarded-For is trusted, separated by commas.",
  },
  retentionMessagesDays: {
    name: "RETENTION_MESSAGES_DAYS",
    fallback: "0",
    fallbackText: "0, forever",
    parse: keptDays,
    meaning:
      "Days to keep messages, their events and submissions: 0 for forever, or at least 45; whole months are dropped at a time. The ledger and the audit log are always kept.",
  },
  retentionAttemptsDays: {
    name: "RETENTION_ATTEMPTS_DAYS",
    fallback: "30",
    parse: wholeNumber(1, 3_650),
    meaning:
      "Days to keep and show webhook attempts. Deliveries can be replayed for 30 days regardless.",
  },
  redactTextDays: {
    name: "REDACT_TEXT_DAYS",
    fallback: "0",
    fallbackText: "0, never",
    parse: wholeNumber(0, 36_500),
    meaning:
      "Days after which a message's text is replaced by [redacted]; the rest of the message stays.",
  },
  metricsListen: {
    name: "METRICS_LISTEN",
    fallbackText: "HOST:PORT, with everything else",
    parse: hostAndPort,
    meaning: "Separate address for /metrics, such as 127.0.0.1:9464; it is then served only there.",
  },
  tracesEndpoint: {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    fallbackText: "none: no traces",
    parse: httpUrl,
    meaning: "OpenTelemetry collector to send traces to: OTLP over HTTP with JSON.",
  },
  tracesHeaders: {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    fallbackText: "none",
    parse: (value: string) => new Secret(headerList(value)),
    meaning: "Headers for the collector, as name=value pairs separated by commas.",
  },
  tracesShare: {
    name: "OTEL_TRACES_SAMPLER_ARG",
    fallback: "1",
    parse: share,
    meaning: "Share of requests and messages that are traced, from 0 to 1.",
  },
  logLevel: {
    name: "LOG_LEVEL",
    fallback: "info",
    parse: oneOf(LOG_LEVELS),
    meaning: `Lowest level of log lines to write to standard error: ${LOG_LEVELS.join(", ")}.`,
  },
} satisfies Record<string, Setting<unknown>>;

function privateRanges(value: string): string[] {
  return rangesAmong(value, (ranges) => {
    const others = ranges.filter((range) => !opensPrivate(range));
    if (others.length === 0) return [];
    return [
      `Only loopback, private and CGNAT addresses (${PRIVATE.join(", ")}) can be allowed, and no metadata services, not ${others.join(", ")}.`,
    ];
  });
}

function roleList(value: string): Set<Role> {
  const chosen = list(value).map(oneOf(roles));
  if (chosen.length === 0) throw new Error(`must name at least one of ${roles.join(", ")}.`);
  return new Set(chosen);
}

/** Describes each setting in words, for help and the reference page. */
export function describeSettings(): { name: string; fallback: string; meaning: string }[] {
  return Object.values<Setting<unknown>>(settings).map((setting) => {
    const {
      name,
      fallback = "",
      fallbackText = fallback === "" ? "none" : fallback,
      meaning,
    } = setting;
    return { name, fallback: fallbackText, meaning };
  });
}

type Settings = typeof settings;
type Read = { [Key in keyof Settings]: ReturnType<Settings[Key]["parse"]> };
/** These settings have a meaning when they are left out, and are then undefined. */
type Optional =
  | "databaseUrl"
  | "publicUrl"
  | "secretKey"
  | "secretKeyPrevious"
  | "webhookAllowCidrs"
  | "webhookAllowHttp"
  | "webhookShowPrivateAnswers"
  | "metricsListen"
  | "tracesEndpoint"
  | "tracesHeaders";
export type Config = Omit<Read, Optional> & { [Key in Optional]: Read[Key] | undefined };
