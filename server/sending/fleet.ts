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
import type { Binds } from "./bind-leases.ts";
import { bindShares } from "./bind-shares.ts";
import { type CarrierRun, runCarrier } from "./carrier-run.ts";
import { watchCarriers } from "./carrier-metrics.ts";
import { buildCarrier } from "./build-carrier.ts";
import { carriersUpElsewhere, reportStates } from "./carrier-states.ts";
import { type CarrierRow, listCarriers } from "./carriers-table.ts";
import { renewDue } from "./due-send.ts";
import { forgetNodes, type NodeInfo, signOff } from "./nodes.ts";
import type { MatchRules } from "./match-receipts.ts";
import { giveUpParked } from "./parked-receipts.ts";
import { findUnreported, RECALL_AFTER_MS } from "./recall-receipts.ts";
import { receiptSink } from "./receipt-sink.ts";
import { recorder } from "./recorder.ts";
import { rerouting } from "./reroute.ts";
import { endBegun, endOverdue, noteLost } from "./unattended.ts";

type Deps = {
  /** Connections that nobody else uses: whoever waits for one may lose what it holds. */
  db: Database;
  /** A few connections for recording alone. */
  recordDb: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  secrets: SecretBox;
  node: NodeInfo;
  /** Who hears of status changes on this node. */
  listener: MoveListener;
  tracer?: Tracer | undefined;
};

type Member = {
  row: CarrierRow;
  run: CarrierRun;
  binds: Binds | undefined;
  /** Looks for receipts that an earlier process owed; so many more times. */
  recall: () => Promise<void>;
  recalls: number;
};

const REFRESH_MS = 1_000;
const RENEW_MS = 7_000;
const REPORT_MS = 2_000;
const GIVEN_UP_PAGE = 1_000;

/** All carriers at work on this node, kept in step with the tables without a restart. */
export function carrierFleet(deps: Deps) {
  const { db, clock, log, node } = deps;
  const { nodeId } = node;
  const members = new Map<string, Member>();
  /** Those that cannot be started, and why. */
  const broken = new Map<string, { name: string; problem: string }>();
  /** Those that the operator has paused, also where they are leaving or cannot be started. */
  let paused = new Set<string>();
  /** Those that no longer take anything, until what they had is answered. */
  const leaving = new Map<string, { run: CarrierRun; left: Promise<void> }>();
  /** Whether one has left whose place another, with new settings, may take. */
  let hasLeft = false;
  /** From then on nothing is begun; leases are renewed to the end. */
  let isStopping = false;
  let routing: Routing | undefined;
  const shares = bindShares({ db, clock, node, members, leaving });

  /** Also of one that is leaving: it gives back at once what it had reserved. */
  const runOf = (carrierId: string) => (members.get(carrierId) ?? leaving.get(carrierId))?.run;
  const rules: MatchRules = (carrierId) =>
    runOf(carrierId)?.carrier.receiptRules ?? { windowMs: 7 * DAY_MS, per: "segment" };
  const record = recorder({ ...deps, db: deps.recordDb, nodeId, rules });
  const receipts = receiptSink(record, clock);
  const unmatched = deps.metrics.counter(
    "receipts_unmatched_total",
    "Receipts given up because no submission ever matched them.",
  );
  // What is read anew is not kept: `refresh` must see that the carriers have changed too.
  const currentRouting = async (isAnew = false) =>
    isAnew ? loadRouting(db) : (routing ??= await loadRouting(db));
  const isPaused = (carrierId: string) => paused.has(carrierId);
  const sending = { ...deps, nodeId, recorder: record, routing: currentRouting, isPaused };
  const unattended = {
    ...sending,
    inDoubtOf: (carrierId: string) => runOf(carrierId)?.carrier.inDoubt ?? "resend",
  };

  async function refresh(): Promise<void> {
    const isChanged = (await routingVersion(db)) !== routing?.version || hasLeft;
    if (isChanged) {
      const [loaded, rows] = [await loadRouting(db), await listCarriers(db)];
      hasLeft = false;
      routing = loaded;
      keepInStep(rows);
    }
    if (isChanged || shares.isDue()) await shares.renew();
  }

  async function recallReceipts(): Promise<void> {
    for (const member of members.values()) {
      if (member.recalls === 0) continue;
      await member.recall();
      member.recalls -= 1;
    }
  }

  function keepInStep(rows: CarrierRow[]): void {
    const wanted = new Map(rows.map((row) => [row.carrier_id, row]));
    paused = new Set(rows.filter((row) => row.paused).map(({ carrier_id }) => carrier_id));
    const outdated = [...members.values()].filter(({ row }) =>
      isOutdated(row, wanted.get(row.carrier_id)),
    );
    outdated.forEach(leave);
    broken.clear();
    // With new settings it starts once the old one has left: a carrier counts its binds.
    for (const row of rows.filter(({ carrier_id }) => !leaving.has(carrier_id))) {
      const member = members.get(row.carrier_id);
      if (!member) join(row);
      else {
        member.row = row;
        member.run.setPaused(row.paused);
      }
    }
  }

  /** Takes up to half a minute, and nobody waits for it: this node must be heard meanwhile. */
  function leave({ row, run }: Member): void {
    members.delete(row.carrier_id);
    const left = run
      .stop()
      .catch((error: unknown) =>
        log.error({ error, carrier: row.name }, `carrier ${row.name} did not stop`),
      )
      .finally(() => {
        leaving.delete(row.carrier_id);
        hasLeft = true;
      });
    leaving.set(row.carrier_id, { run, left });
  }

  /** One carrier with wrong settings must not harm the others. */
  function join(row: CarrierRow): void {
    if (isStopping) return;
    try {
      const { carrier, binds } = buildCarrier(row, { ...deps, receipts });
      const run = runCarrier({ ...sending, carrier });
      run.setPaused(row.paused);
      const recall = async () => {
        if ("recall" in carrier)
          carrier.recall(await findUnreported(db, row.carrier_id, clock.now()));
      };
      members.set(row.carrier_id, { row, run, binds, recall, recalls: 2 });
      carrier.start();
      log.info({ carrier: row.name }, `carrier ${row.name} started`);
    } catch (error) {
      log.error({ error, carrier: row.name }, `carrier ${row.name} cannot be started`);
      const problem = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
      broken.set(row.carrier_id, { name: row.name, problem });
    }
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
    const started = carriers().map((carrier) => ({
      carrierId: carrier.carrierId,
      state: { ...carrier.state(), lastHour: record.lastHour(carrier.carrierId) },
    }));
    const others = [...broken].map(([carrierId, { problem }]) => ({
      carrierId,
      state: { ...notStarted, problem, lastHour: record.lastHour(carrierId) },
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
    pass: (signal) => (isStopping ? Promise.resolve() : loop.pass(signal)),
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
    // Apart from the carriers themselves: after much traffic it may take longer than a statement has.
    { name: "recall receipts", idleMs: RECALL_AFTER_MS, pass: recallReceipts },
    { name: "apply parked receipts", idleMs: REFRESH_MS, pass: () => record.sweepParked() },
    { name: "report carriers", idleMs: REPORT_MS, pass: report },
    {
      name: "forget old nodes and receipts",
      idleMs: 60_000,
      async pass() {
        await forgetNodes(db);
        const givenUp = await giveUpParked(db, carriers(), GIVEN_UP_PAGE);
        unmatched.inc(givenUp);
        return givenUp < GIVEN_UP_PAGE ? 0 : givenUp;
      },
    },
  ];
  const loops: Loop[] = [
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
    start: refresh,
    async stop(): Promise<void> {
      isStopping = true;
      await Promise.all([...members.values()].map(({ run }) => run.stop()));
      await Promise.all([...leaving.values()].map(({ left }) => left));
      await record.stop();
      await signOff(db, nodeId).catch((error: unknown) =>
        log.warn({ error }, "this node could not sign off"),
      );
    },
  };
}

function isOutdated(row: CarrierRow, wanted: CarrierRow | undefined): boolean {
  if (!wanted) return true;
  const told = (of: CarrierRow) => JSON.stringify([of.settings, of.password?.toString("hex")]);
  return told(row) !== told(wanted);
}
