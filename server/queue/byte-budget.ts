/** The part of a byte budget that one task uses. */
export type BudgetShare = {
  /** Waits until the bytes fit. @throws Error once the share is closed */
  take(bytes: number): Promise<void>
  /** Gives everything back. */
  close(): void
}

/**
 * Limits the memory of tasks that don't know in advance how much they need. A task waits until its next bytes fit. One
 * task at a time may exceed the budget until it ends, because tasks would otherwise wait for each other forever. All
 * together use at most `max` bytes and the needs of one task.
 */
export function byteBudget(max: number): () => BudgetShare {
  let used = 0
  let exceeding: object | undefined
  let freed = Promise.withResolvers<void>()

  return () => {
    let own = 0
    let isClosed = false
    const share: BudgetShare = {
      async take(bytes) {
        while (!isClosed && used + bytes > max && share !== exceeding) {
          if (exceeding) await freed.promise
          else exceeding = share
        }
        if (isClosed) throw new Error('The share of the budget is closed.')
        own += bytes
        used += bytes
      },
      close() {
        if (isClosed) return
        isClosed = true
        used -= own
        if (exceeding === share) exceeding = undefined
        freed.resolve()
        freed = Promise.withResolvers<void>()
      },
    }
    return share
  }
}
