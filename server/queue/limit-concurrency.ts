/** Lets so many through at a time; the others wait in line. */
export function limitConcurrency(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let inside = 0

  return async (work) => {
    if (inside === most) await new Promise<void>((resolve) => waiting.push(resolve))
    else inside++
    try {
      return await work()
    } finally {
      // Whoever is next takes over the place of the one that leaves.
      const next = waiting.shift()
      if (next) next()
      else inside--
    }
  }
}
