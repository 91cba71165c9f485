import { createMetrics, type Database, silentLog, systemClock } from "#platform";
import { type Recorder, recorder } from "../../server/sending/recorder.ts";

/** What writes down the answers and receipts of carriers on one node. */
export function recorderOf(db: Database, nodeId: string): Recorder {
  return recorder({
    db,
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    nodeId,
    rules: () => ({ windowMs: 60_000, per: "segment" }),
  });
}
