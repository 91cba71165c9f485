/** The last part of bench/flow.ts: end-to-end throughput at full speed, ours and Kannel's. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { systemClock as clock } from "#platform";
import { isKannelInstalled, startKannel } from "./kannel.ts";
import type { Job } from "./load.ts";
import { usedBy } from "./processor-time.ts";
import type { Child, World } from "./world.ts";

type Deps = { world: World; smsc: Child; receiver: Child };
type Ours = {
  job: Job;
  message: { recipient: string; text: string };
  pids: () => Promise<number[]>;
  stop: () => Promise<void>;
};

/** Each message gets two: accepted by the SMSC, and delivered. */
const CALLBACKS = 2;
/** Relative to the throughput just measured: enough to keep Kannel busy without a large backlog. */
const HELD_BACK = 1.25;
const LOOK_MS = 50;
/** Callbacks missing for this long will not come. */
const STUCK_MS = 15_000;

export async function compareWithKannel(deps: Deps, ours: Ours): Promise<void> {
  if (!isKannelInstalled()) {
    console.log("Kannel is not installed, so it is not compared");
    return;
  }
  const { world, smsc, receiver } = deps;
  const { job, message } = ours;
  console.log(`\nas fast as it goes, ${job.seconds} s of load and then to the last callback:`);
  const first = await measure(deps, "posthorn", job, ours.pids);
  await ours.stop();
  const kannel = await startKannel(world, { store: "spool", smscPort: smsc.port });
  const reportUrl = `http://127.0.0.1:${receiver.port}/report?type=%d`;
  const path = kannel.sendPath({ ...message, reportUrl });
  const theirs = { ...job, port: kannel.port, path, keys: [], bodies: [] };
  const pids = () => Promise.resolve(kannel.pids);
  const cold = await measure(deps, "warm-up", { ...theirs, seconds: 2 }, pids);
  const free = await measure(deps, "kannel", theirs, pids);
  // Waiting reports slow down each search among them, so with less load Kannel may do better.
  const perSecond = HELD_BACK * Math.max(cold, free);
  const paced = await measure(deps, "kannel, held back", { ...theirs, perSecond }, pids);
  await kannel.stop();
  console.log(`  posthorn / the better of kannel ${(first / Math.max(free, paced)).toFixed(2)}`);
}

/** Messages per second end to end, counting the time until the last callback. */
async function measure(
  { world, receiver }: Deps,
  name: string,
  job: Job,
  pidsOf: () => Promise<number[]>,
): Promise<number> {
  const before = { callbacks: await received(receiver.child), used: await usedBy(await pidsOf()) };
  const began = performance.now();
  const result = await world.load(job);
  const accepted = result.statuses["202"] ?? 0;
  const { callbacks, at } = await allReceived(receiver, before.callbacks + accepted * CALLBACKS);
  const used = (await usedBy(await pidsOf())).all - before.used.all;
  const [seconds, messages] = [(at - began) / 1000, (callbacks - before.callbacks) / CALLBACKS];
  const perSecond = messages / seconds;
  console.log(
    `  ${name.padEnd(17)} ${perSecond.toFixed(0).padStart(6)} messages/s all the way; accepted ${result.perSecond.toFixed(0)}/s (${JSON.stringify(result.statuses)}), the last callback after ${seconds.toFixed(1)} s, ${callbacks - before.callbacks} callbacks; processor time ${((used * 1e6) / messages).toFixed(0)} µs a message`,
  );
  return perSecond;
}

/** How many callbacks arrived, and when the last one did. */
async function allReceived({ child }: Child, expected: number) {
  let [callbacks, at] = [await received(child), performance.now()];
  while (callbacks < expected && performance.now() - at < STUCK_MS) {
    await clock.sleep(LOOK_MS);
    const now = await received(child);
    if (now > callbacks) [callbacks, at] = [now, performance.now()];
  }
  return { callbacks, at };
}

export async function received(receiver: ChildProcess): Promise<number> {
  receiver.send("count");
  const [count] = (await once(receiver, "message")) as [number];
  return count;
}
