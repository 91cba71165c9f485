/** Words that stand in examples for a secret that somebody was to choose. */
const WORDS =
  /change[-_ ]?(?:me|this|it)|placeholder|replace[-_ ]?me|your[-_ ]|example|insecure|default|secret|password|<[^>]*>/i;

/** Why a key is one that anybody could guess, to go on from its name; undefined where it is not. */
export function keyPlaceholder(octets: Buffer): string | undefined {
  if (octets.every((octet) => octet === 0))
    return "is nothing but zeros, the first key that anybody would try";
  const text = octets.toString("latin1");
  // Random octets are hardly ever all printable, let alone one of these words.
  return /^[\x20-\x7E]+$/.test(text) && WORDS.test(text)
    ? "is the text of an example and not random, so that others know it too"
    : undefined;
}

/** The same of a password. A bad one that was chosen is its owner's affair; one out of an example is not. */
export function passwordPlaceholder(password: string): string | undefined {
  if (/^<[^>]*>$/.test(password))
    return "has a placeholder in angle brackets where the password belongs";
  return /^(?:change[-_ ]?(?:me|this|it)\w*|placeholder|replace[-_ ]?me|your[-_ ]?password)$/i.test(
    password,
  )
    ? "has the password of an example, which others know too"
    : undefined;
}
