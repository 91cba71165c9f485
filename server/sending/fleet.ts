import { type Carrier, notStarted } from "#carriers";
import {
  type Intake,
  loadRouting,
  type MessageRow,
  type MoveListener,
  type Routing,
  routingVersion,
} from "#messages";
import {
  type Clock,
  type Database,
  DAY_MS,
  type Log,
  type Loop,
  type Metrics,
  type SecretBox,
  type Tracer,
} from "#platform";
import { bindShares } from "./bind-shares.ts";
import { FRESH_MS, runCarrier } from "./carrier-run.ts";
import { watchCarriers } from "./carrier-metrics.ts";
import { buildCarrier } from "./build-carrier.ts";
import { carriersUpElsewhere, reportStates } from "./carrier-states.ts";
import { type CarrierRow, listCarriers } from "./carriers-table.ts";
import { renewDue } from "./due-send.ts";
import { fleetMembers, type Started } from "./fleet-members.ts";
import { forgetNodes, heartbeat, type NodeInfo, signOff } from "./nodes.ts";
import type { MatchRules } from "./match-receipts.ts";
import { giveUpParked, giveUpSurplus } from "./parked-receipts.ts";
import { findUnreported, RECALL_AFTER_MS } from "./recall-receipts.ts";
import { receiptSink } from "./receipt-sink.ts";
import { recorder } from "./recorder.ts";
import { rerouting } from "./reroute.ts";
import { endBegun, endOverdue, noteLost } from "./unattended.ts";

type Deps = {
  /** Connections that nobody else uses: waiting for one could cost this node its leases. */
  db: Database;
  /** A few connections reserved for recording. */
  recordDb: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  secrets: SecretBox;
  node: NodeInfo;
  /** Is told of status changes on this node. */
  listener: MoveListener;
  tracer?: Tracer | undefined;
};

const REFRESH_MS = 1_000;
const RENEW_MS = 7_000;
const REPORT_MS = 2_000;
const GIVEN_UP_PAGE = 5_000;

/** All carriers of this node. Follows changes in the tables without a restart. */
export function carrierFleet(deps: Deps) {
  const { db, clock, log, node } = deps;
  const { nodeId } = node;
  const fleet = fleetMembers({ log, start });
  const { members, broken, leaving, runOf, isPaused, pausedAt } = fleet;
  let routing: Routing | undefined;
  const shares = bindShares({ db, clock, node, members, leaving });

  const rules: MatchRules = (carrierId) => {
    const run = runOf(carrierId);
    if (!run) return { windowMs: 7 * DAY_MS, per: "segment" };
    return { ...run.carrier.receiptRules, inHand: run.inFlight };
  };
  const record = recorder({ ...deps, db: deps.recordDb, nodeId, rules });
  const receipts = receiptSink(record, clock);
  const unmatched = deps.metrics.counter(
    "receipts_unmatched_total",
    "Receipts given up because no submission ever matched them, or too many waited.",
  );
  // A fresh copy is not kept here: `refresh` must still notice that the carriers have changed too.
  const currentRouting = async (isAnew = false) =>
    isAnew ? loadRouting(db) : (routing ??= await loadRouting(db));
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  // Cut off for longer, it may not know of a pause that no longer waits for it.
  const isHeldBack = (carrierId: string) =>
    isPaused(carrierId) || clock.leaseMs() - lookedAtMs > FRESH_MS;
  const sending = {
    ...deps,
    nodeId,
    recorder: record,
    routing: currentRouting,
    isPaused: isHeldBack,
  };
  const unattended = {
    ...sending,
    signal: fleet.stopping,
    inDoubtOf: (carrierId: string) => runOf(carrierId)?.carrier.inDoubt ?? "resend",
  };

  async function refresh(): Promise<void> {
    const startedMs = clock.leaseMs();
    const isChanged = (await routingVersion(db)) !== routing?.version || fleet.hasLeft();
    if (isChanged) {
      const [loaded, rows] = [await loadRouting(db), await listCarriers(db)];
      routing = loaded;
      fleet.keepInStep(rows);
    }
    lookedAtMs = startedMs;
    if (isChanged || shares.isDue()) await shares.renew();
  }

  async function recallReceipts(): Promise<void> {
    for (const member of members.values()) {
      if (member.recalls === 0) continue;
      await member.recall();
      member.recalls -= 1;
    }
  }

  function start(row: CarrierRow): Started {
    const { carrier, binds } = buildCarrier(row, { ...deps, receipts });
    const run = runCarrier({ ...sending, carrier });
    const recall = async () => {
      if ("recall" in carrier)
        carrier.recall(await findUnreported(db, row.carrier_id, clock.now()));
    };
    return { run, binds, recall, recalls: 2 };
  }

  function noteGivenUp(receipts: number): number {
    unmatched.inc(receipts);
    return receipts < GIVEN_UP_PAGE ? 0 : receipts;
  }

  async function renew(): Promise<void> {
    const runs = [...members.values(), ...leaving.values()].map(({ run }) => run);
    const held = runs.flatMap(({ inFlight }) => [...inFlight]);
    await renewDue(db, { nodeId, clock }, held);
  }

  const isUp = (carrierId: string) => {
    const state = members.get(carrierId)?.run.carrier.state();
    return state?.takesMessages === true && !isPaused(carrierId);
  };

  /** What the dashboard, doctor and `carrier list` show. */
  async function report(): Promise<void> {
    const common = (carrierId: string, isIdle: boolean) => ({
      lastHour: record.lastHour(carrierId),
      heldAt: isIdle ? pausedAt(carrierId) : null,
    });
    const started = [...members].map(([carrierId, { run }]) => ({
      carrierId,
      state: { ...run.carrier.state(), ...common(carrierId, run.isIdle()) },
    }));
    const others = [...broken].map(([carrierId, { problem }]) => ({
      carrierId,
      state: { ...notStarted, problem, ...common(carrierId, true) },
    }));
    await reportStates(db, nodeId, [...started, ...others]);
  }

  const intakeOf = ({ carrier_id: carrierId }: MessageRow) => runOf(carrierId ?? "");
  const intake: Intake = {
    reserve: (message) => intakeOf(message)?.reserve(message) ?? false,
    take: (message) => intakeOf(message)?.take(message),
    release: (message) => intakeOf(message)?.release(message),
  };

  const untilStop = (loop: Loop): Loop => ({
    ...loop,
    pass: (signal) => (fleet.stopping.aborted ? Promise.resolve() : loop.pass(signal)),
  });
  const worksUntilStop: Loop[] = [
    { name: "keep carriers in step", idleMs: REFRESH_MS, pass: refresh },
    {
      name: "close binds whose leases end",
      idleMs: REFRESH_MS,
      pass: async () => shares.closeUnleased(),
    },
    {
      name: "reroute around carriers that are away",
      idleMs: REFRESH_MS,
      pass: rerouting(db, {
        isPaused,
        isUp,
        upElsewhere: () => carriersUpElsewhere(db, nodeId),
        routing: currentRouting,
        noteLost: (lost) => noteLost(unattended, lost),
        endBegun: (begun) => endBegun(unattended, begun),
        clock,
      }),
    },
    {
      name: "end what is past its validity",
      idleMs: REFRESH_MS,
      pass: () => endOverdue(unattended),
    },
    // In a loop of its own: after much traffic it may take longer than the statement timeout.
    { name: "recall receipts", idleMs: RECALL_AFTER_MS, pass: recallReceipts },
    { name: "apply parked receipts", idleMs: REFRESH_MS, pass: () => record.sweepParked() },
    { name: "report carriers", idleMs: REPORT_MS, pass: report },
    {
      name: "forget old nodes and receipts",
      idleMs: 60_000,
      async pass() {
        await forgetNodes(db);
        return noteGivenUp(await giveUpParked(db, carriers(), GIVEN_UP_PAGE));
      },
    },
    // In a loop of its own: if it must read a million from disk, it may hit the statement timeout.
    {
      name: "give up the oldest of too many receipts",
      idleMs: 60_000,
      pass: async () => noteGivenUp(await giveUpSurplus(db, GIVEN_UP_PAGE)),
    },
  ];
  const loops: Loop[] = [
    // Runs until the end: what is in flight during the stop still belongs to this node.
    { name: "renew leases", idleMs: RENEW_MS, pass: renew },
    ...worksUntilStop.map(untilStop),
  ];
  const carriers = (): Carrier[] => [...members.values()].map(({ run }) => run.carrier);
  watchCarriers(deps.metrics, () => [
    ...carriers(),
    ...[...broken.values()].map(({ name }) => ({ name, state: () => notStarted })),
  ]);

  return {
    intake,
    loops,
    async start(): Promise<void> {
      // Before it reads the tables: whoever changes them from here on knows of this node.
      await heartbeat(db, node);
      await refresh();
    },
    async stop(): Promise<void> {
      await fleet.stop();
      await record.stop();
      await signOff(db, nodeId).catch((error: unknown) =>
        log.warn({ error }, "this node could not sign off"),
      );
    },
  };
}
