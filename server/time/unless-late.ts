/**
 * Calls `late` after the real time, unless the returned function is called before. The time is divided into steps, each of
 * them a timer, and the event loop reads arrived data before the end: so a pause of this process counts as one step at
 * most, and a response that has arrived but was not read yet is not late.
 */
export function unlessLate(milliseconds: number, steps: number, late: () => void): () => void {
  let settled = false
  let left = steps
  let timer: NodeJS.Timeout
  const step = () => {
    timer = setTimeout(() => (--left > 0 ? step() : setImmediate(end)), milliseconds / steps)
    timer.unref()
  }
  const end = () => {
    if (!settled) late()
  }
  step()
  return () => {
    settled = true
    clearTimeout(timer)
  }
}
