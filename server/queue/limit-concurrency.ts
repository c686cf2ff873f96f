/** A semaphore: runs at most `max` tasks at the same time and queues the others, first in, first out. */
export function limitConcurrency(max: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0

  return async (task) => {
    if (running === max) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await task()
    } finally {
      // A finished task passes its slot on, so that `running` never exceeds `max`.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
