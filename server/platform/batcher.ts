import type { Turns } from "./turns.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

type Options<Item, Result> = {
  /**
   * One answer per item, in order. An `Error` in place of an answer fails that item alone. A batch
   * may call `over` before its end, when the one whose turn is next need not wait for it any more.
   */
  run: (items: Item[], over: () => void) => Promise<(Result | Error)[]>;
  /** The answer to a call that arrives while `maxWaiting` calls or `maxBytes` are held. */
  whenFull: () => Result;
  /** The most items in one batch. `sizeOf` weighs an item that stands for several. */
  maxItems: number;
  /** The most batches that run at the same time. */
  maxRunning: number;
  /** The most calls that gather while those run. */
  maxWaiting: number;
  /** The most bytes of all items that wait or run. */
  maxBytes?: number;
  sizeOf?: (item: Item) => number;
  bytesOf?: (item: Item) => number;
  /** Shared with other batchers, if running beside each other would only make batches smaller. */
  turns?: Turns | undefined;
  /** A batch with this many items gives up its turn at once: it is large enough anyway. */
  largeFrom?: number;
};

const AT_ONCE: Turns = (begin) => begin(() => undefined);

type Call<Item, Result> = {
  item: Item;
  size: number;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

export type Batcher<Item, Result> = {
  (item: Item): Promise<Result>;
  /** Calls that wait for a batch. */
  readonly waiting: number;
  /** Resolves once nothing waits and nothing runs. */
  idle(): Promise<void>;
};

/**
 * Turns single calls into batches. While fewer than `maxRunning` batches run, the calls of one turn
 * of the event loop start at once, and the rest gathers for the next batch. So batches grow with
 * the load, and a lone call never waits for company. Nothing grows without bound: a call that finds
 * the queue full is answered with `whenFull()`.
 */
export function batcher<Item, Result>(options: Options<Item, Result>): Batcher<Item, Result> {
  const { maxItems, maxRunning, maxWaiting, maxBytes = Number.POSITIVE_INFINITY } = options;
  const { turns = AT_ONCE, largeFrom = Number.POSITIVE_INFINITY } = options;
  let waiting: Call<Item, Result>[] = [];
  let running = 0;
  let bytesHeld = 0;
  /** A batch is about to begin, or waits for its turn. */
  let isDue = false;
  let idleListeners: (() => void)[] = [];

  function call(item: Item): Promise<Result> {
    const bytes = options.bytesOf?.(item) ?? 0;
    // A single item above `maxBytes` passes if the queue is empty, or it could never pass.
    const isFull = waiting.length >= maxWaiting || (bytesHeld > 0 && bytesHeld + bytes > maxBytes);
    if (isFull) return Promise.resolve(options.whenFull());
    bytesHeld += bytes;
    return new Promise((resolve, reject) => {
      waiting.push({ item, size: options.sizeOf?.(item) ?? 1, bytes, resolve, reject });
      schedule();
    });
  }

  function schedule(): void {
    if (isDue || running >= maxRunning) return;
    isDue = true;
    // After the poll phase, so that all requests read in this turn of the loop share a batch.
    setImmediate(() => turns(begin));
  }

  function begin(over: () => void): void {
    isDue = false;
    const batch = takeBatch();
    start(batch, over);
    if (batch.reduce((sum, { size }) => sum + size, 0) >= largeFrom) over();
    if (waiting.length > 0) schedule();
  }

  function takeBatch(): Call<Item, Result>[] {
    let size = 0;
    let count = 0;
    for (const { size: next } of waiting) {
      if (count > 0 && size + next > maxItems) break;
      size += next;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch;
  }

  function start(batch: Call<Item, Result>[], over: () => void): void {
    running += 1;
    // `run` may throw before its first await. That fails the batch like any other error.
    Promise.try(
      options.run,
      batch.map(({ item }) => item),
      () => setImmediate(over),
    ).then(
      (results) => end(batch, over, () => settle(batch, results)),
      (error: unknown) => end(batch, over, () => fail(batch, error)),
    );
  }

  /**
   * Waits for what this turn of the loop still reads, and starts the next batch before it answers
   * this one; otherwise the database would idle while the answers are written.
   */
  function end(batch: Call<Item, Result>[], over: () => void, answer: () => void): void {
    setImmediate(() => {
      running -= 1;
      bytesHeld -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
      over();
      if (waiting.length > 0 && !isDue) {
        isDue = true;
        turns(begin);
      }
      answer();
      if (running === 0 && waiting.length === 0) announceIdle();
    });
  }

  function announceIdle(): void {
    const listeners = idleListeners;
    idleListeners = [];
    for (const listener of listeners) listener();
  }

  function idle(): Promise<void> {
    if (running === 0 && waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      idleListeners.push(resolve);
    });
  }

  return Object.defineProperty(Object.assign(call, { idle }), "waiting", {
    get: () => waiting.length,
  }) as Batcher<Item, Result>;
}

function settle<Item, Result>(batch: Call<Item, Result>[], results: (Result | Error)[]): void {
  if (results.length !== batch.length) {
    const counts = `${batch.length} items was answered with ${results.length} results`;
    return fail(batch, new Error(`A batch of ${counts}.`));
  }
  batch.forEach(({ resolve, reject }, position) => {
    const result = results[position] as Result | Error;
    if (result instanceof Error) reject(result);
    else resolve(result);
  });
}

function fail<Item, Result>(batch: Call<Item, Result>[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}

/**
 * For use in `run`: stores a batch as a whole or, if that fails, each item alone and in order, so
 * that a bad item harms only itself. If the database is away, the whole batch fails.
 */
export async function orEach<Item, Result>(
  items: Item[],
  run: (items: Item[]) => Promise<Result[]>,
  onSplit: (error: unknown) => void,
): Promise<(Result | Error)[]> {
  try {
    return await run(items);
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    if (items.length === 1) return [error as Error];
    onSplit(error);
    const results: (Result | Error)[] = [];
    for (const item of items) results.push(...(await orEach([item], run, onSplit)));
    return results;
  }
}
