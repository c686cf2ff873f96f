/** A cache of limited memory. Beyond `maxBytes` it evicts the oldest entries. */
export function byteBounded<Value>(
  maxBytes: number,
  sizeOf: (key: string, value: Value) => number,
): { get: (key: string) => Value | undefined; set: (key: string, value: Value) => void } {
  const entries = new Map<string, Value>()
  const oldestEntry = oldestFirst(entries)
  let bytes = 0

  const remove = (key: string, value: Value) => {
    entries.delete(key)
    bytes -= sizeOf(key, value)
  }
  return {
    get: (key) => entries.get(key),
    /** The entry becomes the newest. */
    set(key, value) {
      const former = entries.get(key)
      if (former !== undefined) remove(key, former)
      entries.set(key, value)
      bytes += sizeOf(key, value)
      while (bytes > maxBytes) remove(...oldestEntry()!)
    },
  }
}

/**
 * Returns a function that returns the oldest entry of a cache, which the caller removes. An iteration from the start would
 * first pass the places of all entries that were removed since the Map last grew: in a full cache, thousands.
 */
function oldestFirst<Value>(
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
