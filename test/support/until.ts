import { LIMIT_MS } from "./eventually.ts";

/** After these, whoever is waited for needs the processor more. */
const TURNS = 100;
const PAUSE_MS = 5;

/**
 * Resolves when the condition holds, looking again after every turn of the event loop, and after a
 * while less often: for states that no event announces. Fails by the name of what it waits for.
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

/** Lets whatever is on its way arrive, before a test says that nothing did. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
