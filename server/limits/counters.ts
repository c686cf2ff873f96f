/** Counts of the requests of each subject in a window: a Map in one process, Redis for several. */
export type Counters = {
  /** Counts a request and returns the new count. Only counters behind a network return a promise. */
  hit(subject: string, window: number): number | Promise<number>
  close(): Promise<void>
}

/**
 * Counters of this process alone. They hold one window: the first hit of another one, later or (if the machine's clock
 * is set back) earlier, discards it. This bounds their memory by the subjects of one minute.
 */
export function memoryCounters() {
  let window = Number.NaN
  // The Map's values are objects rather than numbers, because a hit then needs one lookup instead of two.
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
