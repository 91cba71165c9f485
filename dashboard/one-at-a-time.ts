type Work = () => Promise<void>;

/**
 * Runs one piece of work at a time. Of those requested meanwhile, only the last runs next. Failures
 * are ignored: this is for reads, where the last one covers all requested before it.
 */
export function oneAtATime(): (work: Work) => void {
  let isRunning = false;
  let next: Work | undefined;
  async function run(first: Work): Promise<void> {
    isRunning = true;
    for (let work: Work | undefined = first; work; work = next) {
      next = undefined;
      await work().catch(() => undefined);
    }
    isRunning = false;
  }
  return (work) => {
    if (isRunning) next = work;
    else void run(work);
  };
}
