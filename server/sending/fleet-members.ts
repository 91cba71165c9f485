import { type Log, messageOf } from "#platform";
import type { Binds } from "./bind-leases.ts";
import type { CarrierRun } from "./carrier-run.ts";
import type { CarrierRow } from "./carriers-table.ts";

/** A carrier at work on this node. */
type Member = Started & { row: CarrierRow };

export type Started = {
  run: CarrierRun;
  binds: Binds | undefined;
  /** Finds receipts that an earlier process still owed; `recalls` is how many runs are left. */
  recall: () => Promise<void>;
  recalls: number;
};

type Deps = {
  log: Log;
  /** Throws if the row's settings are wrong. */
  start: (row: CarrierRow) => Started;
};

/** Keeps the carriers of this node: starts and stops them as their rows say. */
export function fleetMembers({ log, start }: Deps) {
  const members = new Map<string, Member>();
  /** Carriers that cannot be started, and why. */
  const broken = new Map<string, { name: string; problem: string }>();
  /** Carriers that take nothing more and wait for the answers to what they have. */
  const leaving = new Map<string, { run: CarrierRun; left: Promise<void> }>();
  /** The paused carriers, and the version of their rows. */
  let paused = new Map<string, number>();
  let hasLeft = false;
  const stopping = new AbortController();

  function keepInStep(rows: CarrierRow[]): void {
    hasLeft = false;
    const wanted = new Map(rows.map((row) => [row.carrier_id, row]));
    paused = new Map(
      rows.filter((row) => row.paused).map(({ carrier_id, version }) => [carrier_id, version]),
    );
    const outdated = [...members.values()].filter(({ row }) =>
      isOutdated(row, wanted.get(row.carrier_id)),
    );
    outdated.forEach(leave);
    broken.clear();
    // With new settings it starts once the old one has stopped: a carrier counts its binds.
    for (const row of rows.filter(({ carrier_id }) => !leaving.has(carrier_id))) {
      const member = members.get(row.carrier_id);
      if (!member) join(row);
      else {
        if (member.row.paused && !row.paused) member.run.resume();
        member.row = row;
      }
    }
  }

  /** Takes up to half a minute and is not awaited: this node must keep sending its heartbeat. */
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
    if (stopping.signal.aborted) return;
    try {
      const started = start(row);
      members.set(row.carrier_id, { row, ...started });
      started.run.carrier.start();
      log.info({ carrier: row.name }, `carrier ${row.name} started`);
    } catch (error) {
      log.error({ error, carrier: row.name }, `carrier ${row.name} cannot be started`);
      broken.set(row.carrier_id, { name: row.name, problem: messageOf(error).replace(/\.$/, "") });
    }
  }

  return {
    members: members as ReadonlyMap<string, Member>,
    broken: broken as ReadonlyMap<string, { name: string; problem: string }>,
    leaving: leaving as ReadonlyMap<string, { run: CarrierRun }>,
    keepInStep,
    /** Whether a carrier has stopped since the last `keepInStep`: its replacement may now start. */
    hasLeft: () => hasLeft,
    /** Also finds a carrier that is leaving: it gives back at once what was reserved. */
    runOf: (carrierId: string) => (members.get(carrierId) ?? leaving.get(carrierId))?.run,
    /** Whether the operator paused it, even if it is leaving or cannot be started. */
    isPaused: (carrierId: string) => paused.has(carrierId),
    /** The version of its row as of which it is known to be paused. */
    pausedAt: (carrierId: string) => paused.get(carrierId) ?? null,
    /** Aborted by `stop`; nothing is started after that. */
    stopping: stopping.signal,
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([...members.values()].map(({ run }) => run.stop()));
      await Promise.all([...leaving.values()].map(({ left }) => left));
    },
  };
}

function isOutdated(row: CarrierRow, wanted: CarrierRow | undefined): boolean {
  if (!wanted) return true;
  const told = (of: CarrierRow) => JSON.stringify([of.settings, of.password?.toString("hex")]);
  return told(row) !== told(wanted);
}
