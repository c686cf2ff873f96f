import cluster, { type Worker } from 'node:cluster'
import type { Config } from '../config.ts'
import { dashboardBuild } from '../dashboard/build.ts'
import { useDataDir } from '../files/data-dir.ts'
import { memoryCounters } from '../limits/counters.ts'
import type { Log } from '../log.ts'
import { countProcessFailures, type ProcessFailure, type ProcessMetrics } from '../metrics.ts'
import { waitUntil } from '../time/wait-until.ts'
import { type Channel, openChannel } from './channel.ts'
import { keepHeapSmall } from './compact-memory.ts'
import { gatherMetrics } from './gathered-metrics.ts'
import { hangs } from './hanging.ts'
import { onOneAddress, openInstallation, print, refuseTakenPort } from './installation.ts'
import { runUntilStopped, type Started } from './lifecycle.ts'
import { PROCESS_COMMAND } from './process-command.ts'
import { countHits } from './shared-counters.ts'

/** A process that ran for less than this is replaced with a delay, which doubles each time. */
const STABLE_MS = 10_000
const MIN_DELAY_MS = 500
const MAX_DELAY_MS = 30_000
/** Longer than a process takes to stop: 10 s for its requests, then its deliveries and its connections. */
const STOP_TIMEOUT_MS = 25_000
/** A process that doesn't answer has its former metrics, and gets a signal from the database alone. */
const ANSWER_TIMEOUT_MS = 1_000

/**
 * Runs the service in `config.processes` processes, until a signal stops it. This primary process serves no requests:
 * it accepts connections and distributes them in turn, keeps the embedded database running, counts the rate limits, and
 * replaces processes that end or hang.
 *
 * @returns the exit code
 * @throws StartError if the service cannot start
 */
export const runProcesses = (settings: Config, warnings: string[]): Promise<number> =>
  runUntilStopped(settings, (started) => start(onOneAddress(settings), started), { warnings })

async function start(config: Config, started: Started): Promise<void> {
  await refuseTakenPort(config)
  started.closers.push(dashboardBuild().start(started.log).stop)
  // The first process checks an external database.
  if (config.databaseUrl === undefined) {
    started.closers.push(await useDataDir(config))
    await openInstallation(config, started)
  }
  const processes = openProcesses(started)
  started.closers.push(processes.stop)
  // Alone, because it migrates the database and imports the catalog, or reports why it cannot start.
  const welcome = await processes.add()
  await Promise.all(Array.from({ length: config.processes - 1 }, processes.add))
  keepHeapSmall()
  print(welcome)
}

type Running = { worker: Worker; channel: Channel }

function openProcesses({ log, fail }: Started) {
  const counters = memoryCounters()
  const gathered = gatherMetrics<Worker>()
  const failures = countProcessFailures()
  const running = new Set<Running>()
  /** Whether a process has been ready. From then on, no end of a process ends the service. */
  let isServing = false
  let isStopping = false
  cluster.setupPrimary({ args: [PROCESS_COMMAND] })

  const others = (asking: Worker) => [...running].filter(({ worker }) => worker !== asking)

  /** Resolves when all processes but the one that asks have answered, or don't. */
  const tellOthers = (asking: Worker, notice: unknown) =>
    Promise.all(
      others(asking).map(({ channel }) => channel.ask('signal', notice, ANSWER_TIMEOUT_MS)),
    )

  const metricsOfOthers = async (asking: Worker, own: ProcessMetrics) => {
    gathered.set(asking, own)
    await Promise.all(
      others(asking).map(async (other) => {
        const { worker, channel } = other
        const metrics = await channel.ask<ProcessMetrics>('metrics', null, ANSWER_TIMEOUT_MS)
        if (metrics) gathered.set(worker, metrics)
      }),
    )
    return [...(await gathered.besides(asking)), await failures.metrics()]
  }

  /**
   * Starts a process, and replaces it when it ends. Resolves when it is ready, with the text to print. The first one must
   * become ready: otherwise the service can't start.
   */
  const add = (): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>()
    let delayMs = MIN_DELAY_MS
    const run = () => {
      if (isStopping) return
      const worker = cluster.fork()
      closeLostConnection(worker)
      const startedAt = performance.now()
      let failure: ProcessFailure = 'start'
      let reason: string | undefined
      const channel = openChannel(worker, {
        answers: {
          count: countHits(counters),
          metrics: (own: ProcessMetrics) => metricsOfOthers(worker, own),
          signal: (notice) => tellOthers(worker, notice),
          failed(text: string) {
            reason = text
          },
        },
        news: {
          ready(welcome: string) {
            isServing = true
            failure = 'crash'
            resolve(welcome)
            void killIfItHangs()
          },
        },
      })
      const one = { worker, channel }
      running.add(one)
      const killIfItHangs = async () => {
        const isWatched = () => running.has(one) && !isStopping
        if (!(await hangs(channel, isWatched))) return
        failure = 'hang'
        log.error({ hungPid: worker.process.pid }, 'a process of the service hangs; killing it')
        worker.process.kill('SIGKILL')
      }
      worker.once('exit', (code, signal) => {
        running.delete(one)
        gathered.end(worker)
        if (isStopping) return
        if (!isServing) {
          if (reason !== undefined) process.stderr.write(`${reason}\n`)
          if (signal) {
            const ended = { endedPid: worker.process.pid, signal }
            log.fatal(ended, 'a process of the service was killed during its start')
          }
          return fail()
        }
        const isStable = performance.now() - startedAt > STABLE_MS
        delayMs = isStable ? MIN_DELAY_MS : Math.min(2 * delayMs, MAX_DELAY_MS)
        report(log, worker, { code, signal, reason })
        if (code !== 0) failures.count(failure)
        setTimeout(run, isStable ? 0 : delayMs)
      })
    }
    run()
    return promise
  }

  return {
    add,
    /** Stops all processes, and kills those that don't stop in time. */
    async stop() {
      isStopping = true
      for (const { worker } of running) worker.process.kill('SIGTERM')
      if (await waitUntil(STOP_TIMEOUT_MS, () => running.size === 0 || undefined)) return
      log.error('shutdown timeout: killing processes that have not stopped')
      for (const { worker } of running) worker.process.kill('SIGKILL')
      await waitUntil(STOP_TIMEOUT_MS, () => running.size === 0 || undefined)
    },
  }
}

/**
 * Closes the connection that was passed to a process when it ended: nobody took it, and Node would never close it.
 * Node passes one connection at a time and closes its own copy once the process has taken it; to close it again does
 * nothing.
 */
function closeLostConnection(worker: Worker): void {
  let passed: { close(): void } | undefined
  const child = worker.process
  const send = child.send as (message: { act?: string }, handle?: typeof passed) => boolean
  child.send = ((message: { act?: string }, handle?: typeof passed, ...others: []) => {
    if (message.act === 'newconn') passed = handle
    return send.call(child, message, handle, ...others)
  }) as typeof child.send
  worker.once('exit', () => passed?.close())
}

type End = { code: number; signal: string; reason: string | undefined }

function report(log: Log, { process: { pid } }: Worker, { code, signal, reason }: End): void {
  const message = 'a process of the service has ended; starting another one'
  if (code === 0) log.info({ endedPid: pid }, message)
  else log.error({ endedPid: pid, code, signal, reason }, message)
}
