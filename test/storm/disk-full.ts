/**
 * `TMPDIR=/mnt/small npm run disk-full`: PostgreSQL's disk runs full under load, stays full for a
 * while, and has room again. All files are below TMPDIR, which must be a small file system of its
 * own, such as `mount -t tmpfs -o size=1g none /mnt/small`. Exits with 1 if anything accepted is
 * lost, or the service does not recover by itself.
 */
import { open, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "#platform";
import { openHistory, type Send } from "./history.ts";
import { startLoad } from "./load.ts";
import { seededRandom } from "./random.ts";
import { drain, judge } from "./storm.ts";
import { startWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    /** Seconds of each of the three parts: before, full, after. */
    seconds: { type: "string", default: "15" },
  },
});
const [seed, partMs] = [Number(values.seed), Number(values.seconds) * 1_000];
const MOST_OCTETS = 4 * 1024 ** 3;
const BALLAST = join(tmpdir(), "posthorn-ballast");

await refuseLargeDisk();
const tell = (what: string) =>
  process.stdout.write(`${(performance.now() / 1000).toFixed(1)} s  ${what}\n`);
const history = openHistory();
await using world = await startWorld({ history });
const load = await startLoad({ world, random: seededRandom(seed), clients: 8, restMs: 20 });
tell("the load begins");
await systemClock.sleep(partMs);
const endFullMs = performance.now() + partMs;
const fullMs = performance.now();
tell("the disk is filled");
while (performance.now() < endFullMs) {
  await fill();
  await systemClock.sleep(200);
}
await rm(BALLAST, { force: true });
const roomyMs = performance.now();
tell("the disk has room again");
await systemClock.sleep(partMs);
await load.stop();
const drainMs = await drain(world);
await load.tellBalances();
const { figures, violations } = await judge(world);
const sends = history.of("send");
const count = (isIt: (send: Send) => boolean) => sends.filter(isIt).length;
const isFull = ({ t0 }: Send) => t0 > fullMs && t0 < roomyMs;
const firstAfter = Math.min(
  ...sends.filter(({ outcome, t0 }) => outcome === "ok" && t0 > roomyMs).map(({ t1 }) => t1),
);
const report = {
  acceptedWhileFull: count((send) => isFull(send) && send.outcome === "ok"),
  refusedWhileFull: count((send) => isFull(send) && send.code === "UNAVAILABLE"),
  unknownWhileFull: count((send) => isFull(send) && send.outcome === "unknown"),
  acceptedAfter: count(({ t0, outcome }) => t0 > roomyMs && outcome === "ok"),
  msUntilAcceptedAgain: firstAfter - roomyMs,
  drainMs,
  ...figures,
};
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
for (const violation of violations.slice(0, 50))
  process.stdout.write(`${JSON.stringify(violation)}\n`);
process.exitCode = violations.length === 0 && report.acceptedAfter > 0 ? 0 : 1;

/** Nobody's real disk must be filled by mistake. */
async function refuseLargeDisk(): Promise<void> {
  const { blocks, bsize } = await statfs(tmpdir());
  if (blocks * bsize <= MOST_OCTETS) return;
  throw new Error(`TMPDIR is ${tmpdir()}, which is larger than 4 GiB: name a small file system.`);
}

/** Fills the disk; also takes what others free meanwhile. */
async function fill(): Promise<void> {
  const file = await open(BALLAST, "a");
  try {
    for (const size of [1024 * 1024, 4096])
      for (;;) {
        const { bytesWritten } = await file.write(Buffer.alloc(size, 1));
        if (bytesWritten < size) break;
      }
  } catch {
    // No space is left, as intended.
  } finally {
    await file.close();
  }
}
