/**
 * `npm run storm -- --minutes N --seed S`: clients, carriers and receivers under random faults,
 * then a check of all that was seen. Exits with 1 if anything is lost, duplicated or wrong.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { FaultName } from "./nemesis.ts";
import { runStorm } from "./storm.ts";

const slow: readonly FaultName[] = ["service killed", "service stopped", "PostgreSQL killed"];
const quick: readonly FaultName[] = [
  "service frozen",
  "clock stepped",
  "database connections ended",
  "link cut",
  "link refused",
  "link delayed",
  "link half-open",
  "link loses answers",
  "SMSC answers strangely",
  "SMSC drops its links",
  "receiver answers strangely",
  "overload burst",
];

/** Slow faults are rarer, so that the storm has its nodes most of the time. */
const names: readonly FaultName[] = [
  "service frozen past its lease",
  ...Array.from({ length: 3 }, () => slow).flat(),
  ...Array.from({ length: 6 }, () => quick).flat(),
];

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    clients: { type: "string", default: "8" },
    /** Milliseconds: the longest pause between two faults. */
    calm: { type: "string", default: "1500" },
    history: { type: "string" },
  },
});
const seed = Number(values.seed);
const historyFile = values.history ?? join(tmpdir(), `posthorn-storm-${seed}.jsonl`);
process.stdout.write(
  `Storm of ${values.minutes} minutes by seed ${seed}; history in ${historyFile}\n`,
);
const { figures, violations } = await runStorm({
  seed,
  forMs: Number(values.minutes) * 60_000,
  names,
  clients: Number(values.clients),
  calmMs: Number(values.calm),
  historyFile,
});
process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
for (const violation of violations.slice(0, 50))
  process.stdout.write(`${JSON.stringify(violation)}\n`);
process.exitCode = violations.length === 0 ? 0 : 1;
