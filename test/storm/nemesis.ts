import type { Reply } from "#carriers";
import { sql, systemClock } from "#platform";
import type { Answer } from "../support/receiver.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";
import type { Load } from "./load.ts";
import type { Random } from "./random.ts";
import type { StormNode } from "./node.ts";
import type { World } from "./world.ts";

export type FaultName = keyof typeof faults;

type Deps = { world: World; load: Load; random: Random };

type Options = Deps & {
  forMs: number;
  /** Which faults may occur; those in `opening` are started at once, in order. */
  names: readonly FaultName[];
  opening?: readonly FaultName[];
  /** The longest pause between two faults. */
  calmMs: number;
};

type Struck = { target: string; healed: Promise<unknown> };

/** Injects faults until time is up; resolves once every fault has ended. */
export async function runNemesis(options: Options): Promise<void> {
  const { world, random, names, opening = [], forMs, calmMs } = options;
  const endMs = performance.now() + forMs;
  const underWay = new Map<string, Promise<unknown>>();

  function strike(name: FaultName): void {
    const { target, healed } = faults[name](options);
    // One fault of a kind per target at a time: healing one must not heal another too early.
    world.history.log({ kind: "fault", t: performance.now(), name, target });
    const key = kindOf(name, target);
    underWay.set(
      key,
      healed.finally(() => underWay.delete(key)),
    );
  }

  for (const name of opening) strike(name);
  while (performance.now() < endMs) {
    await systemClock.sleep(random.between(calmMs / 4, calmMs));
    const name = names[random.between(0, names.length - 1)];
    if (name !== undefined && !isBusy(name, underWay)) strike(name);
  }
  await Promise.all(underWay.values());
}

/** Faults of one kind change the same thing, such as the proxies or the SMSC's answers. */
const kinds: Partial<Record<FaultName, string>> = {
  "SMSC answers strangely": "smsc",
  "receiver answers strangely": "receiver",
  "service killed": "process",
  "service stopped": "process",
  "service frozen": "process",
  "service frozen past its lease": "process",
  "PostgreSQL killed": "postgres",
};

function kindOf(name: FaultName, target: string): string {
  return kinds[name] ?? (name.startsWith("link") ? "link" : `${name} ${target}`);
}

function isBusy(name: FaultName, underWay: ReadonlyMap<string, unknown>): boolean {
  const kind = kinds[name] ?? (name.startsWith("link") ? "link" : undefined);
  return kind !== undefined && underWay.has(kind);
}

const strangeReplies: readonly [Reply, ...Reply[]] = [
  "never",
  "drop",
  "throttle",
  "queue_full",
  "unbind",
  "accept_twice",
  { afterMs: 500, reply: "by_recipient" },
  { afterMs: 4_000, reply: "by_recipient" },
  // Half an answer, which puts the connection out of step.
  { raw: (right) => right.subarray(0, right.length - 3) },
];

const strangeAnswers: readonly [Answer, ...Answer[]] = [
  500,
  503,
  { status: 429, headers: { "retry-after": "2" } },
  { status: 301, headers: { location: "http://127.0.0.1:1/" } },
  { status: 200, body: "x".repeat(200_000) },
  "hold",
];

const faults = {
  "service killed": (deps: Deps) => end(deps, "SIGKILL"),
  "service stopped": (deps: Deps) => end(deps, "SIGTERM"),
  "service frozen": (deps: Deps) => freeze(deps, deps.random.between(500, 3_000)),
  "service frozen past its lease": (deps: Deps) => freeze(deps, 40_000),
  "clock stepped"(deps: Deps): Struck {
    const node = nodeOf(deps);
    node.service()?.kill("SIGUSR2");
    return { target: `node ${node.number}`, healed: Promise.resolve() };
  },
  "PostgreSQL killed"({ world }: Deps): Struck {
    const pid = world.postgres.pid();
    process.kill(pid, "SIGKILL");
    return { target: "postgres", healed: whenRestarted(world, pid) };
  },
  "database connections ended"({ world }: Deps): Struck {
    const ended = world.db
      .query(
        sql`select pg_terminate_backend(pid) from pg_stat_activity
             where application_name like 'posthorn%' and pid <> pg_backend_pid() and random() < 0.3`,
      )
      .catch(() => undefined);
    return { target: "postgres", healed: ended };
  },
  "link cut"(deps: Deps): Struck {
    const { target, proxy } = linkOf(deps);
    proxy.cut();
    return { target, healed: Promise.resolve() };
  },
  "link refused"(deps: Deps): Struck {
    const { target, proxy } = linkOf(deps);
    proxy.refuse(true);
    proxy.cut();
    return { target, healed: after(deps, [300, 3_000], () => proxy.refuse(false)) };
  },
  "link delayed"(deps: Deps): Struck {
    const { target, proxy } = linkOf(deps);
    proxy.delay(deps.random.between(20, 200));
    return { target, healed: after(deps, [500, 3_000], () => proxy.delay(0)) };
  },
  "link half-open"(deps: Deps): Struck {
    const { target, proxy } = linkOf(deps);
    proxy.hold();
    return { target, healed: after(deps, [500, 6_000], () => proxy.release()) };
  },
  "link loses answers"(deps: Deps): Struck {
    const { target, proxy } = linkOf(deps);
    proxy.withholdReplies();
    const healed = after(deps, [100, 1_500], () => {
      proxy.cut();
      proxy.release();
    });
    return { target, healed };
  },
  "SMSC answers strangely"(deps: Deps): Struck {
    const reply = deps.random.pick(strangeReplies);
    deps.world.answerSubmits(reply);
    const healed = after(deps, [300, 2_500], () => deps.world.answerSubmits("by_recipient"));
    return { target: typeof reply === "string" ? reply : Object.keys(reply).join(), healed };
  },
  "SMSC drops its links"({ world }: Deps): Struck {
    world.smsc.dropConnections();
    return { target: "smsc", healed: Promise.resolve() };
  },
  "receiver answers strangely"(deps: Deps): Struck {
    const { world, random } = deps;
    const answer = random.pick(strangeAnswers);
    world.answerPosts(answer);
    const healed = after(deps, [300, 2_500], () => world.answerPosts(200));
    return { target: typeof answer === "object" ? String(answer.status) : String(answer), healed };
  },
  "overload burst"({ load, random }: Deps): Struck {
    const count = random.between(100, 600);
    return { target: `${count} at once`, healed: load.burst(count) };
  },
};

async function whenRestarted({ postgres, db }: World, killedPid: number): Promise<void> {
  const isBack = () =>
    db.query(sql`select 1`).then(
      () => postgres.pid() !== killedPid,
      () => false,
    );
  while (!(await isBack())) await systemClock.sleep(50);
}

function nodeOf({ world, random }: Deps): StormNode {
  return world.nodes[random.between(0, world.nodes.length - 1)] as StormNode;
}

function end(deps: Deps, signal: "SIGKILL" | "SIGTERM"): Struck {
  const node = nodeOf(deps);
  return { target: `node ${node.number}`, healed: node.end(signal) };
}

function freeze(deps: Deps, forMs: number): Struck {
  const node = nodeOf(deps);
  const service = node.service();
  service?.kill("SIGSTOP");
  const healed = systemClock.sleep(forMs).then(() => service?.kill("SIGCONT"));
  return { target: `node ${node.number}`, healed };
}

function linkOf(deps: Deps): { target: string; proxy: TcpProxy } {
  const { world, random } = deps;
  const { front, database, number } = nodeOf(deps);
  const links: [{ target: string; proxy: TcpProxy }, ...{ target: string; proxy: TcpProxy }[]] = [
    { target: "smsc", proxy: world.smscProxy },
    { target: "receiver", proxy: world.receiverProxy },
    { target: `clients of node ${number}`, proxy: front },
    ...(database ? [{ target: `database of node ${number}`, proxy: database }] : []),
  ];
  return random.pick(links);
}

function after({ random }: Deps, [least, most]: [number, number], heal: () => void): Promise<void> {
  return systemClock.sleep(random.between(least, most)).then(heal);
}
