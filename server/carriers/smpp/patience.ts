/**
 * Turns of the event loop for reading what was already received before anything is judged. With 64
 * KiB read in each, the most is as much as a system usually holds for a connection.
 */
const TURNS = { atLeast: 2, atMost: 96 };

/**
 * In a busy process a timer may fire before the answer already in its own buffer is read. So every
 * judgement of the peer waits until a turn of the event loop brings nothing more to read.
 */
export class Patience {
  #reads = 0;
  #isOver = false;

  /** Called when something was read. */
  heard(): void {
    this.#reads += 1;
  }

  /** After this, nothing is judged. */
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
