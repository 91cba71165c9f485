/**
 * `npm run failover`: a primary and its synchronous standby, two nodes that know both, clients and
 * carriers. The primary is killed under load and the standby promoted. Exits with 1 if anything
 * accepted is lost, or a node had to be restarted.
 */
import { parseArgs } from "node:util";
import { systemClock } from "#platform";
import { type History, openHistory, type Send } from "./history.ts";
import { startLoad } from "./load.ts";
import { startPair } from "./pair.ts";
import { seededRandom } from "./random.ts";
import { drain, judge } from "./storm.ts";
import { startWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seconds: { type: "string", default: "6" },
    /** Milliseconds until the primary's death is noticed, as by whoever watches both. */
    notice: { type: "string", default: "1000" },
    /** Milliseconds before the primary's death during which the standby receives nothing. */
    "cut-standby": { type: "string", default: "0" },
  },
});
const [seed, forMs] = [Number(values.seed), Number(values.seconds) * 1_000];

const tell = (what: string) =>
  process.stdout.write(`${(performance.now() / 1000).toFixed(1)} s  ${what}\n`);
const history = openHistory();
await using pair = await startPair();
await using world = await startWorld({ history, postgres: pair });
const load = await startLoad({ world, random: seededRandom(seed), clients: 8, restMs: 20 });
tell("the load begins");
await systemClock.sleep(forMs);
if (values["cut-standby"] !== "0") {
  pair.cutStandby();
  await systemClock.sleep(Number(values["cut-standby"]));
}
const killedMs = performance.now();
tell("the primary is killed");
pair.killPrimary();
await systemClock.sleep(Number(values.notice));
await pair.promote();
const promotedMs = performance.now();
await systemClock.sleep(forMs);
await load.stop();
tell("the load has ended");
const drainMs = await drain(world);
await load.tellBalances();
const { figures, violations } = await judge(world);

const restarts = world.nodes.reduce((sum, node) => sum + node.starts() - 1, 0);
process.stdout.write(
  `${JSON.stringify(
    {
      seed,
      acceptedBefore: accepted(history, (send) => send.t1 < killedMs).length,
      acceptedAfter: accepted(history, (send) => send.t1 > promotedMs).length,
      promotionMs: promotedMs - killedMs,
      msWithoutAcceptance: firstAfter(history) - killedMs,
      drainMs,
      restarts,
      ...figures,
    },
    undefined,
    2,
  )}\n`,
);
for (const violation of violations.slice(0, 50))
  process.stdout.write(`${JSON.stringify(violation)}\n`);
process.exitCode = violations.length === 0 && restarts === 0 ? 0 : 1;

function accepted(from: History, isWanted: (send: Send) => boolean): Send[] {
  return from.of("send").filter((send) => send.outcome === "ok" && isWanted(send));
}

/** When the first 202 came for a request that was begun after the primary's death. */
function firstAfter(from: History): number {
  return Math.min(...accepted(from, ({ t0 }) => t0 > killedMs).map(({ t1 }) => t1));
}
