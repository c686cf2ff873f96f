/** What a worker of this process can be told to look after. */
export type Queue = 'photos' | 'mail' | 'shipments' | 'schedule'

/**
 * Tells the workers of this process that there may be something to do, so that it starts at once. It's a courtesy: a
 * worker also looks by itself, because other processes write to the same queues and a process can die between
 * the two.
 */
export type Wakes = {
  /** Call it after the transaction that wrote the work: before, the worker would find nothing. */
  wake(queue: Queue): void
  /** For when the clock moved, and anything may have become due. */
  wakeAll(): void
  /** Calls `heard` at each wake of the queue; the returned function ends that. */
  on(queue: Queue, heard: () => void): () => void
}

export function wakesInProcess(): Wakes {
  const listeners = new Set<{ queue: Queue; heard: () => void }>()
  const wakeWhere = (wanted: (queue: Queue) => boolean) => {
    for (const { queue, heard } of listeners) if (wanted(queue)) heard()
  }
  return {
    wake: (queue) => wakeWhere((other) => other === queue),
    wakeAll: () => wakeWhere(() => true),
    on(queue, heard) {
      const listener = { queue, heard }
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
