import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { severityOf } from "./unavailable.ts";

/** Background work. */
export type Loop = {
  name: string;
  /** The rest after a pass that found nothing, or that failed. */
  idleMs: number;
  /** Does what is due. Says how much it found, where there may be more: the next pass follows at once. */
  pass(signal: AbortSignal): Promise<number | void>;
};

export type RunningLoop = {
  /** Ends the rest, so that work known to be there is taken up at once. */
  wake(): void;
  /** Aborts the signal handed to the pass, and resolves when the pass in progress has ended. */
  stop(): Promise<void>;
};

/**
 * Runs passes one after the other: again at once after one that found work, after a rest otherwise.
 * A pass that throws is logged and followed by a rest; a loop never ends by itself.
 */
export function runLoop(loop: Loop, { clock, log }: { clock: Clock; log: Log }): RunningLoop {
  const stopping = new AbortController();
  let rest = new AbortController();
  let isWoken = false;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      isWoken = false;
      const found = await Promise.try(() => loop.pass(stopping.signal)).catch((error: unknown) => {
        if (!stopping.signal.aborted)
          log[severityOf(error)](
            { error, loop: loop.name },
            `${loop.name} failed; it goes on after a rest`,
          );
        // Also where it was woken on the way: the work that is there would fail again at once.
        isWoken = false;
      });
      if (found || isWoken || stopping.signal.aborted) continue;
      rest = new AbortController();
      await clock.sleep(loop.idleMs, rest.signal);
    }
  }

  const ended = run();
  return {
    wake() {
      isWoken = true;
      // A reason of our own: the default one is an error with a stack, made anew each time.
      rest.abort("woken");
    },
    stop() {
      stopping.abort();
      rest.abort();
      return ended;
    },
  };
}
