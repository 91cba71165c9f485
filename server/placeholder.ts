/** Words that examples use in place of a secret that the reader should have chosen. */
const WORDS =
  /change[-_ ]?(?:me|this|it)|placeholder|replace[-_ ]?me|your[-_ ]|example|insecure|default|secret|password|<[^>]*>/i;

/** Why anybody could guess this key, as text that follows its name; undefined if nobody could. */
export function keyPlaceholder(octets: Buffer): string | undefined {
  if (octets.every((octet) => octet === 0))
    return "is nothing but zeros, the first key that anybody would try";
  const text = octets.toString("latin1");
  // Random bytes are hardly ever all printable, let alone one of these words.
  return /^[\x20-\x7E]+$/.test(text) && WORDS.test(text)
    ? "is the text of an example and not random, so that others know it too"
    : undefined;
}

/** The same for a password. Choosing a weak one is up to its owner; an example's is refused. */
export function passwordPlaceholder(password: string): string | undefined {
  if (/^<[^>]*>$/.test(password))
    return "has a placeholder in angle brackets where the password belongs";
  return /^(?:change[-_ ]?(?:me|this|it)\w*|placeholder|replace[-_ ]?me|your[-_ ]?password)$/i.test(
    password,
  )
    ? "has the password of an example, which others know too"
    : undefined;
}
