import type { Context } from '../context.ts'
import type { Signals, Topic } from '../database/signals.ts'
import { isUnavailable, outageLog } from '../database/unavailable.ts'
import { withTimeout } from '../time/with-timeout.ts'

const POLL_INTERVAL_MS = 1_000
/** At a shutdown, time for jobs that cannot be interrupted, such as encoding a picture. */
const STOP_TIMEOUT_MS = 10_000

/** One queue, with the functions that claim and run its jobs. README.md explains claims and leases. */
export type Work<Job> = {
  queue: Topic
  /** Jobs that one process runs at the same time. */
  concurrency: number
  /** At a shutdown, time for running jobs to finish before `stopping` is aborted. */
  graceMs?: number
  /**
   * Claims up to `max` due jobs, so that no other process runs them. The worker makes one call at a time and repeats it
   * until it returns none.
   */
  claim(max: number): Promise<Job[]>
  /** Whether to poll again after a claim that returned jobs, and after each finished job. Default: always. */
  shouldPoll?(): boolean
  /**
   * @param stopping aborted when the process is about to end: release a job that cannot finish at once
   * @param poll for a job that makes room for others before it has finished
   */
  run(job: Job, stopping: AbortSignal, poll: () => void): Promise<void>
}

export type Worker = { stop(): Promise<void> }
export type WorkerOptions = { pollIntervalMs?: number }

/** Runs jobs as they become due. Polls at each signal, and at an interval because a signal can be lost. */
export function startWorker<Job>(
  ctx: Pick<Context, 'log'> & { signals: Signals },
  work: Work<Job>,
  { pollIntervalMs = POLL_INTERVAL_MS }: WorkerOptions = {},
): Worker {
  const stopping = new AbortController()
  const pool = openPool(ctx, work, stopping.signal)
  const unsubscribe = [ctx.signals.on(work.queue, pool.poll), ctx.signals.on('time', pool.poll)]
  const timer = setInterval(pool.poll, pollIntervalMs).unref()
  pool.poll()
  return {
    async stop() {
      for (const end of unsubscribe) end()
      clearInterval(timer)
      pool.stopClaiming()
      if (work.graceMs) await withTimeout(work.graceMs, pool.drained(), () => {})
      stopping.abort()
      await withTimeout(STOP_TIMEOUT_MS, pool.drained(), () => {})
    },
  }
}

/** Runs every job that is due now or becomes due meanwhile, then returns. */
export async function drainQueue<Job>(ctx: Pick<Context, 'log'>, work: Work<Job>): Promise<void> {
  const pool = openPool(ctx, work, new AbortController().signal)
  pool.poll()
  await pool.drained()
}

/**
 * Runs at most `concurrency` jobs at the same time, with one claim at a time. All calls of `poll` during a claim lead
 * to a single further claim.
 */
function openPool<Job>(
  { log }: Pick<Context, 'log'>,
  { queue, concurrency, claim, shouldPoll = () => true, run }: Work<Job>,
  stopping: AbortSignal,
) {
  const running = new Set<Promise<void>>()
  let claiming: Promise<void> | undefined
  let isClaiming = false
  let isPollRequested = false
  let isStopped = false
  let isFailing = false
  const warn = outageLog(log)

  const poll = () => {
    isPollRequested = true
    if (isClaiming) return
    isClaiming = true
    claiming = claimJobs()
  }

  const claimJobs = async () => {
    try {
      while (isPollRequested && !isStopped && running.size < concurrency) {
        isPollRequested = false
        const jobs = await claim(concurrency - running.size)
        isFailing = false
        if (jobs.length > 0 && shouldPoll()) isPollRequested = true
        for (const job of jobs) start(job)
      }
    } catch (error) {
      logFailure(error, 'cannot claim jobs; retrying')
    } finally {
      isClaiming = false
    }
  }

  const start = (job: Job) => {
    const finished = run(job, stopping, poll).then(
      () => {
        running.delete(finished)
        if (shouldPoll()) poll()
      },
      (error) => {
        running.delete(finished)
        logFailure(error, 'cannot finish a job; it is retried later')
      },
    )
    running.add(finished)
  }

  // Logs an outage of the database occasionally and another failure once, and waits for the next interval.
  const logFailure = (error: unknown, message: string) => {
    if (isUnavailable(error)) return warn({ err: error, queue })
    if (!isFailing) log.error({ err: error, queue }, message)
    isFailing = true
  }

  return {
    poll,
    stopClaiming() {
      isStopped = true
    },
    async drained() {
      while (isClaiming || running.size > 0) await Promise.all([claiming, ...running])
    },
  }
}
