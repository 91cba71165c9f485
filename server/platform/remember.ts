/**
 * Caches a function's results for up to `max` keys. If there are more, it forgets them all:
 * tracking the order of use would cost every call more than finding the values again.
 */
export function remembering<Key, Value extends {}>(
  max: number,
  find: (key: Key) => Value,
): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const found = find(key);
    if (known.size >= max) known.clear();
    known.set(key, found);
    return found;
  };
}
