/** The thread of `threadedPoster`: makes the attempts it is given and reports their results. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf, systemClock } from "#platform/light";
import type { EgressPolicy } from "./egress/policy.ts";
import { systemEgress } from "./egress/system-egress.ts";
import { poster } from "./post.ts";
import type { Order, Told } from "./threaded-poster.ts";

const egress = systemEgress(workerData as EgressPolicy, systemClock);
const posting = poster(egress);

parentPort?.on("message", (order: Order) => {
  if ("recalled" in order) egress.resolve.recall(order.recalled);
  else void attempt(order).then((told) => parentPort?.postMessage(told, []));
});

async function attempt({ n, body, ...post }: Extract<Order, { n: number }>): Promise<Told> {
  try {
    return { n, attempt: await posting.post({ ...post, body: Buffer.from(body.buffer) }) };
  } catch (error) {
    return { n, bug: messageOf(error) };
  }
}
