/** What a worker of this process can be told to look after. */
export type Queue = 'photos' | 'mail' | 'shipments' | 'deliveries' | 'endpoints' | 'schedule'

/**
 * Tells the workers of this process that there may be something to do, so that it starts at once. It's a courtesy: a
 * worker also looks by itself, because other processes write to the same queues and a process can die between
 * the two.
 */
export type Wakes = {
  /** Whoever writes work calls it. Within a transaction it waits for the commit: before, a worker would find nothing. */
  wake(queue: Queue): void
  /** For when another process said so. */
  wakeHere(queue: Queue): void
  /** For when the clock moved, and anything may have become due. */
  wakeAll(): void
  /** Calls `heard` at each wake of the queue; the returned function ends that. */
  on(queue: Queue, heard: () => void): () => void
}

/** @param tellOthers called when work was written that another process could do as well */
export function wakesInProcess(tellOthers: (queue: Queue) => void = () => {}): Wakes {
  const listeners = new Set<{ queue: Queue; heard: () => void }>()
  const callWhere = (wanted: (queue: Queue) => boolean) => {
    for (const { queue, heard } of listeners) if (wanted(queue)) heard()
  }
  return {
    wake(queue) {
      callWhere((other) => other === queue)
      tellOthers(queue)
    },
    wakeHere: (queue) => callWhere((other) => other === queue),
    wakeAll: () => callWhere(() => true),
    on(queue, heard) {
      const listener = { queue, heard }
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/**
 * The same for one transaction: who is woken is only noted.
 *
 * @returns the wakes for the transaction, and what to call once it's committed
 */
export function heldBack(wakes: Wakes): { wakes: Wakes; release: () => void } {
  const noted = new Set<Queue>()
  return {
    wakes: { ...wakes, wake: (queue) => noted.add(queue) },
    release: () => {
      for (const queue of noted) wakes.wake(queue)
    },
  }
}

/**
 * Runs `work` soon after it's called, at most once in so many milliseconds: whoever calls meanwhile is served by the
 * next run. Real time.
 */
export function atMostEvery(ms: number, work: () => void): () => void {
  let isPlanned = false
  return () => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      work()
    }, ms).unref()
  }
}
