import type { Speed } from "#carriers";

const SLOTS = 5;
const SLOT_MS = 1000;

/** How often something happens, over the last five seconds. */
class Frequency {
  readonly #counts = new Float64Array(SLOTS);
  #slot = 0;

  add(nowMs: number): void {
    this.#turn(nowMs);
    const at = this.#slot % SLOTS;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  perSecond(nowMs: number): number {
    this.#turn(nowMs);
    return this.#counts.reduce((sum, count) => sum + count, 0) / SLOTS;
  }

  #turn(nowMs: number): void {
    const slot = Math.floor(nowMs / SLOT_MS);
    const steps = Math.min(slot - this.#slot, SLOTS);
    for (let step = 0; step < steps; step += 1) this.#counts[(slot - step) % SLOTS] = 0;
    this.#slot = slot;
  }
}

/** Four buckets to each doubling, from a quarter of a millisecond to above an hour. */
const BUCKETS = 100;
const BUCKETS_PER_DOUBLING = 4;
const GENERATION_MS = 60_000;

/** Response times of the last one to two minutes, accurate to a fifth. */
class Durations {
  #current = new Float64Array(BUCKETS);
  #previous = new Float64Array(BUCKETS);
  #generation = 0;

  add(nowMs: number, durationMs: number): void {
    this.#turn(nowMs);
    const doublings = Math.log2(Math.max(durationMs, 0.25)) + 2;
    const at = Math.min(BUCKETS - 1, Math.round(doublings * BUCKETS_PER_DOUBLING));
    this.#current[at] = (this.#current[at] ?? 0) + 1;
  }

  percentiles(nowMs: number): Speed["responseMs"] {
    this.#turn(nowMs);
    const counts = this.#current.map((count, at) => count + (this.#previous[at] ?? 0));
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (total === 0) return null;
    return { p50: valueAt(counts, total * 0.5), p99: valueAt(counts, total * 0.99) };
  }

  #turn(nowMs: number): void {
    const generation = Math.floor(nowMs / GENERATION_MS);
    if (generation === this.#generation) return;
    const isNext = generation === this.#generation + 1;
    this.#previous = isNext ? this.#current : new Float64Array(BUCKETS);
    this.#current = new Float64Array(BUCKETS);
    this.#generation = generation;
  }
}

function valueAt(counts: Float64Array, rank: number): number {
  let passed = 0;
  const at = counts.findIndex((count) => (passed += count) >= rank);
  return Number((2 ** (at / BUCKETS_PER_DOUBLING - 2)).toPrecision(2));
}

/** Measures the speed of one link, and passes everything on to its carrier's meter. */
export class Meter {
  readonly #parent: Meter | undefined;
  readonly #submits = new Frequency();
  readonly #receipts = new Frequency();
  readonly #responses = new Durations();

  constructor(parent?: Meter) {
    this.#parent = parent;
  }

  submitted(nowMs: number): void {
    this.#submits.add(nowMs);
    this.#parent?.submitted(nowMs);
  }

  answered(nowMs: number, responseMs: number): void {
    this.#responses.add(nowMs, responseMs);
    this.#parent?.answered(nowMs, responseMs);
  }

  receipt(nowMs: number): void {
    this.#receipts.add(nowMs);
    this.#parent?.receipt(nowMs);
  }

  read(nowMs: number): Speed {
    return {
      submitsPerSecond: this.#submits.perSecond(nowMs),
      receiptsPerSecond: this.#receipts.perSecond(nowMs),
      responseMs: this.#responses.percentiles(nowMs),
    };
  }
}
