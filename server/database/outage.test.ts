import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { type DatabaseProxy, databaseProxy } from '../test/database-proxy.ts'
import { emptyDatabase, makeStandby, query, start } from '../test/embedded-homes.ts'
import { standStill } from '../test/stand-still.ts'
import { until } from '../test/until.ts'
import { newBudget, withBudget } from './budget.ts'
import { circuitFor, connect } from './connect.ts'
import { POOL_LIMITS } from './pool.ts'
import { openSignals } from './signals.ts'
import type { Db, Sql } from './sql.ts'
import { savepoint, type Transactions, transactionsOn } from './transactions.ts'
import { DatabaseUnavailable, isUnavailable } from './unavailable.ts'

/** Database outages as clients see them. The limits are shorter than in production, in the same order. */
const STATEMENT_MS = 1_500
const limits = { ...POOL_LIMITS, statementMs: STATEMENT_MS, suspectMs: 300, maxStatements: 20 }

let direct: Sql
let url: string
beforeAll(async () => {
  ;({ db: direct, url } = await testDatabase())
  await direct`create table marks (text text primary key)`
})

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error) => error,
  )
const one = (db: Db) => db`select 1 as one`
const works = async (db: Db) => (await one(db).catch(() => undefined))?.[0]?.one === 1
const succeeds = async (begin: Transactions['begin']) => !(await failure(begin(one)))

/** Shorter than the 10 s after which the client's own pool would reconnect. */
const RECOVERY_MS = 5_000

/** Ends the outage and waits until `works`. The time that this machine needs for a connection does not count. */
async function restore(proxy: DatabaseProxy, works: () => Promise<boolean>): Promise<void> {
  await proxy.restore()
  await query(proxy.url, 'select 1')
  await until('it works again', works, RECOVERY_MS)
}

async function withPool(
  work: (pool: Sql, proxy: DatabaseProxy) => Promise<void>,
  options: { max?: number; timeoutMs?: number } = {},
): Promise<void> {
  const proxy = await databaseProxy(url)
  const circuit = circuitFor(proxy.url, {
    probeIntervalMs: 50,
    silenceMs: 300,
    timeoutMs: options.timeoutMs ?? 500,
  })
  const pool = connect(proxy.url, { max: options.max ?? 3, limits, circuit })
  try {
    await until('the pool works', () => works(pool))
    await work(pool, proxy)
  } finally {
    await proxy.restore()
    await pool.end({ timeout: 1 })
  }
}

async function withTransactions(
  work: (begin: Transactions['begin'], proxy: DatabaseProxy) => Promise<void>,
): Promise<void> {
  const proxy = await databaseProxy(url)
  const circuit = circuitFor(proxy.url, { probeIntervalMs: 50, silenceMs: 300, timeoutMs: 500 })
  const { begin, end } = transactionsOn(proxy.url, 2, {
    circuit,
    waitMs: STATEMENT_MS,
    writeMs: STATEMENT_MS,
    silenceMs: STATEMENT_MS,
    maxWaiting: 5,
  })
  try {
    await until('transactions work', () => succeeds(begin))
    await work(begin, proxy)
  } finally {
    await proxy.restore()
    await end()
  }
}

it('a database that has become a read-only standby is unavailable to writes until it is promoted', async () => {
  const dataDir = await emptyDatabase()
  makeStandby(dataDir)
  const { url } = await start(dataDir)
  const circuit = circuitFor(url)
  const pool = connect(url, { max: 1, limits, circuit })
  const { begin, end } = transactionsOn(url, 1, { circuit })
  const sessions = () => Promise.all([pool, begin].map(pidIn))
  const pidIn = async (db: Sql | Transactions['begin']) => {
    const pid = (db: Db) => db<{ pid: number }[]>`select pg_backend_pid() as pid`
    return 'unsafe' in db ? pid(db) : db(pid, 'snapshot')
  }
  try {
    const before = await sessions()
    // The read follows on the same connection.
    const [written, read] = await Promise.all([failure(pool`create table written ()`), one(pool)])
    expect([isUnavailable(written), read]).toEqual([true, [{ one: 1 }]])
    expect(isUnavailable(await failure(begin((db) => db`create table written ()`)))).toBe(true)
    // A new session reaches the new primary behind the same name.
    for (const [i, session] of (await sessions()).entries()) expect(session).not.toEqual(before[i])
    // It may take longer than a statement of the pool may.
    await query(url, 'select pg_promote()')
    await pool`create table written ()`
    await begin((db) => db`drop table written`)
  } finally {
    await pool.end({ timeout: 1 })
    await end()
  }
})

it.each([
  ['its database', 'alter database cardstall'],
  ['all databases of the server', 'alter system'],
])(
  'a setting that makes %s read-only stops the transactions that write, until it is reset',
  async (_, change) => {
    const { url } = await start(await emptyDatabase(), { databaseName: 'cardstall' })
    const admin = new URL(url)
    admin.searchParams.set('default_transaction_read_only', 'off')
    await query(admin.href, 'create table written ()')
    const set = async (value: 'on' | 'off') => {
      await query(admin.href, `${change} set default_transaction_read_only = ${value}`)
      if (change === 'alter system') return query(admin.href, 'select pg_reload_conf()')
      const others = `application_name = 'cardstall' and pid <> pg_backend_pid()`
      return query(
        admin.href,
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity where ${others}`,
      )
    }
    const { begin, end } = transactionsOn(url, 2)
    const insert = (db: Db) => db`insert into written default values`
    const write = () => failure(begin(insert))
    const writeInSavepoint = () => failure(begin((db) => savepoint(db, insert)))
    const writes = async () => [await write(), await writeInSavepoint()]
    try {
      expect(await writes()).toEqual([undefined, undefined])
      await set('on')
      await until('a write is refused', async () => /read-only/.test(String(await write())), 5_000)
      for (const refused of await writes()) expect(isUnavailable(refused)).toBe(true)
      expect(await failure(begin(one, 'snapshot'))).toBe(undefined)
      await set('off')
      await until('a write works', async () => (await write()) === undefined, 5_000)
      expect(await writes()).toEqual([undefined, undefined])
    } finally {
      await end()
    }
  },
)

/** The session that watches commits, after its first look. */
const WATCH = `
  select from pg_stat_activity
  where query like '%pg_postmaster_start_time()%' and state = 'idle' and pid <> pg_backend_pid()
`

it('a commit that waits for a synchronous standby becomes visible only after the standby has it, and meanwhile reads work and further writes fail at once', async () => {
  const { url } = await start(await emptyDatabase())
  await query(url, 'create table marks (text text)')
  await query(url, `alter role current_user set timezone to 'Asia/Tokyo'`)
  const { begin, end } = transactionsOn(url, 2, { silenceMs: STATEMENT_MS })
  const write = (text: string) => begin((db) => db`insert into marks values (${text})`)
  const marks = () => begin((db) => db`select text from marks order by text`, 'snapshot')
  const waitFor = async (standbys: string) => {
    await query(url, `alter system set synchronous_standby_names = '${standbys}'`)
    await query(url, 'select pg_reload_conf()')
  }
  const probes: Promise<unknown>[] = []
  try {
    await waitFor('missing')
    // The reload takes effect some time later.
    await until('commits wait', async () => {
      probes.push(query(url, 'create temporary table probe ()'))
      const waiting = await query(url, `select from pg_stat_activity where wait_event = 'SyncRep'`)
      return waiting.length > 0
    })
    const failures = await Promise.all(['a', 'b'].map((text) => failure(write(text))))
    expect(failures.map(isUnavailable)).toEqual([true, true])
    const refused = { message: expect.stringMatching(/standby/) }
    expect(await failure(write('c'))).toMatchObject(refused)
    await until('the service has looked at the sessions', async () => {
      const [watch] = await query(url, WATCH)
      return watch !== undefined
    })
    expect(await failure(write('c'))).toMatchObject(refused)
    expect(await marks()).toEqual([])
    await waitFor('')
    await until('the commits have ended', async () => (await marks()).length === 2)
    await until('writes work', async () => !(await failure(write('d'))))
    expect(await marks()).toEqual(['a', 'b', 'd'].map((text) => ({ text })))
  } finally {
    await waitFor('')
    await Promise.all([end(), ...probes])
  }
})

it('commits on connections that are lost without a word keep no later transaction from working', async () => {
  const proxy = await databaseProxy(url)
  // The database is never suspect, because new connections work.
  const { begin, end } = transactionsOn(proxy.url, 2, { silenceMs: STATEMENT_MS })
  let begun = 0
  const lost = Promise.withResolvers<void>()
  const work = async (tx: Db) => {
    await one(tx)
    begun++
    await lost.promise
  }
  const failures = [failure(begin(work)), failure(begin(work))]
  await until('both transactions have begun', async () => begun === 2)
  proxy.swallow()
  lost.resolve()
  expect((await Promise.all(failures)).map(isUnavailable)).toEqual([true, true])
  await until('transactions work', () => succeeds(begin), RECOVERY_MS)
  await proxy.restore()
  await end()
})

it('a pause of the process does not count towards the time limit of statements', () =>
  withPool(async (pool) => {
    const answer = pool`select 1 as one from pg_sleep(0.5)`.execute()
    await nextTurn()
    standStill(3 * STATEMENT_MS)
    expect((await answer)[0]?.one).toBe(1)
  }))

// The tests from here on mostly wait for time limits, most of them with a proxy of their own.
describe.concurrent('a pool', () => {
  it('a pool fails statements at once while the server refuses connections', () =>
    withPool(async (pool, proxy) => {
      await proxy.refuse()
      await until('the loss is noticed', async () => !(await works(pool)))
      const errors = await Promise.all(Array.from({ length: 50 }, () => failure(one(pool))))
      for (const error of errors) expect(isUnavailable(error)).toBe(true)
    }))

  it('a pool works soon after the server is back, whatever the number of failures', () =>
    withPool(async (pool, proxy) => {
      await proxy.refuse()
      for (let i = 0; i < 300; i++) await failure(one(pool))
      await restore(proxy, () => works(pool))
    }))

  it('a connection reset fails its statements, and the next statement works', () =>
    withPool(
      async (pool, proxy) => {
        const running = failure(pool`select pg_sleep(30)`)
        await until('the statement runs', async () => {
          const rows = await direct`
            select from pg_stat_activity
            where
              datname = current_database()
              and query like 'select pg_sleep(30)%'
              and state = 'active'
          `
          return rows.length === 1
        })
        proxy.reset()
        expect(isUnavailable(await running)).toBe(true)
        expect(await works(pool)).toBe(true)
      },
      { max: 1 },
    ))

  it('a pool fails statements at its own time limit while the server is frozen, and recovers', () =>
    withPool(async (pool, proxy) => {
      await Promise.all([one(pool), one(pool), one(pool)])
      proxy.freeze()
      const errors = await Promise.all(Array.from({ length: 20 }, () => failure(one(pool))))
      for (const error of errors) expect(isUnavailable(error)).toBe(true)
      // The circuit is open, so nothing is sent.
      expect(await failure(one(pool))).toBeInstanceOf(DatabaseUnavailable)
      await restore(proxy, () => works(pool))
    }))

  it('a pool discards the connections to a frozen server', () =>
    withPool(async (pool, proxy) => {
      await Promise.all([one(pool), one(pool), one(pool)])
      proxy.freeze()
      await Promise.all(Array.from({ length: 10 }, () => failure(one(pool))))
      await proxy.restore()
      await until('the pool works', () => works(pool))
      await until('the other connections are closed', () => proxy.connections <= 3)
    }))

  it('a pool fails statements beyond its maximum at once', () =>
    withPool(
      async (pool, proxy) => {
        proxy.freeze()
        const errors: unknown[] = []
        const all = Array.from({ length: 30 }, async () => {
          errors.push(await failure(one(pool)))
        })
        await until('the surplus has failed', () => errors.length >= 10)
        expect(errors).toHaveLength(10)
        expect(String(errors[0])).toContain('Too many statements')
        await Promise.all(all)
      },
      { timeoutMs: 10_000 },
    ))

  it('a statement that the server cancels at its limit keeps its connection', () =>
    withPool(
      async (pool) => {
        const [before] = await pool`select pg_backend_pid() as pid`
        const slow = pool.unsafe(`set statement_timeout = 50; select pg_sleep(5)`)
        expect(await failure(slow)).toMatchObject({ code: '57014' })
        expect(await pool`select pg_backend_pid() as pid`).toEqual([before])
      },
      { max: 1 },
    ))

  it('slow statements do not open the circuit', () =>
    withPool(
      async (pool) => {
        const slow = Array.from({ length: 3 }, () => pool`select pg_sleep(0.4)`)
        const [fast] = await Promise.all([pool`select 1 as one`, ...slow])
        expect(fast).toEqual([{ one: 1 }])
      },
      { max: 3 },
    ))

  it('a pool queues statements for a connection and runs all of them', () =>
    withPool(async (pool) => {
      const rows = await Promise.all(
        Array.from({ length: 20 }, (_, n) => pool`select ${n}::int as n, pg_sleep(0.01)`),
      )
      expect(rows.map(([row]) => row?.n)).toEqual(Array.from({ length: 20 }, (_, n) => n))
    }))

  it('a cursor works concurrently with other statements of its pool', () =>
    withPool(async (pool) => {
      let count = 0
      for await (const batch of pool`select generate_series(1, 1000) as n`.cursor(100)) {
        count += batch.length
        expect(await works(pool)).toBe(true)
      }
      expect(count).toBe(1000)
    }))

  it('a pool supports fragments of statements', () =>
    withPool(async (pool) => {
      const part = pool`${2}::int + ${3}::int`
      expect(await pool`select ${part} as sum, ${pool.json({ a: 1 })}::jsonb as json`).toEqual([
        { sum: 5, json: { a: 1 } },
      ])
      expect(await pool`select ${[1, 2]}::int[] as list`).toEqual([{ list: [1, 2] }])
    }))

  it('closing a pool waits for its statements', async () => {
    const pool = connect(url, { max: 1 })
    const running = pool`select pg_sleep(0.1)`.then(() => 'done')
    await one(pool)
    await pool.end()
    expect(await running).toBe('done')
    expect(isUnavailable(await failure(one(pool)))).toBe(true)
  })
})

it('statements work as soon as the connection for signals is back after an outage', async () => {
  const proxy = await databaseProxy(url)
  const circuit = circuitFor(proxy.url, { probeIntervalMs: 60_000, silenceMs: 300, timeoutMs: 500 })
  const pool = connect(proxy.url, { max: 1, limits, circuit })
  const log = { warn: () => {} } as never
  const signals = await openSignals(proxy.url, pool, log, { circuit })
  const restored = Promise.withResolvers<boolean>()
  try {
    await proxy.refuse()
    await until('the loss is noticed', async () => !signals.connected && !(await works(pool)))
    signals.on('keys', () => restored.resolve(works(pool)))
    await proxy.restore()
    expect(await restored.promise).toBe(true)
  } finally {
    await proxy.restore()
    await signals.close()
    await pool.end({ timeout: 1 })
  }
})

describe.concurrent('transactions', () => {
  it('transactions fail at once while the server refuses connections, and work soon after the server is back', () =>
    withTransactions(async (begin, proxy) => {
      await proxy.refuse()
      for (let i = 0; i < 100; i++) expect(isUnavailable(await failure(begin(one)))).toBe(true)
      await restore(proxy, () => succeeds(begin))
    }))

  it.each(['write', 'snapshot', 'unboundedWrite'] as const)(
    'transactions of mode %s fail while the server is frozen, whether queued or under way',
    (mode) =>
      withTransactions(async (begin, proxy) => {
        proxy.freeze()
        const errors = await Promise.all(Array.from({ length: 6 }, () => failure(begin(one, mode))))
        for (const error of errors) expect(isUnavailable(error)).toBe(true)
        await restore(proxy, () => succeeds(begin))
      }),
  )

  it('transactions without a response to COMMIT are aborted', () =>
    withTransactions(async (begin, proxy) => {
      const work = begin(async (tx) => {
        await tx`insert into marks values ('frozen')`
        proxy.freeze()
      })
      expect(isUnavailable(await failure(work))).toBe(true)
    }))

  it('transactions fail at once when too many are queued', () =>
    withTransactions(async (begin) => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      const all = Array.from({ length: 7 }, () => failure(begin(() => held)))
      expect(String(await failure(begin(one)))).toContain('Too many transactions')
      release()
      expect(await Promise.all(all)).toEqual(Array(7).fill(undefined))
    }))

  it('transactions fail when no connection becomes free in time', () =>
    withTransactions(async (begin) => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      const all = [begin(() => held, 'snapshot'), begin(() => held, 'snapshot')]
      expect(String(await failure(begin(one)))).toContain('No connection was free in time')
      release()
      await Promise.all(all)
    }))
})

describe.concurrent('the time budget of a request', () => {
  it('the time budget of a request covers all of its statements and transactions together', () =>
    withPool(
      async (pool) => {
        const budget = newBudget(1_200)
        const errors = await withBudget(budget, async () => {
          const all: unknown[] = []
          for (let i = 0; i < 5; i++) all.push(await failure(pool`select pg_sleep(0.4)`))
          return all
        })
        expect(errors[0]).toBe(undefined)
        expect(isUnavailable(errors.at(-1))).toBe(true)
      },
      { timeoutMs: 10_000 },
    ))

  it('concurrent statements of a request use its time budget once', () =>
    withPool(
      async (pool) => {
        await until('all connections are open', async () => {
          const asked = Array.from({ length: 3 }, async () => {
            const [row] = await pool`select pg_backend_pid() as pid, pg_sleep(0.02)`
            return row!.pid
          })
          return new Set(await Promise.all(asked).catch(() => [])).size === 3
        })
        const budget = newBudget(1_400)
        const all = () => Promise.all(Array.from({ length: 3 }, () => pool`select pg_sleep(0.6)`))
        expect(await withBudget(budget, () => failure(all()))).toBe(undefined)
      },
      { timeoutMs: 10_000 },
    ))

  it('work that continues after the response has no time budget', () =>
    withPool(async (pool) => {
      const budget = newBudget(0)
      budget.isOver = true
      expect(await withBudget(budget, () => failure(pool`select pg_sleep(0.2)`))).toBe(undefined)
    }))

  it('an exhausted time budget ends a transaction', () =>
    withTransactions(async (begin) => {
      const budget = newBudget(150)
      const work = () => begin(() => sleep(10_000, undefined, { ref: false }))
      expect(isUnavailable(await withBudget(budget, () => failure(work())))).toBe(true)
    }))
})
