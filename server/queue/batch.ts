import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Gathers what comes one by one and writes it together: what comes while a write is under way waits for the next, so
 * that much costs little more than one.
 *
 * @param most how many go into one write
 * @param gatherMs how long the first one waits for others, real time
 * @returns adds one; done when its write is, and failed when that is
 */
export function batch<T>(
  write: (items: T[]) => Promise<void>,
  { most, gatherMs = 0 }: { most: number; gatherMs?: number },
): (item: T) => Promise<void> {
  let waiting: { item: T; done: PromiseWithResolvers<void> }[] = []
  let isWriting = false

  const writeAll = async () => {
    while (waiting.length > 0) {
      if (gatherMs > 0) await sleep(gatherMs)
      const batch = waiting.slice(0, most)
      waiting = waiting.slice(most)
      try {
        await write(batch.map(({ item }) => item))
        for (const { done } of batch) done.resolve()
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    isWriting = false
  }

  return (item) => {
    const done = Promise.withResolvers<void>()
    waiting.push({ item, done })
    if (!isWriting) {
      isWriting = true
      void writeAll()
    }
    return done.promise
  }
}
