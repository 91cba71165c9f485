import { lookup } from "node:dns/promises";
import { type Clock, keepNewest } from "#platform";
import { orHostsFile } from "./hosts-file.ts";

/** All addresses of an absolute name. A lookup that has not begun by `deadlineMs` is given up. */
export type Resolve = (name: string, deadlineMs: number) => Promise<string[]>;

type Options = {
  clock: Pick<Clock, "monotonicMs">;
  /** The system's resolver; others are for tests. */
  ask?: (name: string) => Promise<string[]>;
  maxAtOnce?: number;
  maxStrangersAtOnce?: number;
};

type Lookup = {
  name: string;
  deadlineMs: number;
  addresses: PromiseWithResolvers<string[]>;
};

export type SystemResolve = Resolve & {
  /** Names that resolved before this process began. */
  recall(hostnames: Iterable<string>): void;
};

/** As long as an attempt waits for a name. One that took longer is a stranger again, whatever came of it. */
const HANGS_MS = 2_000;

/** As many names as one installation calls in a day; beyond it the oldest are strangers again. */
const MAX_KNOWN = 10_000;

/**
 * The system's resolver, kept in bounds: each lookup holds a thread until the system gives up, long
 * after we have. Equal names share one lookup. Some threads are kept for names that have resolved
 * before: names that never did cannot hold up a receiver that is known to answer. Sixteen that did, and
 * begin to hang at one moment, still can, until the system gives up on them.
 */
export function systemResolve({
  clock,
  ask = orHostsFile(askSystem),
  maxAtOnce = 16,
  maxStrangersAtOnce = 12,
}: Options): SystemResolve {
  const underWay = new Map<string, Lookup>();
  const known = new Set<string>();
  let waiting: Lookup[] = [];
  let running = 0;
  let strangers = 0;

  function startWaiting(): void {
    waiting = waiting.filter((lookup) => {
      if (lookup.deadlineMs < clock.monotonicMs()) {
        underWay.delete(lookup.name);
        lookup.addresses.reject(new Error("DNS_BUSY"));
        return false;
      }
      const hasRoom =
        running < maxAtOnce && (known.has(lookup.name) || strangers < maxStrangersAtOnce);
      if (hasRoom) void run(lookup);
      return !hasRoom;
    });
  }

  async function run({ name, addresses }: Lookup): Promise<void> {
    const isStranger = !known.has(name);
    const begunMs = clock.monotonicMs();
    running += 1;
    strangers += isStranger ? 1 : 0;
    try {
      const found = await ask(name);
      remember(known, name);
      addresses.resolve(found);
    } catch (error) {
      addresses.reject(error);
    } finally {
      if (clock.monotonicMs() - begunMs > HANGS_MS) known.delete(name);
      running -= 1;
      strangers -= isStranger ? 1 : 0;
      underWay.delete(name);
      startWaiting();
    }
  }

  function resolve(name: string, deadlineMs: number): Promise<string[]> {
    const joined = underWay.get(name);
    if (joined !== undefined) {
      joined.deadlineMs = Math.max(joined.deadlineMs, deadlineMs);
      return joined.addresses.promise;
    }
    const asked = { name, deadlineMs, addresses: Promise.withResolvers<string[]>() };
    underWay.set(name, asked);
    waiting.push(asked);
    startWaiting();
    return asked.addresses.promise;
  }

  return Object.assign(resolve, {
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
