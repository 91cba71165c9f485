/** Anything but white space, controls, ignorable characters and the Braille blank. */
const VISIBLE = /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** The common case, at a fraction of the cost. */
const PRINTABLE_ASCII = /[!-~]/;

export const hasVisible = (text: string): boolean =>
  PRINTABLE_ASCII.test(text) || VISIBLE.test(text);
