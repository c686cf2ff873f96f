/** Returns a function with the same results that calls `make` once for each key. It keeps all results. */
export function remembering<K, V extends {}>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const result = make(key)
    made.set(key, result)
    return result
  }
}
