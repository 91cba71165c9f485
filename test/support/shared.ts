/** One instance per process: the first user starts it, and the last to release it ends it. */
export function shared<Thing extends AsyncDisposable>(
  start: () => Promise<Thing>,
): () => Promise<Thing> {
  let running: Promise<Thing> | undefined;
  let users = 0;
  return async () => {
    users += 1;
    running ??= start();
    const thing = await running;
    return {
      ...thing,
      async [Symbol.asyncDispose]() {
        users -= 1;
        if (users > 0) return;
        running = undefined;
        await thing[Symbol.asyncDispose]();
      },
    };
  };
}
