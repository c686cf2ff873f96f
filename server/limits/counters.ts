/** Length of most windows. Windows begin at whole multiples of their length in Unix time. */
export const WINDOW_SECONDS = 60

/** Counts of the requests of each subject in a window: a Map in one process, Redis for several. */
export type Counters = {
  /**
   * Counts a request and returns the new count. Only counters behind a network return a promise.
   *
   * @param window number of the window since 1970
   * @param seconds length of the window
   * @param by -1 takes a request back
   */
  hit(subject: string, window: number, seconds?: number, by?: number): number | Promise<number>
  close(): Promise<void>
}

/**
 * Counters of this process alone. They hold two windows of each length, because a hit that another process made at the
 * end of a window can arrive after the first one of the next. The first hit of any other window, later or (if the
 * machine's clock is set back) earlier, discards the older one. This bounds their memory by the subjects of two windows.
 */
export function memoryCounters() {
  const lengths = new Map<number, { latest: OneWindow; former: OneWindow | undefined }>()
  return {
    hit(subject: string, window: number, seconds = WINDOW_SECONDS, by = 1): number {
      const held = lengths.get(seconds)
      let current = held?.latest.window === window ? held.latest : held?.former
      if (current?.window !== window) {
        current = { window, counters: new Map() }
        lengths.set(seconds, { latest: current, former: held?.latest })
      }
      const counter = current.counters.get(subject)
      if (counter) {
        counter.hits += by
        return counter.hits
      }
      current.counters.set(subject, { hits: by })
      return by
    },

    async close() {
      lengths.clear()
    },
  } satisfies Counters
}

/** The Map's values are objects rather than numbers, because a hit then needs one lookup instead of two. */
type OneWindow = { window: number; counters: Map<string, { hits: number }> }
