import { AggregatorRegistry } from 'prom-client'
import type { ProcessMetrics } from '../metrics.ts'

/**
 * The metrics of all processes of a service. The latest counters of a process stay in the sum when it doesn't answer or
 * has ended. Otherwise the sum would fall, which Prometheus takes for a restart: it would count the whole sum as new, and
 * an alert about five failures would fire because of those of months.
 */
export function gatherMetrics<Process extends object>() {
  const latest = new Map<Process, ProcessMetrics>()
  const ended = new WeakSet<Process>()
  let ofEnded: Promise<ProcessMetrics> = Promise.resolve([])
  return {
    /** Ignores a process that has ended: its last message can be read later, and its counters are kept already. */
    set(process: Process, metrics: ProcessMetrics) {
      if (!ended.has(process)) latest.set(process, metrics)
    },

    end(process: Process) {
      const counters = (latest.get(process) ?? []).filter(isCounter)
      ofEnded = ofEnded.then((sum) =>
        AggregatorRegistry.aggregate([sum, counters]).getMetricsAsJSON(),
      )
      latest.delete(process)
      ended.add(process)
    },

    /** The metrics of all processes but this one, and the counters of those that have ended. */
    async besides(process: Process): Promise<ProcessMetrics[]> {
      const others = [...latest].flatMap(([other, metrics]) => (other === process ? [] : [metrics]))
      return [...others, await ofEnded]
    },
  }
}

// The library's types don't say that the type is a text here.
const isCounter = ({ type }: { type: unknown }) => type === 'counter' || type === 'histogram'
