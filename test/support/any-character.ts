import fc from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Every character there is, for `fc.string({ unit: anyCharacter })`. The library's own unit "binary" is
 * the same, but makes a table of all of them first, which takes seconds.
 */
export const anyCharacter = fc
  .nat(0x10ffff - SURROGATES.count)
  .map((n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count));
