/**
 * The same lines, once the first that is not the header was read: what fails until then fails here, while
 * it can still be told. Later nobody can be told but `onFailure`; the file breaks off.
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
