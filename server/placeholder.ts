/** Words that stand in examples for a secret that somebody was to choose. */
const WORDS =
  /change[-_ ]?(?:me|this|it)|placeholder|replace[-_ ]?me|your[-_ ]|example|insecure|default|secret|password|<[^>]*>/i;

/** Whether a key is one that everybody knows: nothing but zeros, or words of an example. */
export function isPlaceholderKey(octets: Buffer): boolean {
  if (octets.every((octet) => octet === 0)) return true;
  return /^[\x20-\x7E]+$/.test(octets.toString("latin1")) && WORDS.test(octets.toString("latin1"));
}

/** The same of a password. A bad one that was chosen is its owner's affair; one out of an example is not. */
export function isPlaceholderPassword(password: string): boolean {
  return /^(?:change[-_ ]?(?:me|this|it)\w*|placeholder|replace[-_ ]?me|your[-_ ]?password|<[^>]*>)$/i.test(
    password,
  );
}
