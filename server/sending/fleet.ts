import {
  type Carrier,
  readSmppSettings,
  simulatorCarrier,
  smppCarrier,
  type SmppCarrier,
} from "#carriers";
import {
  carriersWaitedFor,
  findMessagesOf,
  findStranded,
  type Intake,
  loadRouting,
  type Outbox,
  reassign,
  renewLeases,
  type Routing,
} from "#messages";
import {
  type Clock,
  type Database,
  idFloor,
  type Log,
  type Loop,
  type Metrics,
  Secret,
  type SecretBox,
  sql,
  type Tracer,
} from "#platform";
import { type CarrierRun, LEASE_MS, runCarrier } from "./carrier-run.ts";
import { watchCarriers } from "./carrier-metrics.ts";
import { openPassword, openSettings } from "./carrier-secrets.ts";
import type { ReportedState } from "./carrier-states.ts";
import { type CarrierRow, listCarriers } from "./carriers-table.ts";
import { forgetNodes, heartbeat, leaseBinds, type NodeInfo, signOff } from "./nodes.ts";
import type { MatchRules } from "./receipts.ts";
import { type Recorder, recorder } from "./recorder.ts";

type Deps = {
  db: Database;
  /** A few connections for recording alone. */
  recordDb: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  secrets: SecretBox;
  node: NodeInfo;
  /** Who hears of status changes on this node. */
  outbox?: Outbox | undefined;
  tracer?: Tracer | undefined;
};

type Member = {
  row: CarrierRow;
  run: CarrierRun;
  setShare: ((binds: number) => void) | undefined;
  binds: number;
};

const REFRESH_MS = 1_000;
const HEARTBEAT_MS = 5_000;
const RENEW_MS = 10_000;
const REPORT_MS = 2_000;
const DAY_MS = 86_400_000;
/** A carrier may be away this long before what waits for it goes to the next of its route. */
const STRANDED_MS = 5_000;
const REROUTE_PAGE = 500;

/** All carriers at work on this node, kept in step with the tables without a restart. */
export function carrierFleet(deps: Deps) {
  const { db, clock, log, node } = deps;
  const { nodeId } = node;
  const members = new Map<string, Member>();
  let routing: Routing | undefined;
  let nodes: string[] = [nodeId];
  let heardAtMs = Number.NEGATIVE_INFINITY;

  const rules: MatchRules = (carrierId) => {
    const carrier = members.get(carrierId)?.run.carrier;
    if (!carrier) return { windowMs: 7 * DAY_MS, per: "segment" };
    const { per, windowMs } = carrier.receiptRules;
    return { windowMs, per: carrier.wholeMessages ? "message" : per };
  };
  const record = recorder({
    outbox: deps.outbox,
    tracer: deps.tracer,
    db: deps.recordDb,
    clock,
    log,
    metrics: deps.metrics,
    nodeId,
    rules,
  });
  const receipts = async (arrived: Parameters<typeof record.receipt>[0]["receipt"][]) => {
    const at = clock.now();
    await Promise.all(arrived.map((receipt) => record.receipt({ receipt, at })));
  };
  const unmatched = deps.metrics.counter(
    "receipts_unmatched_total",
    "Receipts given up because no submission ever matched them.",
  );
  const currentRouting = async () => (routing ??= await loadRouting(db));

  async function refresh(): Promise<number> {
    const [current] = await db.query<{ version: number }>(sql`select version from routing_version`);
    const isChanged = current?.version !== routing?.version;
    if (isChanged) {
      routing = await loadRouting(db);
      await keepInStep(await listCarriers(db));
    }
    if (isChanged || clock.monotonicMs() - heardAtMs >= HEARTBEAT_MS) {
      nodes = await heartbeat(db, node);
      heardAtMs = clock.monotonicMs();
      await shareBinds();
    }
    return 0;
  }

  async function keepInStep(rows: CarrierRow[]): Promise<void> {
    const wanted = new Map(rows.map((row) => [row.carrier_id, row]));
    const outdated = [...members.values()].filter(({ row }) =>
      isOutdated(row, wanted.get(row.carrier_id)),
    );
    await Promise.all(
      outdated.map(async ({ row, run }) => {
        members.delete(row.carrier_id);
        await run.stop();
      }),
    );
    for (const row of rows) {
      const member = members.get(row.carrier_id);
      if (!member) await join(row);
      else {
        member.row = row;
        member.run.setPaused(row.paused);
      }
    }
  }

  /** One carrier with wrong settings must not harm the others. */
  async function join(row: CarrierRow): Promise<void> {
    try {
      const { carrier, setShare, binds } = buildCarrier(row, deps, receipts);
      const run = runCarrier({
        db,
        carrier,
        recorder: record,
        routing: currentRouting,
        nodeId,
        clock,
        log,
        tracer: deps.tracer,
      });
      run.setPaused(row.paused);
      members.set(row.carrier_id, { row, run, setShare, binds });
      carrier.start();
      if ("recall" in carrier)
        carrier.recall(await findUnreported(db, row.carrier_id, clock.now()));
      log.info({ carrier: row.name }, `carrier ${row.name} started`);
    } catch (error) {
      log.error({ error, carrier: row.name }, `carrier ${row.name} cannot be started`);
    }
  }

  async function shareBinds(): Promise<void> {
    for (const { row, setShare, binds } of members.values()) {
      if (setShare)
        setShare(await leaseBinds(db, { carrierId: row.carrier_id, nodeId, nodes, binds }));
    }
  }

  async function renew(): Promise<number> {
    const startedMs = clock.monotonicMs();
    const held = [...members.values()].flatMap(({ run }) => [...run.inFlight]);
    if (held.length === 0) return 0;
    const renewed = await renewLeases(db, {
      nodeId,
      messageIds: held.map(({ message }) => message.message_id),
      leaseMs: LEASE_MS,
    });
    for (const due of held) {
      if (renewed.get(due.message.message_id) === due.epoch) due.leasedAtMs = startedMs;
    }
    return 0;
  }

  /** What waits for a carrier that is away goes to the next of its route that is not. */
  async function reroute(): Promise<number> {
    const isUp = (carrierId: string) => {
      const member = members.get(carrierId);
      return (
        member !== undefined && !member.row.paused && member.run.carrier.state().state !== "down"
      );
    };
    const waited = await carriersWaitedFor(db);
    const away = waited.filter(
      (carrierId) => !members.get(carrierId)?.row.paused && !isUp(carrierId),
    );
    for (const from of away) await rerouteFrom(from, isUp);
    return 0;
  }

  async function rerouteFrom(from: string, isUp: (carrierId: string) => boolean): Promise<void> {
    const stranded = await findStranded(db, {
      carrierId: from,
      afterMs: STRANDED_MS,
      limit: REROUTE_PAGE,
    });
    const { carriersFor } = await currentRouting();
    const messages = await findMessagesOf(db, stranded);
    const begun = await findBegun(
      db,
      stranded.filter(({ attempt }) => attempt > 0).map(({ message_id }) => message_id),
    );
    const moves = stranded.flatMap(({ message_id: messageId }) => {
      const route = carriersFor(messages.get(messageId)?.recipient ?? "") ?? [];
      const to = route.find((carrierId) => carrierId !== from && isUp(carrierId));
      return to === undefined || begun.has(messageId) ? [] : [{ messageId, from, to }];
    });
    if (moves.length > 0) await reassign(db, moves);
  }

  const intake: Intake = {
    reserve: (message) => members.get(message.carrier_id ?? "")?.run.reserve(message) ?? false,
    take: (message) => members.get(message.carrier_id ?? "")?.run.take(message),
    release: (message) => members.get(message.carrier_id ?? "")?.run.release(message),
  };

  const loops: Loop[] = [
    { name: "keep carriers in step", idleMs: REFRESH_MS, pass: refresh },
    { name: "renew leases", idleMs: RENEW_MS, pass: renew },
    { name: "reroute around carriers that are away", idleMs: REFRESH_MS, pass: reroute },
    { name: "apply parked receipts", idleMs: REFRESH_MS, pass: () => record.sweepParked() },
    {
      name: "report carriers",
      idleMs: REPORT_MS,
      pass: () => report(db, { nodeId, members: [...members.values()], record }),
    },
    {
      name: "forget old nodes and receipts",
      idleMs: 60_000,
      async pass() {
        unmatched.inc(await forget(db));
        return 0;
      },
    },
  ];
  const carriers = (): Carrier[] => [...members.values()].map(({ run }) => run.carrier);
  watchCarriers(deps.metrics, carriers);

  return {
    intake,
    loops,
    recorder: record,
    start: refresh,
    carriers,
    async stop(): Promise<void> {
      await Promise.all([...members.values()].map(({ run }) => run.stop()));
      await record.stop();
      await signOff(db, nodeId).catch((error: unknown) =>
        log.warn({ error }, "this node could not sign off"),
      );
    },
  };
}

function isOutdated(row: CarrierRow, wanted: CarrierRow | undefined): boolean {
  if (!wanted) return true;
  const same = (a: CarrierRow) => JSON.stringify([a.settings, a.password?.toString("hex")]);
  return same(row) !== same(wanted);
}

function buildCarrier(
  row: CarrierRow,
  deps: Deps,
  receipts: Parameters<typeof simulatorCarrier>[0]["receipts"],
) {
  const { clock, log, secrets } = deps;
  const { carrier_id: carrierId, name } = row;
  if (row.kind === "simulator") {
    return {
      carrier: simulatorCarrier({ carrierId, name, clock, log, receipts }),
      setShare: undefined,
      binds: 0,
    };
  }
  const read = readSmppSettings(openSettings(row, secrets));
  if (read.outcome === "wrong") {
    throw new Error(
      `Its settings are wrong: ${read.faults.map(({ setting, message }) => `${setting} ${message}`).join("; ")}.`,
    );
  }
  const { settings } = read;
  const password = new Secret(openPassword(row, secrets));
  const carrier: SmppCarrier = smppCarrier({
    carrierId,
    name,
    settings,
    password,
    clock,
    log,
    receipts,
    share: { binds: 0, rate: 0 },
  });
  const setShare = (held: number) =>
    carrier.setShare({
      binds: held,
      rate: settings.rate === 0 ? 0 : (settings.rate * held) / settings.binds,
    });
  return { carrier, setShare, binds: settings.binds };
}

/** The simulator's own memory of receipts dies with its process; a real SMSC's would not. */
const RECALL_MS = 3_600_000;
/** Later than the slowest ending of the simulator, which another node may still be telling. */
const RECALL_AFTER_MS = 15_000;

type Unreported = { message_id: string; account_id: string; carrier_message_id: string };

/** What the simulator accepted lately and never reported on. */
async function findUnreported(db: Database, carrierId: string, now: Date) {
  const rows = await db.query<Unreported>(sql`
    select message_id, account_id, carrier_message_id
      from submissions
     where message_id >= ${idFloor(new Date(now.getTime() - RECALL_MS))}
       and carrier_id = ${carrierId}
       and outcome = 'accepted'
       and receipt_effect is null
       and at < ${new Date(now.getTime() - RECALL_AFTER_MS)}
     limit 10000`);
  const messages = await findMessagesOf(db, rows);
  return rows.flatMap(({ message_id, carrier_message_id: carrierMessageId }) => {
    const recipient = messages.get(message_id)?.recipient;
    return recipient === undefined ? [] : [{ carrierMessageId, recipient }];
  });
}

/** Messages of which a carrier has a segment: they stay with it. */
async function findBegun(db: Database, messageIds: string[]): Promise<Set<string>> {
  if (messageIds.length === 0) return new Set();
  const rows = await db.query<{ message_id: string }>(sql`
    select distinct message_id
      from submissions
     where message_id = any (${messageIds}::uuid[]) and (outcome = 'accepted' or in_doubt_at is not null)`);
  return new Set(rows.map(({ message_id }) => message_id));
}

async function report(
  db: Database,
  { nodeId, members, record }: { nodeId: string; members: Member[]; record: Recorder },
): Promise<number> {
  const states = members.map(({ row, run: { carrier } }) => {
    const state: ReportedState = { ...carrier.state(), lastHour: record.lastHour(row.carrier_id) };
    return JSON.stringify(state);
  });
  await db.query(sql`
    insert into carrier_states as c (carrier_id, node_id, state, at)
    select carrier_id, ${nodeId}, state, clock_timestamp()
      from unnest(${members.map(({ row }) => row.carrier_id)}::uuid[], ${states}::jsonb[]) as u (carrier_id, state)
        on conflict (carrier_id, node_id) do update set state = excluded.state, at = excluded.at`);
  return 0;
}

/** Answers how many receipts were given up. */
async function forget(db: Database): Promise<number> {
  await forgetNodes(db);
  const [given] = await db.query<{ up: number }>(sql`
    with gone as (
      delete from parked_receipts where at < clock_timestamp() - interval '7 days' returning parked_id
    )
    select count(*) as up from gone`);
  return given?.up ?? 0;
}
