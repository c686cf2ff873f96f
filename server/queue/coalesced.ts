/**
 * Runs a task at each call, but one run after the other. All calls during a run resolve with one further run, because the
 * current one may have missed their changes.
 */
export function coalesced(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  const call = (): Promise<void> => {
    if (!running) {
      running = run().finally(() => {
        running = undefined
      })
      return running
    }
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined
        return call()
      })
    return next
  }
  return call
}
