import { randomUUID } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { until } from '../test/until.ts'
import type { Db } from './connect.ts'
import { savepoint, type Transactions, transactionsOn } from './transactions.ts'

let db: Db
let url: string
let transactions: Transactions
beforeAll(async () => {
  const database = await testDatabase()
  ;({ db, url } = database)
  // One lane: what one transaction leaves behind, the next one would meet.
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

/** The lane's connection as it's left to the next transaction. */
const laneAtRest = () => transactions.begin(async (tx) => tx)

async function pidOf(on: Db): Promise<number> {
  const [row] = await on<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row!.pid
}

describe('a transaction', () => {
  it('keeps all of its changes', async () => {
    const text = randomUUID()
    expect(await transactions.begin(async (tx) => (await write(tx, text)).count)).toBe(1)
    expect(await isThere(text)).toBe(true)
  })

  it('keeps none when its work throws, and the next one is not disturbed', async () => {
    const [lost, kept] = [randomUUID(), randomUUID()]
    const work = transactions.begin(async (tx) => {
      await write(tx, lost)
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    await transactions.begin((tx) => write(tx, kept))
    expect([await isThere(lost), await isThere(kept)]).toEqual([false, true])
  })

  it('fails when a statement failed, even if its work went on as if nothing had happened', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      await write(tx, text)
      await tx`select 1 / 0`.catch(() => {})
    })
    await expect(work).rejects.toThrow('rolled back')
    expect(await isThere(text)).toBe(false)
  })

  it('fails when the commit is refused', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      await write(tx, text)
      await write(tx, text)
    })
    await expect(work).rejects.toThrow('duplicate key')
    expect(await isThere(text)).toBe(false)
  })

  it('waits its turn when all lanes are taken', async () => {
    const texts = Array.from({ length: 20 }, () => randomUUID())
    await Promise.all(texts.map((text) => transactions.begin((tx) => write(tx, text))))
    for (const text of texts) expect(await isThere(text)).toBe(true)
  })

  it('can’t write in a snapshot', async () => {
    const work = transactions.begin((tx) => write(tx, randomUUID()), 'snapshot')
    await expect(work).rejects.toThrow('read-only transaction')
  })
})

describe('the beginning of a transaction', () => {
  it('travels together with the first statement', async () => {
    let packets = 0
    const { hostname, port } = new URL(url)
    const relay = createServer((client) => {
      const server = connect(Number(port), hostname)
      client.on('data', () => packets++)
      client.pipe(server).pipe(client)
    }).listen(0, '127.0.0.1')
    await until('the relay listens', () => relay.listening)
    const viaRelay = new URL(url)
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

  it('is what a transaction fails with that could not begin, whatever its work met or swallowed', async () => {
    for (const work of [
      (tx: Db) => tx`select 1`,
      (tx: Db) => tx`select 1`.catch(() => {}),
      async () => {},
    ]) {
      // In a transaction that is under way another kind can't begin.
      await (await laneAtRest()).unsafe('begin; select 1')
      await expect(transactions.begin<unknown>(work, 'snapshot')).rejects.toThrow(
        'must be called before any query',
      )
    }
    expect(await transactions.begin(async (tx) => (await tx`select 1`).length)).toBe(1)
  })

  it('can meet a connection that is just being lost', async () => {
    const lane = await laneAtRest()
    const end = lane.unsafe('select pg_terminate_backend(pg_backend_pid())').catch(() => {})
    const text = randomUUID()
    await expect(transactions.begin((tx) => write(tx, text))).rejects.toThrow()
    await end
    expect(await isThere(text)).toBe(false)
    await transactions.begin((tx) => write(tx, text))
    expect(await isThere(text)).toBe(true)
  })
})

describe('a transaction whose connection is lost', () => {
  it('is not connected again for the statements that were waiting', async () => {
    const ours = new URL(url)
    ours.searchParams.set('application_name', 'lanes')
    const { begin, end } = transactionsOn(ours.href, 1)
    try {
      const work = begin(async (tx) => {
        const pid = await pidOf(tx)
        const waiting = [1, 2, 3].map((n) => tx`select ${n}::int, pg_sleep(60)`)
        await Promise.all([...waiting, cut(pid)])
      })
      await expect(work).rejects.toThrow()
      // The client would try again after 30 ms at most.
      await db`select pg_sleep(0.15)`
      expect(await db`select from pg_stat_activity where application_name = 'lanes'`).toEqual([])
    } finally {
      await end()
    }
  })

  it('during a statement fails as a whole, and the process goes on', async () => {
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

  it('between two statements never leaves the second one alone, not even if nobody minds', async () => {
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

  it('just before its commit is not taken for done', async () => {
    const text = randomUUID()
    const work = transactions.begin(async (tx) => {
      await write(tx, text)
      await cut(await pidOf(tx))
    })
    await expect(work).rejects.toThrow()
    expect(await isThere(text)).toBe(false)
  })

  it('doesn’t touch the one that waits behind it', async () => {
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

describe('a part of a transaction', () => {
  it('can fail without the rest', async () => {
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

  it('that can’t begin does not go back to the part around it, which has the same name', async () => {
    const work = transactions.begin((tx) =>
      savepoint(tx, async (outer) => {
        await outer`select 1 / 0`.catch(() => {})
        await savepoint(outer, async () => {}).catch(() => {})
        await outer`select 'alive again'`
      }),
    )
    await expect(work).rejects.toThrow('current transaction is aborted')
  })
})
