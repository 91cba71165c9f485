import fc from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Any character, for `fc.string({ unit: anyCharacter })`. The library's unit "binary" is the same,
 * but first builds a table of all characters, which takes seconds.
 */
export const anyCharacter = fc
  .nat(0x10ffff - SURROGATES.count)
  .map((n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count));
