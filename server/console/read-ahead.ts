/**
 * Returns the same lines after reading the first one past the header: a failure until then throws
 * here, where it can still be answered. Later ones only reach `onFailure`; the file breaks off.
 */
export async function readAhead(
  lines: AsyncIterable<string>,
  onFailure: (error: unknown) => void,
): Promise<AsyncIterable<string>> {
  const source = lines[Symbol.asyncIterator]();
  const first = [await source.next(), await source.next()];
  return rest(first, source, onFailure);
}

async function* rest(
  first: IteratorResult<string>[],
  source: AsyncIterator<string>,
  onFailure: (error: unknown) => void,
): AsyncGenerator<string> {
  try {
    for (const { done, value } of first) if (!done) yield value as string;
    for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
  } catch (error) {
    onFailure(error);
    throw error;
  } finally {
    await source.return?.();
  }
}
