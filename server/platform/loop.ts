import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import { severityOf } from "./unavailable.ts";

/** Background work. */
export type Loop = {
  name: string;
  /** How long to rest after a pass that found nothing or failed. */
  idleMs: number;
  /** Does what is due. Returns a count if there may be more: the next pass then follows at once. */
  pass(signal: AbortSignal): Promise<number | void>;
};

export type RunningLoop = {
  /** Ends the rest, so that known work is done at once. */
  wake(): void;
  /** Aborts the signal of the pass in progress, and resolves when that pass has ended. */
  stop(): Promise<void>;
};

/**
 * Runs passes one after the other: at once after one that found work, otherwise after a rest. If a
 * pass throws, the error is logged and a rest follows. A loop never ends by itself.
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
        // Also if it was woken meanwhile: that work would fail again at once.
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
      // A constant reason: the default one is an error, whose stack is made anew each time.
      rest.abort("woken");
    },
    stop() {
      stopping.abort();
      rest.abort();
      return ended;
    },
  };
}
