import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const INTERVAL_MS = 1_000
/** Consecutive idle seconds: a pause between two bursts of requests is not the end of the work. */
const IDLE_SECONDS = 5
/** The same after the start, when little code is compiled that could be discarded. */
const IDLE_SECONDS_AFTER_START = 2
/**
 * An event loop counts as idle while it is busy for at most this share of the time. A few hundred requests per second exceed
 * it: they would notice the pause.
 */
const MAX_IDLE_UTILIZATION = 0.03

/**
 * From now on V8 collects garbage when its heap has grown by 60 %, instead of up to 300 %. Call it at the end of the start:
 * V8 compiles its own and our modules again if they were compiled with other options, and loading the catalog would end in
 * many collections that find little garbage.
 */
export function keepHeapSmall(): void {
  // The code of the start is written with the options that the next start has.
  flushCompileCache()
  setFlagsFromString('--heap-growing-percent=60')
}

/**
 * Returns unused memory to the operating system after the catalog has been loaded: loading it leaves tens of megabytes
 * of free heap, which V8 would keep. It pauses the process for some tenths of a second and discards compiled code, so it
 * waits until the process has been idle for some seconds.
 *
 * @param catalog the current snapshot; each new one is followed by one compaction
 * @returns a function that stops it
 */
export function compactWhenIdle(catalog: () => object, compact = collectGarbage): () => void {
  let compacted: object | undefined
  let idleSeconds = 0
  let before = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    idleSeconds = utilization > MAX_IDLE_UTILIZATION ? 0 : idleSeconds + 1
    const current = catalog()
    const needed = compacted ? IDLE_SECONDS : IDLE_SECONDS_AFTER_START
    if (current === compacted || idleSeconds < needed) return
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
