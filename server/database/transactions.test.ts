import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { until } from '../test/until.ts'
import { newBudget, withBudget } from './budget.ts'
import { connect as openPool } from './connect.ts'
import type { Db } from './sql.ts'
import {
  savepoint,
  type TransactionMode,
  type Transactions,
  transactionsOn,
} from './transactions.ts'
import { isUnavailable } from './unavailable.ts'

let db: Db
let url: string
let transactions: Transactions
beforeAll(async () => {
  const database = await testDatabase()
  ;({ db, url } = database)
  // One connection, so that the next transaction would see anything that a transaction leaves behind.
  transactions = transactionsOn(database.url, 1)
  await db`create table notes (text text primary key deferrable initially deferred)`
  return () => transactions.end()
})

const write = (on: Db, text: string) => on`insert into notes values (${text})`
const isThere = async (text: string) =>
  (await db`select 1 from notes where text = ${text}`).length === 1

/** Ends the session from outside, as a restart of the server or a broken network does. */
async function cut(pid: number): Promise<void> {
  await db`select pg_terminate_backend(${pid}::int)`
  await until('the session is gone', async () => {
    const rows = await db`select 1 from pg_stat_activity where pid = ${pid}::int`
    return rows.length === 0
  })
}

/** The state in which a transaction leaves its connection to the next. */
const connectionAtRest = () => transactions.begin(async (tx) => tx)

async function pidOf(on: Db): Promise<number> {
  const [row] = await on<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row!.pid
}

describe('a transaction', () => {
  it('a transaction commits all of its changes', async () => {
    const text = randomUUID()
    expect(await transactions.begin(async (tx) => (await write(tx, text)).count)).toBe(1)
    expect(await isThere(text)).toBe(true)
  })

  it('a transaction whose work throws is rolled back, and the next transaction works', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()]
    const work = transactions.begin(async (tx) => {
      await write(tx, lost)
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    await transactions.begin((tx) => write(tx, kept))
    expect([await isThere(lost), await isThere(kept)]).toEqual([false, true])
  })

  it('a transaction with a failed statement fails with its error, even if the work ignores it', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      await write(tx, text)
      await tx`do $$ begin raise disk_full; end $$`.catch(() => {})
    })
    await expect(work).rejects.toSatisfy(isUnavailable)
    expect(await isThere(text)).toBe(false)
  })

  it('statements sent together fail with the error that aborted their transaction, whichever caller hears first', async () => {
    const code = (error: { code: string }) => error.code
    let codes: unknown
    const work = transactions.begin(async (db) => {
      // Its caller hears of the error after that of the other statement.
      const failing = db`select 1 / 0`.execute()
      const first = (async () => await failing)()
      codes = await Promise.all([first.catch(code), db`select 1`.catch(code)])
    })
    await expect(work).rejects.toThrow('division by zero')
    expect(codes).toEqual(['22012', '22012'])
  })

  it.each([
    { setting: 'off', wanted: 'on' },
    { setting: 'local', wanted: 'local' },
    { setting: 'on', wanted: 'on' },
    { setting: 'remote_apply', wanted: 'remote_apply' },
  ])(
    'transactions that write and single statements have synchronous_commit = $wanted if the database has $setting',
    async ({ setting, wanted }) => {
      const { db, url } = await testDatabase()
      const [{ name } = { name: '' }] = await db<{ name: string }[]>`
        select current_database() as name
      `
      await db.unsafe(`alter database ${name} set synchronous_commit = ${setting}`)
      const { begin, end } = transactionsOn(url, 1)
      const single = openPool(url, { max: 1 })
      const read = (on: Db) => on`select current_setting('synchronous_commit') as value`
      const values = await Promise.all([begin(read), read(single)])
      await Promise.all([end(), single.end()])
      expect(values).toEqual([[{ value: wanted }], [{ value: wanted }]])
    },
  )

  it('a connection keeps nothing of the callers of its former transactions', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const callers = new AsyncLocalStorage<object>()
    const read = () => transactions.begin((tx) => pidOf(tx))
    const pid = await read()
    const callOnce = async () => {
      const caller = {}
      await callers.run(caller, read)
      return new WeakRef(caller)
    }
    const former = await callOnce()
    // The client may keep its last statement.
    expect(await read()).toBe(pid)
    await until('the caller is collected', () => {
      collect()
      return former.deref() === undefined
    })
  })

  it('a transaction fails if its commit fails', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      await write(tx, text)
      await write(tx, text)
    })
    await expect(work).rejects.toThrow('duplicate key')
    expect(await isThere(text)).toBe(false)
  })

  it('a transaction waits when all connections are in use', async () => {
    const texts = Array.from({ length: 20 }, () => randomUUID())
    await Promise.all(texts.map((text) => transactions.begin((tx) => write(tx, text))))
    for (const text of texts) expect(await isThere(text)).toBe(true)
  })

  it('a snapshot plans a statement for the parameters of each execution', async () => {
    const plans = await transactions.begin(async (tx) => {
      for (let i = 0; i < 7; i++) await tx`select count(*) from notes where text > ${String(i)}`
      return tx<{ custom: number; generic: number }[]>`
        select custom_plans as custom, generic_plans as generic
        from pg_prepared_statements
        where statement like 'select count(%'
      `
    }, 'snapshot')
    expect(plans).toEqual([{ custom: 7, generic: 0 }])
  })

  it('a snapshot transaction cannot write', async () => {
    const work = transactions.begin((tx) => write(tx, randomUUID()), 'snapshot')
    await expect(work).rejects.toThrow('read-only transaction')
  })
})

describe('the beginning of a transaction', () => {
  it('a transaction sends BEGIN together with its first statement', async () => {
    let packets = 0
    const { hostname, port } = new URL(url)
    const relay = createServer((client) => {
      const server = connect(Number(port), hostname)
      client.on('data', () => packets++)
      client.pipe(server).pipe(client)
    }).listen(0, '127.0.0.1')
    await until('the relay listens', () => relay.listening)
    const viaRelay = new URL(url)
    viaRelay.search = ''
    viaRelay.port = String((relay.address() as { port: number }).port)
    const { begin, end } = transactionsOn(viaRelay.href, 1)
    try {
      await begin(async () => {})
      packets = 0
      await begin((tx) => tx.unsafe('select 1'))
      expect(packets).toBe(2)
    } finally {
      await end()
      relay.close()
    }
  })

  it('a transaction that cannot begin fails with the error of BEGIN, whatever its work does', async () => {
    for (const work of [
      (tx: Db) => tx`select 1`,
      (tx: Db) => tx`select 1`.catch(() => {}),
      async () => {},
    ]) {
      // A transaction of another mode cannot begin inside a running transaction.
      await (await connectionAtRest()).unsafe('begin; select 1')
      await expect(transactions.begin<unknown>(work, 'snapshot')).rejects.toThrow(
        'must be called before any query',
      )
    }
    expect(await transactions.begin(async (tx) => (await tx`select 1`).length)).toBe(1)
  })

  it('a transaction that begins while its connection is being lost fails', async () => {
    const connection = await connectionAtRest()
    const end = connection.unsafe('select pg_terminate_backend(pg_backend_pid())').catch(() => {})
    const text = randomUUID()
    await expect(transactions.begin((tx) => write(tx, text))).rejects.toThrow()
    await end
    expect(await isThere(text)).toBe(false)
    await transactions.begin((tx) => write(tx, text))
    expect(await isThere(text)).toBe(true)
  })
})

describe('the end of the transactions', () => {
  it('transactions that wait or begin at the end fail, and open no connection', async () => {
    const ours = new URL(url)
    ours.searchParams.set('application_name', 'ended')
    const { begin, end } = transactionsOn(ours.href, 1)
    const begun = Promise.withResolvers<void>()
    const running = begin(async (tx) => {
      begun.resolve()
      await tx`select pg_sleep(0.2)`
    })
    running.catch(() => {})
    await begun.promise
    const waiting = begin(pidOf)
    const ended = end()
    const closed = 'The connections to the database are closed.'
    await expect(waiting).rejects.toThrow(closed)
    await expect(begin(pidOf)).rejects.toThrow(closed)
    await ended
    await running.catch(() => {})
    await expect(begin(pidOf)).rejects.toThrow(closed)
    await until('no session is left', async () => {
      const rows = await db`select from pg_stat_activity where application_name = 'ended'`
      return rows.length === 0
    })
  })
})

describe('a transaction whose connection is lost', () => {
  it('a lost connection does not reconnect for waiting statements', async () => {
    const ours = new URL(url)
    ours.searchParams.set('application_name', 'lanes')
    const { begin, end } = transactionsOn(ours.href, 1)
    try {
      let ended: Promise<void> | undefined
      const work = begin(async (tx) => {
        const pid = await pidOf(tx)
        const waiting = [1, 2, 3].map((n) => tx`select ${n}::int, pg_sleep(60)`)
        ended = cut(pid)
        await Promise.all([...waiting, ended])
      })
      await expect(work).rejects.toThrow()
      await ended
      // The client would reconnect after at most 30 ms.
      await db`select pg_sleep(0.15)`
      expect(await db`select from pg_stat_activity where application_name = 'lanes'`).toEqual([])
    } finally {
      await end()
    }
  })

  it('a connection lost during a statement fails the whole transaction, and the process continues', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      const pid = await pidOf(tx)
      await write(tx, text)
      await Promise.all([tx`select pg_sleep(60)`, cut(pid)])
    })
    await expect(work).rejects.toThrow()
    expect(await isThere(text)).toBe(false)
    expect(await transactions.begin(async (tx) => (await tx`select 1`).length)).toBe(1)
  })

  it('a connection lost between two statements never runs the second one alone', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    const work = transactions.begin(async (tx) => {
      await write(tx, first)
      await cut(await pidOf(tx))
      await write(tx, second).catch(() => {})
      await write(tx, second).catch(() => {})
    })
    await expect(work).rejects.toThrow()
    expect([await isThere(first), await isThere(second)]).toEqual([false, false])
  })

  it('a transaction whose connection is lost before its commit fails', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      await write(tx, text)
      await cut(await pidOf(tx))
    })
    await expect(work).rejects.toThrow()
    expect(await isThere(text)).toBe(false)
  })

  it('a lost connection does not affect the next transaction in the queue', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()]
    const first = transactions.begin(async (tx) => {
      await write(tx, lost)
      await cut(await pidOf(tx))
      await write(tx, lost)
    })
    const second = transactions.begin((tx) => write(tx, kept))
    await expect(first).rejects.toThrow()
    await second
    expect([await isThere(lost), await isThere(kept)]).toEqual([false, true])
  })
})

describe('the transactions of one account', () => {
  const begin = <T>(on: Transactions, accountId: number, work: (tx: Db) => Promise<T>) =>
    withBudget({ ...newBudget(60_000), accountId }, () => on.begin(work))

  it('the transactions of one account hold a third of the connections, and the next ones wait for these', async () => {
    const pool = transactionsOn(url, 3)
    const begun: string[] = []
    const gate = Promise.withResolvers<void>()
    const hold = (accountId: number, name: string) =>
      begin(pool, accountId, async (tx) => {
        begun.push(name)
        if (begun.length === 3) gate.resolve()
        await gate.promise
        await tx`select`
      })
    await Promise.all([hold(1, 'first'), hold(1, 'second'), hold(2, 'third'), hold(3, 'fourth')])
    expect(begun.at(-1)).toBe('second')
    await pool.end()
  })

  it('a lost connection no longer counts for its account', async () => {
    const pool = transactionsOn(url, 3)
    await expect(begin(pool, 1, async (tx) => cut(await pidOf(tx)))).rejects.toThrow()
    expect(await begin(pool, 1, pidOf)).toBeGreaterThan(0)
    await pool.end()
  })

  it('the transactions of one account take a third of the places in the queue', async () => {
    const pool = transactionsOn(url, 1, { maxWaiting: 6 })
    const first = begin(pool, 1, async (tx) => {
      const waiting = [1, 2, 3].map(() => begin(pool, 1, pidOf))
      await expect(waiting[2]).rejects.toThrow('Too many transactions are waiting')
      await tx`select`
      return [...waiting.slice(0, 2), begin(pool, 2, pidOf)]
    })
    expect(await Promise.all(await first)).toHaveLength(3)
    await pool.end()
  })
})

describe('the time limit of a transaction', () => {
  const LIMIT_MS = 1_000
  const TOO_LONG = 'The transaction was aborted: it took longer than 1 s.'
  let short: Transactions
  beforeAll(() => {
    short = transactionsOn(url, 1, { writeMs: LIMIT_MS })
    return () => short.end()
  })
  const isRunning = async (pid: number) =>
    (await db`select 1 from pg_stat_activity where pid = ${pid}::int`).length === 1

  it('the time limit covers a whole transaction, however short its statements and pauses are', async () => {
    const text = randomUUID()
    const work = short.begin(async (tx) => {
      await write(tx, text)
      for (let i = 0; i < 20; i++) await tx`select pg_sleep(0.06)`
    })
    await expect(work).rejects.toThrow(TOO_LONG)
    expect(await isThere(text)).toBe(false)
  })

  it('the time limit of a transaction ends its running statement, also on the server', async () => {
    let pid = 0
    const work = short.begin(async (tx) => {
      pid = await pidOf(tx)
      // Simulates a server that does not enforce the limit itself.
      await tx`set local transaction_timeout = 0`
      await tx`select pg_sleep(60)`
    })
    await expect(work).rejects.toThrow(TOO_LONG)
    // The statement's own timeout would end it after 10 s.
    await until('the session is gone', async () => !(await isRunning(pid)), 8_000)
  })

  it('a transaction that reaches its time limit fails at once, and commits nothing when its work ends', async () => {
    const text = randomUUID()
    const { promise: resting, resolve: wake } = Promise.withResolvers<void>()
    let done: Promise<unknown> | undefined
    const work = short.begin(async (tx) => {
      await write(tx, text)
      await resting
      done = Promise.allSettled([write(tx, text), tx.unsafe('commit')])
      return 'done'
    })
    await expect(work).rejects.toThrow(TOO_LONG)
    wake()
    await until('the work has come to its end', () => done)
    expect(await done).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
    expect(await isThere(text)).toBe(false)
  })

  it('the time limit of a transaction applies even if the process was too busy for its timer', async () => {
    const text = randomUUID()
    const work = short.begin(async (tx) => {
      await write(tx, text)
      // Only the response is processed between this and the commit, so no timer can fire.
      const end = performance.now() + LIMIT_MS
      while (performance.now() < end);
    })
    await expect(work).rejects.toThrow(TOO_LONG)
    expect(await isThere(text)).toBe(false)
  })

  it('after an aborted transaction the next transaction in the queue has its own time limit', async () => {
    const text = randomUUID()
    const first = short.begin((tx) => tx`select pg_sleep(60)`)
    const second = short.begin((tx) => write(tx, text))
    await expect(first).rejects.toThrow(TOO_LONG)
    await second
    expect(await isThere(text)).toBe(true)
  })

  it('the time limit of a transaction does not interrupt a commit that was sent', async () => {
    await db.unsafe(`
      create function linger() returns trigger language plpgsql as
      $$ begin perform pg_sleep(1.1); return null; end $$;
      create constraint trigger lingering after insert on notes deferrable initially deferred
      for each row execute function linger();
    `)
    const text = randomUUID()
    try {
      await short.begin((tx) => write(tx, text))
    } finally {
      await db.unsafe('drop function linger cascade')
    }
    expect(await isThere(text)).toBe(true)
  })

  it('snapshot transactions and unbounded writes have no time limit', async () => {
    await short.begin((tx) => tx`select pg_sleep(1.1)`, 'snapshot')
    const text = randomUUID()
    await short.begin(async (tx) => {
      await write(tx, text)
      await tx`select pg_sleep(1.1)`
    }, 'unboundedWrite')
    expect(await isThere(text)).toBe(true)
  })

  it('PostgreSQL enforces the time limit of a transaction too, with transaction_timeout', async () => {
    const kept = async (mode: TransactionMode) => {
      const [row] = await short.begin(
        (tx) => tx`select current_setting('transaction_timeout') as time`,
        mode,
      )
      return row!.time
    }
    expect(await kept('write')).toBe('2s')
    expect([await kept('snapshot'), await kept('unboundedWrite')]).toEqual(['0', '0'])
  })

  it('the timer of a transaction affects no later transaction and keeps no process alive', async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const work = short.begin(async (tx) => {
      await tx`select 1`
      expect(timers()).toBeLessThanOrEqual(before)
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    await short.begin((tx) => tx`select pg_sleep(1.1)`, 'snapshot')
  })
})

describe('savepoints', () => {
  it('a savepoint can fail without the rest of the transaction', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()]
    await transactions.begin(async (tx) => {
      await write(tx, kept)
      const part = savepoint(tx, async (inner) => {
        await write(inner, lost)
        await inner`select 1 / 0`
      })
      await expect(part).rejects.toThrow('division by zero')
    })
    expect([await isThere(lost), await isThere(kept)]).toEqual([false, true])
  })

  it('a savepoint that cannot be created does not roll back the outer savepoint of the same name', async () => {
    const work = transactions.begin((tx) =>
      savepoint(tx, async (outer) => {
        await outer`select 1 / 0`.catch(() => {})
        await savepoint(outer, async () => {}).catch(() => {})
        await outer`select 'alive again'`
      }),
    )
    await expect(work).rejects.toThrow('division by zero')
  })
})
