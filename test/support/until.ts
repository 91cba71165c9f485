/** Longer than anything a test waits for on a busy machine. */
const LIMIT_MS = 20_000;

/**
 * Resolves when the condition holds, looking again after every turn of the event loop: for states
 * that no event announces. Fails by the name of what it waits for.
 */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const startMs = performance.now();
  while (!condition()) {
    if (performance.now() - startMs > LIMIT_MS) throw new Error(`waited in vain until ${what}`);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Lets whatever is on its way arrive, before a test says that nothing did. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
