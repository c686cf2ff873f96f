import type { Siblings } from '../database/signals.ts'
import type { Counters } from '../limits/counters.ts'
import type { ProcessMetrics } from '../metrics.ts'
import { openChannel } from './channel.ts'
import { sharedCounters } from './shared-counters.ts'

/** Longer than the primary process waits for the other processes. */
const METRICS_TIMEOUT_MS = 2_000
const SIGNAL_TIMEOUT_MS = 2_000
const FAILED_TIMEOUT_MS = 2_000

/** The connection of one of several processes to their primary process. */
export type PrimaryLink = {
  counters(): Counters
  siblings: Siblings
  /** The metrics of the other processes, in exchange for those of this one. */
  metricsOfOthers(own: ProcessMetrics): Promise<ProcessMetrics[]>
  /** Answers other processes that ask for the metrics of this one. */
  shareMetrics(read: () => Promise<ProcessMetrics>): void
  /** This process serves requests. The primary process prints the text when all of them do. */
  ready(welcome: string): void
  /** This process cannot start. Resolves when the primary process, which reports it, has the reason. */
  failed(reason: string): Promise<unknown>
}

/** Opens the connection of a process that a primary process has started. */
export function linkToPrimary(): PrimaryLink {
  let readMetrics: (() => Promise<ProcessMetrics>) | undefined
  let told: Parameters<Siblings['listen']>[0] | undefined
  const primary = openChannel(process, {
    answers: {
      alive: () => true,
      metrics: () => readMetrics?.(),
      signal: (notice) => told?.(notice),
    },
  })
  return {
    counters: () => sharedCounters(primary),
    siblings: {
      tell: (notice) => primary.ask('signal', notice, SIGNAL_TIMEOUT_MS),
      listen(notify) {
        told = notify
      },
    },
    async metricsOfOthers(own) {
      return (await primary.ask<ProcessMetrics[]>('metrics', own, METRICS_TIMEOUT_MS)) ?? []
    },
    shareMetrics(read) {
      readMetrics = read
    },
    ready: (welcome) => primary.tell('ready', welcome),
    failed: (reason) => primary.ask('failed', reason, FAILED_TIMEOUT_MS),
  }
}
