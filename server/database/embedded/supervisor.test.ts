import { once } from 'node:events'
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { lockExclusive } from '../../files/lock.ts'
import {
  cleanUp,
  emptyDatabase,
  isAlive,
  logOf,
  postmasterOf,
  query,
  start,
  startProcess,
} from '../../test/embedded-homes.ts'
import { freePort } from '../../test/free-port.ts'
import { until } from '../../test/until.ts'
import { waitUntil } from '../../time/wait-until.ts'
import { connectAlone } from '../connect.ts'
import { findBinaries, reachableBinaries } from './binaries.ts'
import { type Launch, startServer } from './launch.ts'
import { osUserFor } from './os-user.ts'
import { supervise } from './supervisor.ts'

afterEach(cleanUp)

const answers = (url: string) =>
  query(url, 'select 1 as one').then(
    () => true,
    () => false,
  )
const isBack = (url: string) => until('the server is back', () => answers(url))
const starts = (dataDir: string) => logOf(dataDir).match(/starting PostgreSQL/g)?.length

async function launchOf(dataDir: string): Promise<Launch> {
  const directory = realpathSync(join(dataDir, 'postgres'))
  const password = readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim()
  const osUser = await osUserFor(directory)
  const native = await reachableBinaries(await findBinaries(), osUser, dataDir)
  const cluster = { directory, password, log: join(dataDir, 'postgres.log') }
  return { cluster, native, osUser, settings: {} }
}

describe('an embedded server that dies while it is in use', () => {
  test('an embedded server that dies is restarted on the same port with its data, each time', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir)
    await query(database.url, 'create table orders as select generate_series(1, 1000) as id')
    for (const signal of ['SIGKILL', 'SIGQUIT', 'SIGKILL'] as const) {
      const pid = postmasterOf(dataDir)
      process.kill(pid, signal)
      await until('another one runs', () => ![0, pid].includes(postmasterOf(dataDir)))
      await isBack(database.url)
      expect(await query(database.url, 'select count(*)::int from orders')).toEqual([
        { count: 1000 },
      ])
    }
    const pid = postmasterOf(dataDir)
    await database.stop()
    expect(isAlive(pid)).toBe(false)
  })

  test('an embedded server that dies right after its start is restarted, although nobody watched it yet', async () => {
    const dataDir = await emptyDatabase()
    const server = await startServer(await launchOf(dataDir))
    process.kill(server.pid, 'SIGKILL')
    await until('it is dead', () => !isAlive(server.pid))
    const restarted = Promise.withResolvers<void>()
    const supervisor = supervise(server, {
      lock: async () => () => {},
      find: async () => undefined,
      start: () => {
        restarted.resolve()
        return new Promise(() => {})
      },
      logError() {},
    })
    await restarted.promise
    supervisor.stop()
    await server.session.close()
  })

  test('an embedded server that dies is restarted although one of its child processes is still running', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir)
    const guest = connectAlone(database.url)
    const busy = guest`select sum(i) from generate_series(1, 1000000000) i`.catch(() => {})
    await waitUntil(5_000, async () => {
      const [row] = await query(
        database.url,
        `select from pg_stat_activity where state = 'active' and query like 'select sum(i)%'`,
      )
      return row
    })
    process.kill(postmasterOf(dataDir), 'SIGKILL')
    await busy
    await isBack(database.url)
    await guest.end({ timeout: 1 })
  })

  test('an embedded server that dies is restarted once for all its users, and stops with the last of them', async () => {
    const dataDir = await emptyDatabase()
    const [first, second, third] = await Promise.all([
      startProcess(dataDir),
      startProcess(dataDir),
      start(dataDir),
    ])
    expect(starts(dataDir)).toBe(1)
    process.kill(postmasterOf(dataDir), 'SIGKILL')
    await until('PostgreSQL was restarted', () => starts(dataDir) === 2)
    await isBack(third.url)
    const users = `
      select count(*)::int from pg_locks
      where locktype = 'advisory' and granted and mode = 'ShareLock'
    `
    await until(
      'all processes use the new server',
      async () => (await query(third.url, users))[0]!.count === 3,
    )
    expect(starts(dataDir)).toBe(2)

    await third.stop()
    await first.stop()
    const pid = postmasterOf(dataDir)
    expect(await answers(second.database.url)).toBe(true)
    await second.stop()
    expect(isAlive(pid)).toBe(false)
  })

  test('an embedded server that dies is restarted although its port is taken for a while', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir)
    const pid = postmasterOf(dataDir)
    process.kill(pid, 'SIGKILL')
    await until('the port is free', () => !isAlive(pid))
    const other = createServer().listen(Number(new URL(database.url).port), '127.0.0.1')
    await once(other, 'listening')
    await until(
      'many starts have failed',
      () => (logOf(dataDir).match(/could not bind/g)?.length ?? 0) > 20,
    )
    other.close()
    await isBack(database.url)
  })

  test('an embedded server is given up after three failed restarts', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir)
    const pid = postmasterOf(dataDir)
    const cluster = realpathSync(join(dataDir, 'postgres'))
    writeFileSync(join(cluster, 'postgresql.auto.conf'), 'shared_buffers = plenty\n')
    process.kill(pid, 'SIGKILL')
    expect(String(await database.failed)).toContain('PostgreSQL does not start')
    expect(logOf(dataDir).match(/configuration file .* contains errors/g)).toHaveLength(3)
    rmSync(join(cluster, 'postgresql.auto.conf'))
  })

  test('an embedded server that another process has started on another port is given up, because the pools of this process keep connecting to the former port', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir)
    const locked = await lockExclusive(join(dataDir, 'postgres.lock'))
    const pid = postmasterOf(dataDir)
    process.kill(pid, 'SIGKILL')
    await until('it is dead', () => !isAlive(pid))
    const other = await startServer(await launchOf(dataDir), freePort)
    locked!()
    expect(String(await database.failed)).toContain('on another port')
    await other.session.close()
  })

  test('an embedded server that was stopped is not restarted', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir)
    const pid = postmasterOf(dataDir)
    process.kill(pid, 'SIGKILL')
    await database.stop()
    expect(await answers(database.url)).toBe(false)
  })
})
