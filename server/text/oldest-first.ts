/**
 * Returns a function that returns the oldest entry of a cache, which the caller removes. An iteration from the start would
 * first pass the places of all entries that were removed since the Map last grew: in a full cache, thousands.
 */
export function oldestFirst<Value>(
  cache: Map<string, Value>,
): () => [key: string, value: Value] | undefined {
  let entries = cache.entries()
  return () => {
    const { done, value } = entries.next()
    if (!done) return value
    entries = cache.entries()
    return entries.next().value
  }
}
