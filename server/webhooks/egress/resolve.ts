import { lookup } from "node:dns/promises";
import { type Clock, keepNewest } from "#platform/light";
import { orHostsFile } from "./hosts-file.ts";

/**
 * Finds all addresses of an absolute name, for an account. Gives up a lookup that has not begun by
 * `deadlineMs`.
 */
export type Resolve = {
  (name: string, deadlineMs: number, account?: bigint): Promise<string[]>;
  /** Whether its lookup has not begun, although no other lookup of the account is running. */
  isHeldUp?: (name: string, account?: bigint) => boolean;
};

type Options = {
  clock: Pick<Clock, "monotonicMs">;
  /** The system's resolver by default; tests pass others. */
  ask?: (name: string) => Promise<string[]>;
  maxAtOnce?: number;
  maxStrangersAtOnce?: number;
};

type Lookup = {
  name: string;
  /** The accounts that wait for it. */
  accounts: Set<bigint>;
  deadlineMs: number;
  addresses: PromiseWithResolvers<string[]>;
};

export type SystemResolve = Resolve & {
  /** Adds names that resolved before this process began. */
  recall(hostnames: Iterable<string>): void;
};

/** As long as an attempt waits for a name. A slower name is a stranger again, found or not. */
const HANGS_MS = 2_000;

/** As many names as one installation calls in a day; beyond that the oldest are strangers again. */
const MAX_KNOWN = 10_000;

/** A running lookup, which holds a thread. */
type Running = { account: bigint; isStranger: boolean };

/**
 * The system's resolver, with limits: each lookup holds a thread until the system gives up, long
 * after we have. Equal names share one lookup. Some threads are kept for names that resolved
 * before: names that never did cannot delay a receiver that is known to answer. Of either kind, an
 * account holds no more than it leaves free: its hanging names cannot delay those of another.
 */
export function systemResolve({
  clock,
  ask = orHostsFile(askSystem),
  maxAtOnce = 16,
  maxStrangersAtOnce = 12,
}: Options): SystemResolve {
  const underWay = new Map<string, Lookup>();
  const known = new Set<string>();
  const running = new Set<Running>();
  let waiting: Lookup[] = [];

  function mayRun({ account, isStranger }: Running): boolean {
    const alike = [...running].filter((other) => other.isStranger === isStranger);
    const ofAccount = alike.filter((other) => other.account === account);
    const freeInAll = maxAtOnce - running.size;
    const free = isStranger ? Math.min(freeInAll, maxStrangersAtOnce - alike.length) : freeInAll;
    return ofAccount.length < free;
  }

  function startWaiting(): void {
    waiting = waiting.filter((lookup) => {
      if (lookup.deadlineMs < clock.monotonicMs()) {
        underWay.delete(lookup.name);
        lookup.addresses.reject(new Error("DNS_BUSY"));
        return false;
      }
      const isStranger = !known.has(lookup.name);
      const account = [...lookup.accounts].find((each) => mayRun({ account: each, isStranger }));
      if (account !== undefined) void run(lookup, { account, isStranger });
      return account === undefined;
    });
  }

  async function run({ name, addresses }: Lookup, begun: Running): Promise<void> {
    const begunMs = clock.monotonicMs();
    running.add(begun);
    try {
      const found = await ask(name);
      remember(known, name);
      addresses.resolve(found);
    } catch (error) {
      addresses.reject(error);
    } finally {
      if (clock.monotonicMs() - begunMs > HANGS_MS) known.delete(name);
      running.delete(begun);
      underWay.delete(name);
      startWaiting();
    }
  }

  function resolve(name: string, deadlineMs: number, account = 0n): Promise<string[]> {
    const joined = underWay.get(name);
    if (joined !== undefined) {
      joined.deadlineMs = Math.max(joined.deadlineMs, deadlineMs);
      joined.accounts.add(account);
      startWaiting();
      return joined.addresses.promise;
    }
    const addresses = Promise.withResolvers<string[]>();
    const asked = { name, accounts: new Set([account]), deadlineMs, addresses };
    underWay.set(name, asked);
    waiting.push(asked);
    startWaiting();
    return asked.addresses.promise;
  }

  return Object.assign(resolve, {
    isHeldUp(name: string, account = 0n) {
      const isWaiting = waiting.some((lookup) => lookup.name === name);
      return isWaiting && [...running].every((other) => other.account !== account);
    },
    recall(hostnames: Iterable<string>) {
      for (const hostname of hostnames) remember(known, `${hostname}.`);
    },
  });
}

function remember(known: Set<string>, name: string): void {
  known.delete(name);
  known.add(name);
  keepNewest(known, MAX_KNOWN);
}

async function askSystem(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
}
