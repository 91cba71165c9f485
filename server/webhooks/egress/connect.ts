import { isIP, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { SecureContext } from "node:tls";
import { type Clock, messageOf } from "#platform/light";
import { judgeAddress, unwrap } from "./address.ts";
import { dialOneOf } from "./dial.ts";
import { dnsFailure, type Failure, failed } from "./failure.ts";
import { type CallbackUrl, isLocalhost, loopbackAddresses } from "./judge-url.ts";
import type { EgressPolicy } from "./policy.ts";
import type { Resolve } from "./resolve.ts";
import { secure } from "./secure.ts";

export type Egress = {
  policy: EgressPolicy;
  clock: Clock;
  resolve: Resolve;
  trust: SecureContext;
  budgets: ConnectBudgets;
  /** The account for which names are looked up. */
  account?: bigint;
};

type ConnectBudgets = { dnsMs: number; tcpMs: number; tlsMs: number };

/** Together less than an attempt's deadline, so that the slow step is named, not just "late". */
export const connectBudgets: ConnectBudgets = { dnsMs: 2_000, tcpMs: 3_000, tlsMs: 3_000 };

/** How far it came; null if a step was not needed or not reached. */
export type ConnectTrace = {
  address: string | null;
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
};

type Connected = { socket: Socket; trace: ConnectTrace };
type Unconnected = { failure: Failure; trace: ConnectTrace };

/**
 * The only way out: resolves the name, judges every address, connects to one, and judges where the
 * socket really ended up. Settles by `deadlineMs` (monotonic) at the latest; rejects only on a bug.
 */
export async function connect(
  url: CallbackUrl,
  deadlineMs: number,
  egress: Egress,
): Promise<Connected | Unconnected> {
  const { clock, policy, trust, budgets } = egress;
  const trace: ConnectTrace = { address: null, dnsMs: null, connectMs: null, tlsMs: null };
  const within = (ms: number) => Math.max(0, Math.min(ms, deadlineMs - clock.monotonicMs()));
  const stopwatch = () => {
    const startedMs = clock.monotonicMs();
    return () => clock.monotonicMs() - startedMs;
  };

  const resolving = stopwatch();
  const addresses = await addressesOf(url, within(budgets.dnsMs), egress);
  trace.dnsMs = isIP(url.hostname) === 0 ? resolving() : null;
  if ("kind" in addresses) return { failure: addresses, trace };
  const refusal = refusalOf(addresses, url, policy);
  if (refusal !== undefined) return { failure: refusal, trace };

  const dialling = stopwatch();
  const dialled = await dialOneOf(addresses, url.port, { budgetMs: within(budgets.tcpMs), clock });
  trace.connectMs = dialling();
  trace.address = dialled.address;
  if ("failure" in dialled) return { failure: dialled.failure, trace };
  const { socket } = dialled;
  const landed = judgeLanding(socket, url, policy);
  if (landed !== undefined) {
    socket.destroy();
    return { failure: landed, trace };
  }
  if (!url.secure) return { socket, trace };

  const securing = stopwatch();
  const budgetMs = within(budgets.tlsMs);
  const secured = await secure(socket, url.hostname, { budgetMs, clock, trust });
  trace.tlsMs = securing();
  return { ...secured, trace };
}

async function addressesOf(
  url: CallbackUrl,
  budgetMs: number,
  egress: Egress,
): Promise<string[] | Failure> {
  const { hostname } = url;
  if (isIP(hostname) !== 0) return [hostname];
  if (isLocalhost(hostname)) {
    const addresses = loopbackAddresses(egress.policy);
    return addresses.length > 0 ? addresses : forbidden(url, "127.0.0.1");
  }
  const found = await resolveName(hostname, budgetMs, egress);
  if ("kind" in found) return found;
  if (found.length > MAX_ADDRESSES)
    return failed("dns_failed", `${hostname} has ${found.length} addresses`);
  return found.length > 0 ? found : failed("dns_not_found", hostname);
}

/** More than any receiver has. Answers can hold thousands, and judging those delays everybody. */
const MAX_ADDRESSES = 100;

function resolveName(
  name: string,
  budgetMs: number,
  { resolve, clock, account }: Egress,
): Promise<string[] | Failure> {
  return new Promise((settle) => {
    // The dot makes the name absolute: otherwise the system would also try its search domains, and
    // a stranger's name could mean a machine of ours.
    const absolute = `${name}.`;
    const cancel = clock.timer(budgetMs, () => {
      const isHeldUp = resolve.isHeldUp?.(absolute, account) === true;
      const detail = `other lookups held up that of ${name}`;
      settle(isHeldUp ? { kind: "our_fault", detail } : failed("dns_timeout", name));
    });
    resolve(absolute, clock.monotonicMs() + budgetMs, account)
      .then(settle, (error: unknown) => settle(dnsFailure(error, name)))
      .finally(cancel);
  });
}

/** For example, redirection rules on this machine can make a socket end up elsewhere than asked. */
function judgeLanding(socket: Socket, url: CallbackUrl, policy: EgressPolicy): Failure | undefined {
  const { remoteAddress } = socket;
  if (remoteAddress === undefined)
    return failed("connection_lost", "closed as soon as it was open");
  return refusalOf([remoteAddress], url, policy);
}

/**
 * Why none of these may be called at that port, if so. One forbidden address rules them all out: a
 * receiver that mixes them in is probing where we end up.
 */
function refusalOf(
  addresses: readonly string[],
  url: CallbackUrl,
  policy: EgressPolicy,
): Failure | undefined {
  const isOwnPort = policy.ownPorts.has(url.port);
  const isRefused = (ip: string) => {
    const verdict = judgeAddress(ip, policy);
    return verdict === "forbidden" || (isOwnPort && verdict !== "public");
  };
  const refused = addresses.find(isRefused);
  if (refused !== undefined) return forbidden(url, refused);
  if (!isOwnPort) return undefined;
  try {
    const ours = addressesHere();
    const own = addresses.find((ip) => ours.has(unwrap(ip)));
    return own === undefined ? undefined : forbidden(url, own);
  } catch (error) {
    // Out of descriptors, or in a sandbox that hides them. It is retried, but not called meanwhile.
    const detail = `the addresses of this machine cannot be told: ${messageOf(error)}`;
    return { kind: "our_fault", detail };
  }
}

/** The addresses of this machine. Listing them takes as long as judging a dozen. */
function addressesHere(): Set<string | undefined> {
  const interfaces = Object.values(networkInterfaces()).flat();
  return new Set(interfaces.map((one) => one?.address));
}

function forbidden({ hostname }: CallbackUrl, ip: string): Failure {
  const what = hostname === ip ? ip : `${hostname}, which is ${ip},`;
  return { kind: "forbidden", detail: `${what} must not be called` };
}
