import { BlockList, isIPv6 } from "node:net";
import type { Secret } from "#platform";
import { allowances } from "#webhooks";
import { type Check, fault, ok, warning, warnings } from "./check.ts";

/** The settings that these checks need. */
type Exposed = Parameters<typeof allowances>[0] & {
  host: string;
  publicUrl: string | undefined;
  trustProxy: string[];
  metricsListen: { host: string; port: number } | undefined;
  databaseUrl: Secret | undefined;
};

/** How this node is exposed to others, and which hosts it would call. */
export function checkExposure(settings: Exposed): Check[] {
  return [
    checkPublicAddress(settings),
    checkProxies(settings),
    checkMetrics(settings),
    checkCallbacks(settings),
  ];
}

function checkPublicAddress({ host, publicUrl }: Exposed): Check {
  const name = "public address";
  const fix = "Put TLS in front and set PUBLIC_URL to its https address.";
  if (publicUrl === undefined)
    return isLoopback(host)
      ? ok(name, "Only this machine can reach the service.")
      : warning(name, `It listens on ${host} without a PUBLIC_URL: links lead nowhere.`, fix);
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === "https:" || isLoopback(hostname)) return ok(name, `It is ${publicUrl}.`);
  return warning(name, `${publicUrl} is not encrypted: keys and passwords can be read.`, fix);
}

function checkProxies({ publicUrl, trustProxy }: Exposed): Check {
  const name = "proxies";
  if (trustProxy.some((range) => range.endsWith("/0"))) {
    const message = "TRUST_PROXY trusts everybody: any caller can claim any address.";
    return fault(name, message, "Name only the addresses of your proxies.");
  }
  if (publicUrl?.startsWith("https:") && trustProxy.length === 0) {
    const message = "TLS is in front but TRUST_PROXY is empty: all callers share one address.";
    return warning(name, message, "Set TRUST_PROXY to the address of the proxy in front.");
  }
  return ok(name, trustProxy.length === 0 ? "None is trusted." : `${trustProxy.join(", ")}.`);
}

function checkMetrics({ host, metricsListen }: Exposed): Check {
  if (metricsListen) return ok("metrics", `At ${metricsListen.host}:${metricsListen.port}.`);
  if (isLoopback(host)) return ok("metrics", "Only this machine can read them.");
  const message = "/metrics is open to everyone who can reach the service.";
  return warning(
    "metrics",
    message,
    "Set METRICS_LISTEN to an address that only Prometheus can reach.",
  );
}

/** A range wider than this is rarely meant; a /16 is already a large one. */
const WIDEST_BITS = 16;

/** With an embedded database, loopback and plain http are allowed, for people trying things out. */
function checkCallbacks(settings: Exposed): Check {
  const name = "webhook addresses";
  const isEmbedded = settings.databaseUrl === undefined;
  const { allowCidrs, allowHttp, showPrivateAnswers } = allowances(settings, isEmbedded);
  const isTrial = isEmbedded && !isOpenToOthers(settings);
  const wide = allowCidrs.filter((range) => {
    const [address = "", bits] = range.split("/");
    return Number(bits) < WIDEST_BITS && !(isTrial && isLoopback(address));
  });
  const risks = [
    wide.length > 0 && {
      message: `Callbacks may go to all of ${wide.join(", ")}: every account can reach what listens there.`,
      fix: "Name only the hosts you need in WEBHOOK_ALLOW_CIDRS, or set it to nothing.",
    },
    allowHttp &&
      !isTrial && {
        message: "Callbacks may use plain http: others can read and change them.",
        fix: "Set WEBHOOK_ALLOW_HTTP=false.",
      },
    isEmbedded &&
      !isTrial &&
      allowCidrs.length > 0 &&
      showPrivateAnswers && {
        message:
          "Accounts can read what private addresses answer, which is meant for trying things out.",
        fix: "Set WEBHOOK_SHOW_PRIVATE_ANSWERS=false.",
      },
  ].filter((risk) => risk !== false);
  if (risks.length > 0) return warnings(name, risks);
  const byHttps = allowHttp ? "" : " by https only";
  return ok(name, `${["Public ones", ...allowCidrs].join(", ")}${byHttps}.`);
}

function isOpenToOthers({ host, publicUrl }: Exposed): boolean {
  return !isLoopback(host) || (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, "");
  return bare === "localhost" || loopback.check(bare, isIPv6(bare) ? "ipv6" : "ipv4");
}
