/**
 * A function that remembers what it found, for so many keys. When they are too many it forgets them all:
 * to keep them in order of use would cost every call more than finding them anew.
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
