import { LIMIT_MS } from "./eventually.ts";

/** After so many turns, pauses, to leave the processor to what it waits for. */
const TURNS = 100;
const PAUSE_MS = 5;

/**
 * Resolves when the condition holds; checks after every turn of the event loop, later less often.
 * For states that no event announces. If it fails, the error names what it waited for.
 */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const startMs = performance.now();
  for (let turn = 0; !condition(); turn += 1) {
    if (performance.now() - startMs > LIMIT_MS) throw new Error(`waited in vain until ${what}`);
    await new Promise<void>((resolve) =>
      turn < TURNS ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS),
    );
  }
}

/** Lets everything on its way arrive, before a test asserts that nothing did. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
