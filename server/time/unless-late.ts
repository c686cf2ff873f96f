/**
 * Calls `late` after `ms` of real time, unless the returned function is called first. The time consists of `steps` timers,
 * so a pause of this process counts as one step at most. Before the end, the event loop reads data that has arrived: a
 * response that this process has not read yet is not late.
 */
export function unlessLate(ms: number, steps: number, late: () => void): () => void {
  let isCancelled = false
  let left = steps
  let timer: NodeJS.Timeout
  const step = () => {
    timer = setTimeout(() => (--left > 0 ? step() : setImmediate(end)), ms / steps)
    timer.unref()
  }
  const end = () => {
    if (!isCancelled) late()
  }
  step()
  return () => {
    isCancelled = true
    clearTimeout(timer)
  }
}
