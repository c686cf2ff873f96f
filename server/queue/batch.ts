import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Combines single items into batches, so that many writes cost little more than one: items that arrive during a write
 * form the next batch.
 *
 * @param max items in one batch
 * @param gatherMs real time to wait for more items before each write
 * @returns a function that adds an item; its promise settles with the write of the item's batch
 */
export function batch<T>(
  write: (items: T[]) => Promise<void>,
  { max, gatherMs = 0 }: { max: number; gatherMs?: number },
): (item: T) => Promise<void> {
  let waiting: { item: T; written: PromiseWithResolvers<void> }[] = []
  let isWriting = false

  const writeAll = async () => {
    while (waiting.length > 0) {
      if (gatherMs > 0) await sleep(gatherMs)
      const next = waiting.slice(0, max)
      waiting = waiting.slice(max)
      try {
        await write(next.map(({ item }) => item))
        for (const { written } of next) written.resolve()
      } catch (error) {
        for (const { written } of next) written.reject(error)
      }
    }
    isWriting = false
  }

  return (item) => {
    const written = Promise.withResolvers<void>()
    waiting.push({ item, written })
    if (!isWriting) {
      isWriting = true
      void writeAll()
    }
    return written.promise
  }
}
