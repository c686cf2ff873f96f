import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { currentBudget, newBudget, withBudget } from '../database/budget.ts'
import { localSignals, type Signals } from '../database/signals.ts'
import { DatabaseUnavailable } from '../database/unavailable.ts'
import { until } from '../test/until.ts'
import { drainQueue, startWorker, type Work, type Worker } from './worker.ts'

/** An interval that never ends during a test: the worker polls at its start and at signals only. */
const NO_INTERVAL = { pollIntervalMs: 3_600_000 }

let signals: Signals
let logged: { level: string }[]
let log: Parameters<typeof startWorker>[0]['log']
const workers: Worker[] = []

beforeEach(() => {
  signals = localSignals()
  logged = []
  const record = (level: string) => (fields: object) => logged.push({ level, ...fields })
  log = {
    error: record('error'),
    warn: record('warn'),
    info: record('info'),
    debug: record('debug'),
    fatal: record('fatal'),
  } as unknown as typeof log
})
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())))

/** A queue in memory. Each job runs until the test settles it; so does each claim, with `holdClaims`. */
function memoryQueue({ concurrency = 3, holdClaims = false } = {}) {
  const waiting: string[] = []
  const claims: PromiseWithResolvers<void>[] = []
  const running = new Map<string, PromiseWithResolvers<void>>()
  const finished: string[] = []
  const released: string[] = []
  const state = { maxRunning: 0, isFailing: false, failure: new Error('away') }
  const work: Work<string> = {
    queue: 'mail',
    concurrency,
    async claim(max) {
      const claim = Promise.withResolvers<void>()
      claims.push(claim)
      // Like a query, a claim does not see jobs that arrive after it has begun.
      const claimed = waiting.splice(0, max)
      if (holdClaims) await claim.promise
      if (state.isFailing) {
        waiting.unshift(...claimed)
        throw state.failure
      }
      return claimed
    },
    async run(job, stopping) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      running.set(job, { promise, resolve, reject })
      state.maxRunning = Math.max(state.maxRunning, running.size)
      const release = () => {
        released.push(job)
        resolve()
      }
      stopping.addEventListener('abort', release)
      if (stopping.aborted) release()
      try {
        await promise
        finished.push(job)
      } finally {
        running.delete(job)
      }
    },
  }
  const start = (options = NO_INTERVAL) => {
    const worker = startWorker({ log, signals }, work, options)
    workers.push(worker)
    return worker
  }
  return { work, start, waiting, claims, running, finished, released, state }
}

describe('a worker', () => {
  it('a worker polls at its start, at each signal of its queue, and at an interval', async () => {
    const { start, waiting, running } = memoryQueue()
    waiting.push('before the start')
    start()
    await until('the first job runs', () => running.has('before the start'))
    waiting.push('signalled')
    void signals.signal('mail')
    await until('the second job runs', () => running.has('signalled'))
    void signals.signal('photos')

    const polling = memoryQueue()
    polling.start({ pollIntervalMs: 20 })
    await until('it has polled', () => polling.claims.length > 0)
    polling.waiting.push('without a signal')
    await until('the job is found', () => polling.running.has('without a signal'))
  })

  it('a worker does not claim or run jobs on the time budget of the request that signals them', async () => {
    const budgets: unknown[] = []
    const { work, start, waiting } = memoryQueue()
    const { claim } = work
    work.claim = (max) => {
      budgets.push(currentBudget())
      return claim(max)
    }
    work.run = async () => {
      budgets.push(currentBudget())
    }
    start()
    await until('the first claim has ended', () => budgets.length === 1)
    await new Promise(setImmediate)
    waiting.push('signalled')
    void withBudget(newBudget(50), () => signals.signal('mail'))
    await until('the job has run', () => budgets.length >= 3)
    expect(new Set(budgets)).toEqual(new Set([undefined]))
  })

  it('all signals during a claim lead to one further claim', async () => {
    const { start, claims, waiting, running } = memoryQueue({ holdClaims: true })
    start()
    expect(claims).toHaveLength(1)
    waiting.push('arrived during the claim')
    for (let i = 0; i < 50; i++) void signals.signal('mail')
    expect(claims).toHaveLength(1)
    claims[0]!.resolve()
    await until('it claims again', () => claims.length === 2)
    claims[1]!.resolve()
    await until('the job runs', () => running.has('arrived during the claim'))
    // A claim that returned a job is followed by another, because there may be more. An empty one isn't.
    await until('it claims once more', () => claims.length === 3)
    claims[2]!.resolve()
    await new Promise(setImmediate)
    expect(claims).toHaveLength(3)
  })

  it('no signal is lost, at whichever moment of a claim it arrives', async () => {
    for (let moment = 0; moment < 12; moment++) {
      const { start, waiting, running, claims } = memoryQueue({ holdClaims: true })
      const worker = start()
      claims[0]!.resolve()
      // The signal arrives `moment` turns of the microtask queue after the claim has returned.
      for (let turn = 0; turn < moment; turn++) await Promise.resolve()
      waiting.push('job')
      void signals.signal('mail')
      await until(`the job runs at moment ${moment}`, () => {
        for (const claim of claims) claim.resolve()
        return running.has('job')
      })
      running.get('job')!.resolve()
      await until('the job has finished', () => {
        for (const claim of claims) claim.resolve()
        return running.size === 0
      })
      for (const claim of claims) claim.resolve()
      await worker.stop()
    }
  })

  it('a worker never runs more jobs than its concurrency, and runs all of them', async () => {
    const { start, waiting, running, finished, state } = memoryQueue()
    waiting.push(...Array.from({ length: 20 }, (_, i) => `job ${i}`))
    start()
    await until('the pool is full', () => running.size === 3)
    for (let i = 0; i < 20; i++) {
      void signals.signal('mail')
      await until('a job runs', () => running.size > 0)
      ;[...running.values()][0]!.resolve()
      await until('it has finished', () => finished.length === i + 1)
    }
    expect(state.maxRunning).toBe(3)
    expect(new Set(finished).size).toBe(20)
  })

  it('a signal that arrives while the pool is full is remembered', async () => {
    const { start, waiting, running } = memoryQueue({ concurrency: 1 })
    waiting.push('first')
    start()
    await until('the pool is full', () => running.has('first'))
    waiting.push('second')
    void signals.signal('mail')
    await new Promise(setImmediate)
    expect([...running.keys()]).toEqual(['first'])
    running.get('first')!.resolve()
    await until('the second job runs', () => running.has('second'))
  })

  it('failing claims are retried and logged once, and again after a claim has succeeded', async () => {
    const { start, waiting, running, claims, state } = memoryQueue()
    state.isFailing = true
    waiting.push('job')
    start({ pollIntervalMs: 5 })
    await until('several claims have failed', () => claims.length > 5)
    expect(logged).toHaveLength(1)
    expect(logged[0]).toMatchObject({ queue: 'mail', err: { message: 'away' } })
    state.isFailing = false
    await until('the job runs', () => running.has('job'))
    state.isFailing = true
    await until('the failure is logged again', () => logged.length === 2)
  })

  it('claims that meet an outage of the database are occasional warnings, and another failure after them is an error', async () => {
    const { start, claims, state } = memoryQueue()
    state.isFailing = true
    state.failure = new DatabaseUnavailable('refused')
    start({ pollIntervalMs: 5 })
    await until('several claims have failed', () => claims.length > 5)
    state.failure = new Error('broken')
    await until('the other failure is logged', () => logged.at(-1)?.level === 'error')
    expect(logged.length).toBeLessThan(claims.length)
    expect(logged[0]).toMatchObject({ level: 'warn', queue: 'mail', err: { message: 'refused' } })
    expect(logged.at(-1)).toMatchObject({ queue: 'mail', err: { message: 'broken' } })
  })

  it('a job that throws is logged, and the next one runs', async () => {
    const { start, waiting, running } = memoryQueue({ concurrency: 1 })
    waiting.push('bad', 'good')
    start({ pollIntervalMs: 5 })
    await until('the bad job runs', () => running.has('bad'))
    running.get('bad')!.reject(new Error('no'))
    await until('the good job runs', () => running.has('good'))
    expect(logged).toMatchObject([{ queue: 'mail', err: { message: 'no' } }])
  })
})

describe('a worker that is stopped', () => {
  it('a stopped worker claims nothing more and has its running jobs released', async () => {
    const { start, waiting, running, claims, finished, released } = memoryQueue()
    waiting.push('job')
    const worker = start()
    await until('the job runs', () => running.has('job'))
    await until('the last claim has returned', () => claims.length === 2)
    const stopped = worker.stop()
    waiting.push('too late')
    void signals.signal('mail')
    await stopped
    expect([released, finished, waiting]).toEqual([['job'], ['job'], ['too late']])
  })

  it('a stopped worker lets running jobs finish during the grace period', async () => {
    const { work, waiting, running, finished, released } = memoryQueue()
    waiting.push('quick', 'slow')
    const worker = startWorker({ log, signals }, { ...work, graceMs: 100 }, NO_INTERVAL)
    await until('both jobs run', () => running.size === 2)
    const stopped = worker.stop()
    running.get('quick')!.resolve()
    await until('the quick job has finished', () => finished.includes('quick'))
    expect(released).toEqual([])
    await stopped
    expect(released.at(-1)).toBe('slow')
  })

  it('a job whose claim returns after the stop is released', async () => {
    const { start, waiting, claims, released } = memoryQueue({ holdClaims: true })
    waiting.push('just claimed')
    const worker = start()
    const stopped = worker.stop()
    claims[0]!.resolve()
    await stopped
    expect(released).toEqual(['just claimed'])
    expect(claims).toHaveLength(1)
  })
})

it('drainQueue runs every due job, including those that become due meanwhile', async () => {
  const { work, waiting, running, finished } = memoryQueue()
  waiting.push('first')
  const drained = drainQueue({ log }, work)
  await until('the first job runs', () => running.has('first'))
  waiting.push('second')
  running.get('first')!.resolve()
  await until('the second job runs', () => running.has('second'))
  running.get('second')!.resolve()
  await drained
  expect(finished).toEqual(['first', 'second'])
})
