import assert from "node:assert/strict";
import { test } from "node:test";
import { hostKey } from "#messages";
import {
  createMetrics,
  type Database,
  DatabaseUnavailable,
  localMoment,
  silentLog,
  sql,
  systemClock,
} from "#platform";
import { webhookWorld } from "../../test/support/webhook-world.ts";
import { claimDeliveries } from "./deliveries.ts";
import { attemptRecorder, type Recorded } from "./record-attempts.ts";

type Claim = Recorded["claim"];

const at = new Date();
const attempt: Recorded["attempt"] = {
  outcome: { kind: "answered", status: 500, retryAfter: null },
  status: 500,
  answer: null,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 1, totalMs: 1 },
  address: null,
};

const cases: [string, (claim: Claim) => Recorded, object][] = [
  [
    "put back",
    (claim) => ({ claim, at, attempt: null, next: "put_back", waitMs: 0 }),
    { attempts: 0, noted: 0, failures: 0 },
  ],
  [
    "tried again",
    (claim) => ({ claim, at, attempt, next: "again", step: 1, waitMs: 0 }),
    { attempts: 1, noted: 1, failures: 1 },
  ],
];
for (const [what, recorded, expected] of cases) {
  test(`a delivery that is ${what} counts once where the answer to the commit was lost`, async () => {
    await using world = await webhookWorld();
    const { db, accountId, secrets } = world;
    const url = "http://127.0.0.1:9/";
    await world.sent(1, { url });
    const lanes = [{ hostKey: hostKey(accountId, url), most: 5 }];
    const moment = localMoment(systemClock);
    const { deliveries } = await claimDeliveries(db, { lanes, kind: "first", moment, secrets });
    const recorder = attemptRecorder({
      db: losingOneAnswer(db),
      clock: systemClock,
      log: silentLog,
      metrics: createMetrics(),
      onFreed() {},
    });

    await recorder.record(recorded(deliveries[0] as Claim));

    const [row] = await db.query(sql`
      select w.attempts, (select count(*) from webhook_attempts) as noted,
             (select count(*)
                from stat_changes s
               cross join unnest(s.changes) c
               where c.now_is = 'webhook_failed') as failures
        from webhook_deliveries w`);
    assert.deepEqual(row, expected);
  });
}

function losingOneAnswer(db: Database): Database {
  let isFirst = true;
  return {
    ...db,
    async query(statement) {
      const rows = await db.query(statement);
      if (isFirst) {
        isFirst = false;
        throw new DatabaseUnavailable("Connection terminated unexpectedly");
      }
      return rows as never;
    },
  };
}
