/** How many requests a subject has made in a window. In one process a Map; between processes, Redis. */
export type Counters = {
  /** Counts one more and says how many it makes. Only a counter that has to ask over the network answers later. */
  hit(subject: string, window: number): number | Promise<number>
  close(): Promise<void>
}

/**
 * Counters of this process alone. They hold one window: the first hit of another, later or (when the
 * machine's clock is set back) earlier, forgets it. So memory is bounded by the subjects of one minute.
 */
export function memoryCounters() {
  let window = Number.NaN
  // A counter is an object and not a number in the Map: a hit is then one look-up instead of two.
  let counters = new Map<string, { hits: number }>()

  return {
    hit(subject: string, hitWindow: number): number {
      if (hitWindow !== window) {
        window = hitWindow
        counters = new Map()
      }
      const counter = counters.get(subject)
      if (counter) return ++counter.hits
      counters.set(subject, { hits: 1 })
      return 1
    },

    async close() {
      counters = new Map()
    },
  } satisfies Counters
}
