import { DatabaseUnavailable, openDatabase, silentLog, sql, systemClock } from "#platform";
import { audit, type AuditOptions } from "../../server/cli/audit/audit.ts";
import { checkHistory, type Violation } from "./checker.ts";
import { type History, openHistory } from "./history.ts";
import { startLoad } from "./load.ts";
import { type FaultName, runNemesis } from "./nemesis.ts";
import { seededRandom } from "./random.ts";
import { readState, type State } from "./state.ts";
import { startWorld, type World } from "./world.ts";

export type StormOptions = {
  seed: number;
  forMs: number;
  names: readonly FaultName[];
  opening?: readonly FaultName[];
  clients?: number;
  restMs?: number;
  calmMs?: number;
  roles?: string[];
  /** A file to keep the history in, as JSON lines. */
  historyFile?: string;
};

export type StormResult = {
  figures: Record<string, number | Record<string, number>>;
  /** What must not happen; empty for a good storm. */
  violations: Violation[];
};

/** Leases end after 30 s, and a node that woke up late may begin one more. */
const DRAIN_LIMIT_MS = 150_000;
const AUDIT_EVERY_MS = 60_000;

/** Runs load under faults; then heals everything, drains and checks. */
export async function runStorm(options: StormOptions): Promise<StormResult> {
  const { seed, forMs, names, opening = [], clients = 8, restMs = 60, calmMs = 800 } = options;
  const history = openHistory(options.historyFile);
  await using world = await startWorld({
    history,
    ...(options.roles ? { roles: options.roles } : {}),
  });
  // A random source per user: the speed of clients does not change which faults occur.
  const load = await startLoad({ world, random: seededRandom(seed), clients, restMs });
  const beganMs = performance.now();
  await using audits = auditNowAndThen(world);
  await runNemesis({ world, load, random: seededRandom(~seed), forMs, names, opening, calmMs });
  await load.stop();
  await heal(world);
  const stormMs = performance.now() - beganMs;
  const drainMs = await drain(world);
  await load.tellBalances();
  const result = await judge(world);
  await history.close();
  const violations = [...audits.violations, ...result.violations];
  const figures = { ...result.figures, audits: audits.count(), violations: violations.length };
  return { violations, figures: { seed, stormMs, drainMs, ...figures } };
}

/** Checks during the storm what must always hold; an unreachable database breaks no rule. */
function auditNowAndThen(world: World) {
  const violations: Violation[] = [];
  const stopping = new AbortController();
  let count = 0;
  async function run(): Promise<void> {
    for (;;) {
      await systemClock.sleep(AUDIT_EVERY_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        violations.push(...(await auditViolations(world, { isDrained: false })));
        count += 1;
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
      }
    }
  }
  const running = run();
  return {
    violations,
    count: () => count,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}

async function heal(world: World): Promise<void> {
  world.answerSubmits("by_recipient");
  world.answerPosts(200);
  const proxies = world.nodes.flatMap(({ front, database }) => [
    front,
    ...(database ? [database] : []),
  ]);
  for (const proxy of [...proxies, world.smscProxy, world.receiverProxy]) {
    proxy.delay(0);
    proxy.refuse(false);
    proxy.release();
  }
  for (const node of world.nodes) {
    node.service()?.kill("SIGCONT");
    await node.running();
  }
}

/** Waits until nothing is left to do. Skips only the waits between webhook attempts (hours). */
export async function drain({ db, history }: World): Promise<number> {
  const beganMs = performance.now();
  while (performance.now() - beganMs < DRAIN_LIMIT_MS) {
    const left = await db
      .query<{ sends: number; webhooks: number }>(
        sql`select (select count(*) from send_queue q where not exists (
                      select from messages m where m.message_id = q.message_id and m.send_at > clock_timestamp())) as sends,
                   (select count(*) from webhook_deliveries) as webhooks`,
      )
      .catch(() => []);
    if (left[0]?.sends === 0 && left[0].webhooks === 0 && (await isReported(db, history))) break;
    await db
      .query(
        sql`update webhook_deliveries set next_at = clock_timestamp()
             where leased_until is null and next_at > clock_timestamp()`,
      )
      .catch(() => []);
    await systemClock.sleep(250);
  }
  return performance.now() - beganMs;
}

/** Whether every receipt that the SMSC sent is stored. */
async function isReported(db: World["db"], history: History): Promise<boolean> {
  const ids = [...new Set(history.of("receipt").map(({ carrierMessageId }) => carrierMessageId))];
  const [stored] = await db.query<{ missing: number }>(sql`
    select count(*) as missing
      from unnest(${ids}::text[]) as id
     where not exists (select from submissions s where s.match_id = id and s.receipts is not null)
       and not exists (select from parked_receipts p where p.match_ids @> array[id])`);
  return stored?.missing === 0;
}

export async function judge(world: World): Promise<StormResult> {
  const { history, nodes } = world;
  const state = await readState(world.db, world.secrets);
  const violations = [
    ...checkHistory(history, state),
    ...(await auditViolations(world, { isDrained: true })),
  ];
  violations.push(...(await deadlocks(world)));
  const deaths = nodes.flatMap((node) => node.deaths);
  violations.push(
    ...deaths.map((words) => ({ check: "alive", what: "a service ended by itself", words })),
  );
  return { figures: figuresOf(history, state, violations), violations };
}

/** The count since PostgreSQL last recovered from a crash. */
async function deadlocks({ db }: World): Promise<Violation[]> {
  const [counted] = await db.query<{ deadlocks: number }>(
    sql`select deadlocks from pg_stat_database where datname = current_database()`,
  );
  const times = counted?.deadlocks ?? 0;
  return times === 0 ? [] : [{ check: "locks", what: "locks were taken in two orders", times }];
}

async function auditViolations(
  { databaseUrl }: World,
  options: AuditOptions,
): Promise<Violation[]> {
  const db = openDatabase({
    url: databaseUrl,
    log: silentLog,
    maxConnections: 1,
    statementTimeoutMs: 0,
  });
  try {
    const { violations } = await audit(db, options);
    return violations.map(({ invariant, rule, ...row }) => ({
      check: invariant,
      what: rule,
      ...row,
    }));
  } finally {
    await db.close();
  }
}

function figuresOf(
  history: History,
  state: State,
  violations: Violation[],
): StormResult["figures"] {
  const sends = history.of("send");
  const submits = Map.groupBy(
    history.of("submit"),
    ({ recipient, segment }) => `${recipient} ${segment}`,
  );
  const lost = violations.filter(({ what }) => what === "an accepted message is lost");
  const doubled = violations.filter(
    ({ what }) =>
      what === "a message exists more than once" ||
      what === "a segment was sent again without a recorded doubt",
  );
  return {
    requests: sends.length + history.of("read").length + history.of("cancel").length,
    sends: sends.length,
    outcomes: tally(sends.map(({ outcome, code }) => (code === null ? outcome : code))),
    messages: state.messages.length,
    statuses: tally(state.messages.map(({ status }) => status)),
    faults: tally(history.of("fault").map(({ name }) => name)),
    faultsInAll: history.of("fault").length,
    revocations: history.of("revocation").length,
    cancellations: history.of("cancel").filter(({ outcome }) => outcome === "ok").length,
    walks: history.of("walk").length,
    submits: history.of("submit").length,
    segmentsSentAgain: [...submits.values()].filter(({ length }) => length > 1).length,
    doubts: state.submissions.filter(({ inDoubt }) => inDoubt).length,
    receipts: new Set(history.of("receipt").map(({ carrierMessageId }) => carrierMessageId)).size,
    events: state.events.filter(({ body }) => body !== null).length,
    posts: history.of("post").length,
    webhookEndings: tally(state.attempts.map(({ ended }) => ended ?? "none")),
    lost: lost.length,
    doubled: doubled.length,
    violations: violations.length,
  };
}

function tally(names: string[]): Record<string, number> {
  const counts = Object.entries(Object.groupBy(names, (name) => name));
  return Object.fromEntries(counts.map(([name, all]) => [name, all?.length ?? 0]));
}
