import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { localSignals, type Signals } from '../database/signals.ts'
import { until } from '../test/until.ts'
import { doDueWork, startWorker, type Work, type Worker } from './worker.ts'

/** No look but the first would come by itself. */
const NEVER_LOOKS = { pollIntervalMs: 3_600_000 }

let signals: Signals
let logged: object[]
let log: Parameters<typeof startWorker>[0]['log']
const workers: Worker[] = []

beforeEach(() => {
  signals = localSignals()
  logged = []
  const note = (said: object) => logged.push(said)
  log = { error: note, warn: note, info: note, debug: note, fatal: note } as unknown as typeof log
})
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())))

/** A queue in memory; each look and each piece is held until the test lets it go, unless told otherwise. */
function desk({ hands = 3, free = true } = {}) {
  const waiting: string[] = []
  const looks: PromiseWithResolvers<void>[] = []
  const underWay = new Map<string, PromiseWithResolvers<void>>()
  const done: string[] = []
  const given: string[] = []
  const state = { free, most: 0, failing: false }
  const work: Work<string> = {
    queue: 'mail',
    hands,
    async claim(most) {
      const look = Promise.withResolvers<void>()
      looks.push(look)
      // What was there when it asked: what comes meanwhile, this look doesn't see.
      const taken = waiting.splice(0, most)
      if (!state.free) await look.promise
      if (state.failing) {
        waiting.unshift(...taken)
        throw new Error('away')
      }
      return taken
    },
    async carryOut(piece, stopping) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      underWay.set(piece, { promise, resolve, reject })
      state.most = Math.max(state.most, underWay.size)
      const giveBack = () => {
        given.push(piece)
        resolve()
      }
      stopping.addEventListener('abort', giveBack)
      if (stopping.aborted) giveBack()
      try {
        await promise
        done.push(piece)
      } finally {
        underWay.delete(piece)
      }
    },
  }
  const start = (options = NEVER_LOOKS) => {
    const worker = startWorker({ log, signals }, work, options)
    workers.push(worker)
    return worker
  }
  return { work, start, waiting, looks, underWay, done, given, state }
}

describe('a worker', () => {
  it('looks when it starts, when it is woken, and by itself', async () => {
    const { start, waiting, underWay } = desk()
    waiting.push('there already')
    start()
    await until('the first is taken', () => underWay.has('there already'))
    waiting.push('woken for')
    void signals.signal('mail')
    await until('the second is taken', () => underWay.has('woken for'))
    void signals.signal('photos')

    const alone = desk()
    alone.start({ pollIntervalMs: 20 })
    await until('it has looked', () => alone.looks.length > 0)
    alone.waiting.push('nobody said so')
    await until('it is found', () => alone.underWay.has('nobody said so'))
  })

  it('answers all wakes that come during a look by one further look', async () => {
    const { start, looks, waiting, underWay } = desk({ free: false })
    start()
    expect(looks).toHaveLength(1)
    waiting.push('came during the look')
    for (let i = 0; i < 50; i++) void signals.signal('mail')
    expect(looks).toHaveLength(1)
    looks[0]!.resolve()
    await until('it looks again', () => looks.length === 2)
    looks[1]!.resolve()
    await until('the piece is taken', () => underWay.has('came during the look'))
    // One that took something is followed by another, in case that there's more; then it rests.
    await until('it looks once more', () => looks.length === 3)
    looks[2]!.resolve()
    await new Promise(setImmediate)
    expect(looks).toHaveLength(3)
  })

  it('loses no wake, whichever moment of a look it comes at', async () => {
    for (let moment = 0; moment < 12; moment++) {
      const { start, waiting, underWay, looks } = desk({ free: false })
      const worker = start()
      looks[0]!.resolve()
      // So many turns of the microtask queue after the look's answer.
      for (let turn = 0; turn < moment; turn++) await Promise.resolve()
      waiting.push('piece')
      void signals.signal('mail')
      await until(`it is taken at moment ${moment}`, () => {
        for (const look of looks) look.resolve()
        return underWay.has('piece')
      })
      underWay.get('piece')!.resolve()
      await until('its hand is free', () => {
        for (const look of looks) look.resolve()
        return underWay.size === 0
      })
      for (const look of looks) look.resolve()
      await worker.stop()
    }
  })

  it('carries no more than it has hands, and goes on as each is free', async () => {
    const { start, waiting, underWay, done, state } = desk()
    waiting.push(...Array.from({ length: 20 }, (_, i) => `piece ${i}`))
    start()
    await until('all hands are busy', () => underWay.size === 3)
    for (let i = 0; i < 20; i++) {
      void signals.signal('mail')
      await until('there is one', () => underWay.size > 0)
      ;[...underWay.values()][0]!.resolve()
      await until('it is done', () => done.length === i + 1)
    }
    expect(state.most).toBe(3)
    expect(new Set(done).size).toBe(20)
  })

  it('remembers a wake that came while all hands were busy', async () => {
    const { start, waiting, underWay } = desk({ hands: 1 })
    waiting.push('first')
    start()
    await until('the hand is busy', () => underWay.has('first'))
    waiting.push('second')
    void signals.signal('mail')
    await new Promise(setImmediate)
    expect([...underWay.keys()]).toEqual(['first'])
    underWay.get('first')!.resolve()
    await until('the second is taken', () => underWay.has('second'))
  })

  it('goes on when a look fails, says so once, and once more after it had worked again', async () => {
    const { start, waiting, underWay, looks, state } = desk()
    state.failing = true
    waiting.push('piece')
    start({ pollIntervalMs: 5 })
    await until('it has looked several times', () => looks.length > 5)
    expect(logged).toHaveLength(1)
    expect(logged[0]).toMatchObject({ queue: 'mail', err: { message: 'away' } })
    state.failing = false
    await until('the piece is taken', () => underWay.has('piece'))
    state.failing = true
    await until('it has complained again', () => logged.length === 2)
  })

  it('goes on when a piece fails', async () => {
    const { start, waiting, underWay } = desk({ hands: 1 })
    waiting.push('bad', 'good')
    start({ pollIntervalMs: 5 })
    await until('the bad one is taken', () => underWay.has('bad'))
    underWay.get('bad')!.reject(new Error('no'))
    await until('the good one is taken', () => underWay.has('good'))
    expect(logged).toMatchObject([{ queue: 'mail', err: { message: 'no' } }])
  })
})

describe('a worker that is told to stop', () => {
  it('takes nothing more, and tells what is under way to give up', async () => {
    const { start, waiting, underWay, looks, done, given } = desk()
    waiting.push('piece')
    const worker = start()
    await until('it is taken', () => underWay.has('piece'))
    await until('the look is over', () => looks.length === 2)
    const stopped = worker.stop()
    waiting.push('too late')
    void signals.signal('mail')
    await stopped
    expect([given, done, waiting]).toEqual([['piece'], ['piece'], ['too late']])
  })

  it('lets what is under way finish in the time it gives', async () => {
    const { work, waiting, underWay, done, given } = desk()
    waiting.push('quick', 'slow')
    const worker = startWorker({ log, signals }, { ...work, graceMs: 100 }, NEVER_LOOKS)
    await until('they are taken', () => underWay.size === 2)
    const stopped = worker.stop()
    underWay.get('quick')!.resolve()
    await until('the quick one is done', () => done.includes('quick'))
    expect(given).toEqual([])
    await stopped
    expect(given.at(-1)).toBe('slow')
  })

  it('hands what a look was just taking over to be given back', async () => {
    const { start, waiting, looks, given } = desk({ free: false })
    waiting.push('just taken')
    const worker = start()
    const stopped = worker.stop()
    looks[0]!.resolve()
    await stopped
    expect(given).toEqual(['just taken'])
    expect(looks).toHaveLength(1)
  })
})

it('all that is due is done, and what becomes due meanwhile', async () => {
  const { work, waiting, underWay, done } = desk()
  waiting.push('first')
  const whole = doDueWork({ log }, work)
  await until('it is taken', () => underWay.has('first'))
  waiting.push('second')
  underWay.get('first')!.resolve()
  await until('the second is taken', () => underWay.has('second'))
  underWay.get('second')!.resolve()
  await whole
  expect(done).toEqual(['first', 'second'])
})
