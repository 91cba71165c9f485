import { loadRouting } from "#messages";
import { createMetrics, type Database, openDatabase, silentLog, systemClock } from "#platform";
import { type Recorder, recorder } from "../../server/sending/recorder.ts";
import { unheard } from "./messages.ts";

type Surroundings = Partial<Pick<Parameters<typeof recorder>[0], "clock" | "log" | "rules">>;

/** The recorder of carriers' answers and receipts on one node. */
export function recorderOf(db: Database, nodeId: string, other: Surroundings = {}): Recorder {
  return recorder({
    db,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    nodeId,
    rules: () => ({ windowMs: 60_000, per: "segment" }),
    listener: unheard,
    ...other,
  });
}

/** Settles messages whose carrier takes nothing, on one node. */
export function unattendedOf(db: Database, nodeId: string, inDoubt: "resend" | "fail" = "resend") {
  return {
    db,
    clock: systemClock,
    log: silentLog,
    nodeId,
    signal: new AbortController().signal,
    recorder: recorderOf(db, nodeId),
    routing: () => loadRouting(db),
    isPaused: () => false,
    inDoubtOf: () => inDoubt,
  };
}

/** A database that cannot be reached. */
export function absentDatabase(): Database {
  return openDatabase({
    url: "postgres://nobody@127.0.0.1:1/none",
    log: silentLog,
    maxConnections: 1,
  });
}
