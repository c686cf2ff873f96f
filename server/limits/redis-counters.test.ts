import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { StartError } from '../start-error.ts'
import { freePort } from '../test/free-port.ts'
import { redisServer, startRedis, type TestRedis } from '../test/redis.ts'
import { standStill } from '../test/stand-still.ts'
import { until } from '../test/until.ts'
import { whenFileEnds } from '../test/when-file-ends.ts'
import type { Counters } from './counters.ts'
import { rateLimiter } from './rate-limit.ts'
import { redisCounters } from './redis-counters.ts'

const WINDOW = 29_000_000
const AWAY = 'warn: Redis is unavailable: each process counts for itself'
const BACK = 'info: Redis is available again: all processes share their counters'

/** A timeout that a busy machine does not exceed. */
const PATIENT = 20_000
/** A timeout for the tests that wait until it has passed. */
const IMPATIENT = 1000
/** An upper bound for "does not wait for the server" that holds on every machine. */
const SECONDS = 10_000

const opened: Counters[] = []

/** The counters of one process, and their log lines. */
function countersAt(url: string, timeoutMs?: number) {
  const lines: string[] = []
  const details: object[] = []
  const write = (level: string) => (object: object, message: string) => {
    lines.push(`${level}: ${message}`)
    details.push(object)
  }
  const counters = redisCounters(url, {
    log: { warn: write('warn'), info: write('info') },
    timeoutMs,
  })
  opened.push(counters)
  return { counters, lines, details }
}

/** While the server is away, a hit is counted synchronously. */
function answersAtOnce(counters: Counters): boolean {
  return typeof counters.hit('anyone', WINDOW) === 'number'
}

/** Waits until hits are counted in Redis: a process with a short timeout may count its first hits in memory. */
async function connected(counters: Counters, redis: TestRedis): Promise<void> {
  await until('a hit is counted in Redis', async () => {
    await counters.hit('first', WINDOW)
    return redis.command('GET', `cardstall:rate:${WINDOW}:first`)
  })
}

const closeAll = () => Promise.all(opened.splice(0).map((counters) => counters.close()))
afterAll(closeAll)

/** A Redis server for one test. */
async function ownRedis(options?: Parameters<typeof startRedis>[0]): Promise<TestRedis> {
  const redis = await startRedis(options)
  whenFileEnds(() => redis.stop())
  return redis
}

describe.skipIf(!redisServer)('counters in Redis', () => {
  let redis: TestRedis

  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.stop())
  beforeEach(async () => {
    await redis.command('FLUSHALL')
  })
  afterEach(closeAll)

  it('two processes share the counters in Redis', async () => {
    const one = countersAt(redis.url, PATIENT)
    const two = countersAt(redis.url, PATIENT)
    expect(await one.counters.hit('alice', WINDOW)).toBe(1)
    expect(await two.counters.hit('alice', WINDOW)).toBe(2)
    expect(await one.counters.hit('alice', WINDOW)).toBe(3)
    expect(await two.counters.hit('bob', WINDOW)).toBe(1)
    expect(await two.counters.hit('alice', WINDOW + 1)).toBe(1)
    expect([...one.lines, ...two.lines]).toEqual([])
  })

  it('two processes count a burst exactly', async () => {
    const processes = [countersAt(redis.url, PATIENT), countersAt(redis.url, PATIENT)]
    const limiters = processes.map(({ counters }) => rateLimiter(counters, () => WINDOW * 60_000))
    const verdicts = await Promise.all(
      Array.from({ length: 200 }, (_, n) => limiters[n % 2]!.count('alice', 150)),
    )
    expect(verdicts.filter((verdict) => verdict.exceeded)).toHaveLength(50)
    expect(await processes[0]!.counters.hit('alice', WINDOW)).toBe(201)
  })

  it('a counter expires two windows after its first hit', async () => {
    const { counters } = countersAt(redis.url, PATIENT)
    await counters.hit('alice', WINDOW)
    const key = `cardstall:rate:${WINDOW}:alice`
    const ttl = Number(await redis.command('TTL', key))
    expect(ttl).toBeGreaterThan(100)
    expect(ttl).toBeLessThanOrEqual(120)

    await redis.command('EXPIRE', key, '60')
    await counters.hit('alice', WINDOW)
    expect(Number(await redis.command('TTL', key))).toBeLessThanOrEqual(60)
  })

  it('every key in Redis expires', async () => {
    const { counters } = countersAt(redis.url, PATIENT)
    await counters.hit('alice', WINDOW)
    const keys = (await redis.command('KEYS', '*')) as string[]
    expect(keys.every((key) => key.startsWith('cardstall:rate:'))).toBe(true)
    for (const key of keys) expect(await redis.command('TTL', key)).not.toBe(-1)
  })

  it('a response that a busy process reads late is not a Redis timeout', async () => {
    const { counters, lines } = countersAt(redis.url, IMPATIENT)
    await connected(counters, redis)
    const hit = counters.hit('alice', WINDOW)
    standStill(IMPATIENT * 1.2)
    await hit
    expect(await redis.command('GET', `cardstall:rate:${WINDOW}:alice`)).toBe('1')
    expect(counters.hit('alice', WINDOW)).toBeInstanceOf(Promise)
    expect(lines).toEqual([])
  })

  it('a start that blocks the process for longer than every timeout does not lose Redis', async () => {
    const { counters, lines } = countersAt(redis.url, IMPATIENT)
    for (let turn = 0; turn < 2; turn++) {
      standStill(2200)
      await new Promise(setImmediate)
    }
    await connected(counters, redis)
    expect(lines).toEqual([])
  })

  it('closing the counters answers the hits under way at once', async () => {
    const { counters, lines } = countersAt(redis.url, PATIENT)
    await counters.hit('alice', WINDOW)
    redis.pause()
    try {
      const hits = Array.from({ length: 5 }, () => counters.hit('alice', WINDOW))
      await counters.close()
      expect(await Promise.all(hits)).toEqual([1, 2, 3, 4, 5])
    } finally {
      redis.resume()
    }
    await counters.close()
    expect(answersAtOnce(counters)).toBe(true)
    expect(lines).toEqual([])
    // The connection is gone as well, not just unused: only this question's own is left.
    await until('the server has no connection of theirs', async () => {
      const clients = String(await redis.command('CLIENT', 'LIST'))
      return clients.trim().split('\n').length === 1
    })
  })

  it.each([
    ['is a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], 'READONLY'],
    [
      'is out of memory',
      ['CONFIG', 'SET', 'maxmemory', '1'],
      ['CONFIG', 'SET', 'maxmemory', '0'],
      'OOM',
    ],
  ])('count in memory while the server %s and answers errors', async (_, breaks, mends, reason) => {
    const { counters, lines, details } = countersAt(redis.url, PATIENT)
    expect(await counters.hit('alice', WINDOW)).toBe(1)
    await redis.command(...breaks)
    try {
      expect(await counters.hit('alice', WINDOW)).toBe(1)
      expect(counters.hit('alice', WINDOW)).toBe(2)
      await redis.command('CONFIG', 'RESETSTAT')
      await until('it was tried again', async () => {
        if (!answersAtOnce(counters)) throw new Error('a hit had to wait')
        return /cmdstat_eval:/.test(String(await redis.command('INFO', 'commandstats')))
      })
      expect(lines).toEqual([AWAY])
      expect(details[0]).toMatchObject({ reason: expect.stringContaining(reason) })
    } finally {
      await redis.command(...mends)
    }
    await until('the counters are back', () => lines.length > 1)
    expect(lines).toEqual([AWAY, BACK])
    expect(await counters.hit('bob', WINDOW)).toBe(1)
  })

  it('a key of another type is counted in memory', async () => {
    const { counters, lines } = countersAt(redis.url, PATIENT)
    await redis.command('RPUSH', `cardstall:rate:${WINDOW}:alice`, 'not a number')
    expect(await counters.hit('alice', WINDOW)).toBe(1)
    expect(lines).toEqual([AWAY])
  })
})

// The tests from here on have servers of their own, and mostly wait for time limits.

describe.skipIf(!redisServer)('when Redis goes away', { concurrent: true }, () => {
  it('processes count separately while Redis is away, and together once it is back', async () => {
    const redis = await ownRedis()
    const one = countersAt(redis.url, PATIENT)
    const two = countersAt(redis.url, PATIENT)
    await one.counters.hit('alice', WINDOW)
    await two.counters.hit('alice', WINDOW)

    await redis.kill()
    expect(await one.counters.hit('alice', WINDOW)).toBe(1)
    await until('both know', () => answersAtOnce(one.counters) && answersAtOnce(two.counters))
    for (let n = 0; n < 50; n++) one.counters.hit('alice', WINDOW)
    expect(one.counters.hit('alice', WINDOW)).toBe(52)
    expect(two.counters.hit('alice', WINDOW)).toBe(1)
    expect(one.lines).toEqual([AWAY])

    await redis.start()
    await until('both are back', () => one.lines.length > 1 && two.lines.length > 1)
    expect(await one.counters.hit('alice', WINDOW)).toBe(1)
    expect(await two.counters.hit('alice', WINDOW)).toBe(2)
    expect(one.lines).toEqual([AWAY, BACK])
    expect(two.lines).toEqual([AWAY, BACK])

    await redis.kill()
    await until('both know again', () => one.lines.length > 2 && two.lines.length > 2)
    expect(one.lines).toEqual([AWAY, BACK, AWAY])
    expect(two.lines).toEqual([AWAY, BACK, AWAY])
  })

  it('a hit under way when Redis goes away is counted in memory', async () => {
    const redis = await ownRedis()
    const { counters, lines } = countersAt(redis.url, PATIENT)
    await counters.hit('alice', WINDOW)
    redis.pause()
    const hits = Array.from({ length: 20 }, () => counters.hit('alice', WINDOW))
    await redis.kill()
    expect(await Promise.all(hits)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(lines).toEqual([AWAY])
  })

  it('a silent Redis delays the first hits by the timeout, and later hits not at all', async () => {
    const redis = await ownRedis()
    const { counters, lines, details } = countersAt(redis.url, IMPATIENT)
    await connected(counters, redis)
    redis.pause()
    const asked = performance.now()
    const hits = Array.from({ length: 20 }, () => counters.hit('alice', WINDOW))
    expect(await Promise.all(hits)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(performance.now() - asked).toBeLessThan(SECONDS)
    expect(counters.hit('alice', WINDOW)).toBe(21)
    expect(lines).toEqual([AWAY])
    expect(details).toEqual([{ reason: 'no response within 1000 ms' }])

    redis.resume()
    await until('they are back', () => lines.includes(BACK))
    expect(lines).toEqual([AWAY, BACK])
  })

  it('a silent Redis is retried in the background without delaying a hit', async () => {
    const redis = await ownRedis()
    const { counters, lines } = countersAt(redis.url, IMPATIENT)
    await connected(counters, redis)
    redis.pause()
    await counters.hit('alice', WINDOW)
    // Past the first pause and into the next attempt, which finds an open port and no answer.
    const later = performance.now() + 3000
    await until('the next attempt is under way or over', () => {
      if (!answersAtOnce(counters)) throw new Error('a hit had to wait')
      return performance.now() > later
    })
    expect(lines).toEqual([AWAY])
  })
})

describe.concurrent('without a Redis at the start', () => {
  it('without Redis at the start, requests are counted in memory, and one line is logged', async () => {
    const { counters, lines, details } = countersAt(`redis://127.0.0.1:${await freePort()}`)
    expect(await counters.hit('alice', WINDOW)).toBe(1)
    await until('they know', () => answersAtOnce(counters))
    expect(counters.hit('alice', WINDOW)).toBe(2)
    await until('it is logged', () => lines.length > 0)
    expect(lines).toEqual([AWAY])
    expect(details).toEqual([{ reason: expect.stringContaining('ECONNREFUSED') }])
  })

  it('a server that accepts connections and never answers delays only the first hits', async () => {
    const silent = await silentServer()
    try {
      const { counters, lines } = countersAt(silent.url, IMPATIENT)
      const asked = performance.now()
      expect(await counters.hit('alice', WINDOW)).toBe(1)
      expect(performance.now() - asked).toBeLessThan(SECONDS)
      expect(lines).toEqual([]) // the attempt itself goes on for longer
      expect(counters.hit('alice', WINDOW)).toBe(2)
      await until('it is logged', () => lines.length > 0)
      expect(lines).toEqual([AWAY])
    } finally {
      await silent.stop()
    }
  })

  it('Redis is retried after a second, then with growing pauses', async () => {
    const attempts: number[] = []
    const server = createServer((socket) => {
      attempts.push(performance.now())
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await until('it listens', () => server.listening)
    try {
      const { lines } = countersAt(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`)
      await until('a third attempt', () => attempts.length >= 3)
      const [first, second, third] = attempts as [number, number, number]
      expect(second - first).toBeGreaterThan(900)
      expect(third - second).toBeGreaterThan(1900)
      expect(lines).toEqual([AWAY])
    } finally {
      server.close()
    }
  })

  it('closing the counters ends the connection attempt under way', async () => {
    const silent = await silentServer()
    try {
      const { counters, lines } = countersAt(silent.url, PATIENT)
      const hit = counters.hit('alice', WINDOW)
      await until('an attempt is under way', () => silent.connections() > 0)
      await counters.close()
      expect(await hit).toBe(1)
      await until('the connection is given up', () => silent.connections() === 0)
      expect(lines).toEqual([])
    } finally {
      await silent.stop()
    }
  })

  it('closing the counters leaves no half-open connection, however far it has come', async () => {
    const silent = await silentServer()
    const moments = [
      async () => {},
      () => new Promise<void>((resolve) => process.nextTick(resolve)),
      () => new Promise<void>((resolve) => setImmediate(resolve)),
    ]
    try {
      for (const [n, moment] of moments.entries()) {
        const { counters } = countersAt(silent.url)
        await moment()
        await counters.close()
        // Accepted after all earlier connections.
        const last = connect(Number(new URL(silent.url).port), '127.0.0.1')
        await once(last, 'connect')
        last.destroy()
        await until(`all of moment ${n} are gone`, () => silent.connections() === 0)
      }
      expect(silent.accepted()).toBeGreaterThanOrEqual(moments.length)
    } finally {
      await silent.stop()
    }
  })

  it.skipIf(!redisServer)('closing the counters stops further connection attempts', async () => {
    const redis = await ownRedis()
    await redis.kill()
    const { counters, lines } = countersAt(redis.url)
    await until('the first attempt has failed', () => lines.length > 0)
    await counters.close()
    await redis.start()
    const later = performance.now() + 2000
    await until('the next attempt would be over', () => performance.now() > later)
    const clients = String(await redis.command('CLIENT', 'LIST'))
    expect(clients.trim().split('\n')).toHaveLength(1)
    expect(lines).toEqual([AWAY])
  })

  it.skipIf(!redisServer)('the counters move to Redis as soon as it is available', async () => {
    const redis = await ownRedis()
    await redis.kill()
    const { counters, lines } = countersAt(redis.url, PATIENT)
    await until('it is logged', () => lines.length > 0)
    await redis.start()
    await until('they are back', () => lines.length > 1)
    expect(lines).toEqual([AWAY, BACK])
    expect(await counters.hit('alice', WINDOW)).toBe(1)
    expect(await redis.command('GET', `cardstall:rate:${WINDOW}:alice`)).toBe('1')
  })
})

describe.concurrent('the password of a Redis', () => {
  it.skipIf(!redisServer)('the password in REDIS_URL opens Redis', async () => {
    const redis = await ownRedis({ arguments: ['--requirepass', 'op:en/sesame'] })
    const url = redis.url.replace('redis://', 'redis://:op%3Aen%2Fsesame@')
    const { counters, lines } = countersAt(url, PATIENT)
    expect(await counters.hit('alice', WINDOW)).toBe(1)
    expect(counters.hit('alice', WINDOW)).toBeInstanceOf(Promise)
    expect(lines).toEqual([])
  })

  it.skipIf(!redisServer).each([
    ['is wrong', ['--requirepass', 'another'], 'WRONGPASS'],
    ['is quoted back by the server', ['--rename-command', 'AUTH', ''], 'unknown command'],
  ])('the password in REDIS_URL is not logged when it %s', async (_, options, reason) => {
    const redis = await ownRedis({ arguments: options })
    const url = redis.url.replace('redis://', 'redis://user:op%3Aen-sesame@')
    const { lines, details } = countersAt(url, PATIENT)
    await until('it is logged', () => lines.length > 0)
    expect(details).toEqual([{ reason: expect.stringContaining(reason) }])
    expect(JSON.stringify(details)).not.toMatch(/sesame/)
  })

  it('the error for an invalid REDIS_URL does not show the password', () => {
    const refuse = (url: string) => {
      try {
        countersAt(url)
      } catch (error) {
        return error
      }
    }
    for (const url of [
      'redis://:sesame@[',
      'redis://:sesame@localhost/first',
      'http://:sesame@x',
    ]) {
      const error = refuse(url)
      expect(error).toBeInstanceOf(StartError)
      expect(JSON.stringify([error, String(error), (error as Error).cause])).not.toMatch(/sesame/)
    }
  })
})

/** Accepts connections and never answers. */
async function silentServer() {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer((socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  }).listen(0, '127.0.0.1')
  await until('the silent server listens', () => server.listening)
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted: () => accepted,
    connections: () => sockets.size,
    stop() {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
