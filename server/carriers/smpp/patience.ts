/** Turns of the event loop in which what was already received is read before anything is judged. */
const TURNS = { atLeast: 2, atMost: 32 };

/**
 * A busy process finds a timer due before it has read the answer that lies in its own buffer. So
 * every judgement on the peer waits until a turn of the event loop brings nothing more to read.
 */
export class Patience {
  #reads = 0;
  #isOver = false;

  /** Something was read. */
  heard(): void {
    this.#reads += 1;
  }

  /** Nothing is judged any more. */
  end(): void {
    this.#isOver = true;
  }

  thenJudge(judge: () => void, turn = 1, readsSeen = -1): void {
    setImmediate(() => {
      if (this.#isOver) return;
      const isQuiet = readsSeen === this.#reads && turn >= TURNS.atLeast;
      if (isQuiet || turn >= TURNS.atMost) judge();
      else this.thenJudge(judge, turn + 1, this.#reads);
    });
  }
}
