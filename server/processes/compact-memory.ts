import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const INTERVAL_MS = 1_000
/** Share of the time in which the event loop is busy. */
const MAX_IDLE_UTILIZATION = 0.1

/**
 * Returns unused memory to the operating system after the catalog has been loaded: loading it leaves tens of megabytes
 * of free heap, which V8 would keep. It takes a pause of some tenths of a second, so it waits for a second in which the
 * process is idle.
 *
 * @param catalog the current snapshot; each new one is followed by one compaction
 * @returns a function that stops it
 */
export function compactWhenIdle(catalog: () => object, compact = collectGarbage): () => void {
  let compacted: object | undefined
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    const current = catalog()
    if (current === compacted || utilization > MAX_IDLE_UTILIZATION) return
    compacted = current
    compact()
  }, INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

/** V8's last resort when memory is short: it is the only collection that also shrinks the heap. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
