/**
 * QR codes, drawn in the browser: the seed of a second factor must not go anywhere else. Bytes,
 * error correction level M, versions 1 to 20 (664 characters); the names are those of ISO 18004.
 */

/** By version, from 1: error correction codewords per block, and the number of blocks. */
const CHECK_WORDS = [
  10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26,
];
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];

type Grid = boolean[][];

/** The modules, row by row; true is dark. Throws if the text is too long. */
export function qrCode(text: string): Grid {
  const octets = [...new TextEncoder().encode(text)];
  const version = CHECK_WORDS.findIndex((_, index) => fits(octets.length, index + 1)) + 1;
  if (version === 0) throw new Error("The text is too long for a QR code.");
  const codewords = withCheckWords(dataWords(octets, version), version);
  const candidates = MASKS.map((mask, index) => draw(codewords, version, mask, index));
  return candidates.reduce((best, grid) => (penalty(grid) < penalty(best) ? grid : best));
}

function fits(length: number, version: number): boolean {
  return 4 + lengthBits(version) + length * 8 <= dataCapacity(version) * 8;
}

function lengthBits(version: number): number {
  return version < 10 ? 8 : 16;
}

/** The modules that hold neither patterns nor format bits, in whole codewords. */
function allWords(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const aligned = Math.floor(version / 7) + 2;
    modules -= (25 * aligned - 10) * aligned - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

function checkWordsOf(version: number): number {
  return CHECK_WORDS[version - 1] ?? 0;
}

function blocksOf(version: number): number {
  return BLOCKS[version - 1] ?? 1;
}

function dataCapacity(version: number): number {
  return allWords(version) - checkWordsOf(version) * blocksOf(version);
}

/** Mode, length, bytes, end, then the two padding bytes in turn. */
function dataWords(octets: number[], version: number): number[] {
  const bits: number[] = [];
  const push = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1);
  };
  push(0b0100, 4);
  push(octets.length, lengthBits(version));
  for (const octet of octets) push(octet, 8);
  const capacity = dataCapacity(version) * 8;
  push(0, Math.min(4, capacity - bits.length));
  push(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < capacity; pad ^= 0xec ^ 0x11) push(pad, 8);
  return Array.from({ length: bits.length / 8 }, (_, index) =>
    bits.slice(index * 8, index * 8 + 8).reduce((word, bit) => word * 2 + bit, 0),
  );
}

/** Splits the data into blocks, adds check words to each, and interleaves them. */
function withCheckWords(data: number[], version: number): number[] {
  const [count, checkLength] = [blocksOf(version), checkWordsOf(version)];
  const shortBlocks = count - (allWords(version) % count);
  const shortLength = Math.floor(allWords(version) / count) - checkLength;
  const divisor = divisorOf(checkLength);
  const blocks: number[][] = [];
  for (let start = 0, index = 0; index < count; index += 1) {
    const length = shortLength + (index < shortBlocks ? 0 : 1);
    blocks.push(data.slice(start, start + length));
    start += length;
  }
  const checks = blocks.map((block) => remainder(block, divisor));
  return [...interleave(blocks, shortLength + 1), ...interleave(checks, checkLength)];
}

function interleave(blocks: number[][], length: number): number[] {
  return Array.from({ length }, (_, at) =>
    blocks.flatMap((block) => (at < block.length ? [block[at] ?? 0] : [])),
  ).flat();
}

/** Multiplies in the field of 256 elements with the polynomial 0x11D. */
function multiply(x: number, y: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((y >>> bit) & 1) * x;
  }
  return product;
}

function divisorOf(degree: number): number[] {
  const result: number[] = Array.from({ length: degree }, () => 0);
  result[degree - 1] = 1;
  let root = 1;
  for (let step = 0; step < degree; step += 1) {
    for (let at = 0; at < degree; at += 1) {
      result[at] = multiply(result[at] ?? 0, root) ^ (result[at + 1] ?? 0);
    }
    root = multiply(root, 2);
  }
  return result;
}

function remainder(data: number[], divisor: number[]): number[] {
  const result = divisor.map(() => 0);
  for (const octet of data) {
    const factor = octet ^ (result.shift() ?? 0);
    result.push(0);
    for (const [index, each] of divisor.entries()) {
      result[index] = (result[index] ?? 0) ^ multiply(each, factor);
    }
  }
  return result;
}

type Mask = (x: number, y: number) => boolean;

const MASKS: Mask[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

function draw(codewords: number[], version: number, mask: Mask, maskIndex: number): Grid {
  const size = version * 4 + 17;
  const grid: (boolean | undefined)[][] = Array.from({ length: size }, () =>
    Array.from({ length: size }, () => undefined),
  );
  const set = (x: number, y: number, isDark: boolean) => {
    const row = grid[y];
    if (row && x >= 0 && x < size) row[x] = isDark;
  };
  drawPatterns(set, size, version);
  drawFormat(set, size, maskIndex);
  drawData(grid, codewords, mask);
  return grid as Grid;
}

type Set = (x: number, y: number, isDark: boolean) => void;

function drawPatterns(set: Set, size: number, version: number): void {
  for (let at = 0; at < size; at += 1) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    drawFinder(set, x, y);
  const places = alignments(version, size);
  for (const x of places) {
    for (const y of places) {
      const isFinder =
        (x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6);
      if (!isFinder) drawSquare(set, x, y);
    }
  }
  if (version >= 7) drawVersion(set, size, version);
}

function drawFinder(set: Set, x: number, y: number): void {
  for (let dy = -4; dy <= 4; dy += 1) {
    for (let dx = -4; dx <= 4; dx += 1) {
      const distance = Math.max(Math.abs(dx), Math.abs(dy));
      if (y + dy >= 0) set(x + dx, y + dy, distance !== 2 && distance !== 4);
    }
  }
}

function drawSquare(set: Set, x: number, y: number): void {
  for (let dy = -2; dy <= 2; dy += 1) {
    for (let dx = -2; dx <= 2; dx += 1) {
      set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
    }
  }
}

function alignments(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((size - 13) / (2 * count - 2)) * 2;
  return [
    6,
    ...Array.from({ length: count - 1 }, (_, index) => size - 7 - index * step).toReversed(),
  ];
}

function drawVersion(set: Set, size: number, version: number): void {
  let rest = version;
  for (let step = 0; step < 12; step += 1) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25);
  const bits = (version << 12) | rest;
  for (let index = 0; index < 18; index += 1) {
    const isDark = ((bits >>> index) & 1) === 1;
    const [a, b] = [size - 11 + (index % 3), Math.floor(index / 3)];
    set(a, b, isDark);
    set(b, a, isDark);
  }
}

/** Level M is 00, so the format consists of the mask and its check bits. */
function drawFormat(set: Set, size: number, maskIndex: number): void {
  let rest = maskIndex;
  for (let step = 0; step < 10; step += 1) rest = (rest << 1) ^ ((rest >>> 9) * 0x537);
  const bits = ((maskIndex << 10) | rest) ^ 0x5412;
  const bit = (index: number) => ((bits >>> index) & 1) === 1;
  for (let index = 0; index <= 5; index += 1) set(8, index, bit(index));
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let index = 9; index < 15; index += 1) set(14 - index, 8, bit(index));
  for (let index = 0; index < 8; index += 1) set(size - 1 - index, 8, bit(index));
  for (let index = 8; index < 15; index += 1) set(8, size - 15 + index, bit(index));
  set(8, size - 8, true);
}

/** Two columns at a time, up and down in turn, from the right; column 6 is the timing pattern. */
function drawData(grid: (boolean | undefined)[][], codewords: number[], mask: Mask): void {
  const size = grid.length;
  let at = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    const isUpward = ((right + 1) & 2) === 0;
    for (let step = 0; step < size; step += 1) {
      const y = isUpward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        const row = grid[y];
        if (!row || row[x] !== undefined) continue;
        const isDark = (((codewords[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1) === 1;
        row[x] = isDark !== mask(x, y);
        at += 1;
      }
    }
  }
}

/** How hard a code is to read: long runs, blocks, patterns like a finder, and imbalance. */
function penalty(grid: Grid): number {
  const columns = grid.map((_, x) => grid.map((row) => row[x] ?? false));
  const lines = [...grid, ...columns];
  const runs = lines.reduce((sum, line) => sum + linePenalty(line), 0);
  const dark = grid.flat().filter(Boolean).length;
  const all = grid.length ** 2;
  const imbalance = Math.ceil(Math.abs(dark * 20 - all * 10) / all) - 1;
  return runs + blockPenalty(grid) + Math.max(0, imbalance) * 10;
}

const FINDER_LIKE = ["10111010000", "00001011101"];

function linePenalty(line: boolean[]): number {
  const text = line.map((isDark) => (isDark ? "1" : "0")).join("");
  let sum = 0;
  for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2;
  for (let at = 0; at + 11 <= text.length; at += 1) {
    if (FINDER_LIKE.includes(text.slice(at, at + 11))) sum += 40;
  }
  return sum;
}

function blockPenalty(grid: Grid): number {
  let sum = 0;
  for (let y = 0; y + 1 < grid.length; y += 1) {
    for (let x = 0; x + 1 < grid.length; x += 1) {
      const first = grid[y]?.[x];
      const isBlock = [grid[y]?.[x + 1], grid[y + 1]?.[x], grid[y + 1]?.[x + 1]].every(
        (each) => each === first,
      );
      if (isBlock) sum += 3;
    }
  }
  return sum;
}
