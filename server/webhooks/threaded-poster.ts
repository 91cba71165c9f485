import { Worker } from "node:worker_threads";
import { messageOf } from "#platform";
import type { EgressPolicy } from "./egress/policy.ts";
import { type Failure, STOPPING } from "./egress/failure.ts";
import { type Attempt, type Post, type Poster, unsent } from "./post.ts";

export type ThreadedPoster = Pick<Poster, "post" | "close"> & {
  /** Names that resolved before this process began. */
  recall(hostnames: string[]): void;
};

/** What the thread is asked to do: make an attempt, or remember names. */
export type Order =
  | (Omit<Post, "body"> & { n: number; body: Uint8Array<ArrayBuffer> })
  | { recalled: string[] };

/** What became of an attempt. */
export type Told = { n: number; attempt: Attempt } | { n: number; bug: string };

const THREAD = new URL("./post-thread.ts", import.meta.url);

/**
 * Makes attempts in a separate thread, started with the first one. A receiver chooses the
 * certificates that we verify: a chain of sixty with large numbers blocks its thread for two
 * seconds, and neither OpenSSL nor Node offers a limit. Requests and carriers never wait in this
 * thread.
 */
export function threadedPoster(policy: EgressPolicy, thread = THREAD): ThreadedPoster {
  const underWay = new Map<number, PromiseWithResolvers<Attempt>>();
  let recalled: string[] = [];
  let worker: Worker | null = null;
  let isClosed = false;
  let last = 0;

  function start(): Worker {
    const started = new Worker(thread, { workerData: policy });
    let detail = "the thread that posts has ended";
    started.on("message", onTold);
    // Without a listener an error would end the process. "exit" follows it.
    started.on("error", (error) => (detail += `: ${messageOf(error)}`));
    started.on("exit", () => {
      worker = null;
      endAll(isClosed ? STOPPING : { kind: "our_fault", detail });
    });
    started.postMessage({ recalled } satisfies Order, []);
    return started;
  }

  function onTold(told: Told): void {
    const waiting = underWay.get(told.n);
    underWay.delete(told.n);
    if ("bug" in told) waiting?.reject(new Error(told.bug));
    else waiting?.resolve(withBuffer(told.attempt));
  }

  function endAll(failure: Failure): void {
    for (const { resolve } of underWay.values()) resolve(unsent(failure));
    underWay.clear();
  }

  function post({ body, ...rest }: Post): Promise<Attempt> {
    if (isClosed) return Promise.resolve(unsent(STOPPING));
    worker ??= start();
    last += 1;
    const asked = Promise.withResolvers<Attempt>();
    underWay.set(last, asked);
    // Transfers a copy: the body is a view into a far larger buffer, all of which would be copied.
    const own = new Uint8Array(body);
    worker.postMessage({ ...rest, n: last, body: own } satisfies Order, [own.buffer]);
    return asked.promise;
  }

  return {
    post,
    recall(hostnames) {
      recalled = hostnames;
      worker?.postMessage({ recalled } satisfies Order, []);
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

/** Threads exchange plain byte arrays, not Buffers. */
function withBuffer(attempt: Attempt): Attempt {
  const { answer } = attempt;
  return answer === null
    ? attempt
    : { ...attempt, answer: { ...answer, body: Buffer.from(answer.body) } };
}
