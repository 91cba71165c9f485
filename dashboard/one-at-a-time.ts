type Work = () => Promise<void>;

/**
 * Lets one piece of work run at a time. Of what is asked for meanwhile only the last runs after it, and what
 * fails is left: for reads that stand for all that were asked for before them.
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
