import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../config.ts'
import { SHARED_HOME } from '../database/embedded/os-user.ts'
import { useDataDir } from '../files/data-dir.ts'
import { openDirectory } from '../files/directory.ts'
import { getOrCreateSecret } from '../sandbox/own-secrets.ts'
import { StartError } from '../start-error.ts'
import {
  cleanUp,
  emptyDatabase,
  isAlive,
  isRoot,
  kill,
  newHome,
  postmasterOf,
  query,
  start,
  startProcess,
} from '../test/embedded-homes.ts'
import { runToEnd } from '../test/process.ts'
import { until } from '../test/until.ts'
import { resetCommand } from './reset.ts'

afterAll(cleanUp)

/** A DATA_DIR with everything that a service leaves in it. */
async function trial(): Promise<string> {
  const dataDir = await emptyDatabase()
  await getOrCreateSecret(dataDir, 'operator-token')
  const files = await openDirectory(`file:${dataDir}/files`)
  await files.put('photos/a.jpg', Buffer.from('a'), 'image/jpeg')
  const release = await useDataDir(readConfig({ DATA_DIR: dataDir }))
  release()
  return dataDir
}

async function refusalOf(settings: Partial<Record<string, string>>): Promise<string> {
  const invocation = { parameters: [], callerDirectory: '.', warnings: [] }
  const error = await resetCommand.run(readConfig(settings), invocation).catch((error) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(error.message).not.toContain('\n')
  return error.message
}

describe('reset', () => {
  it('reset removes the DATA_DIR of a trial, lists what it removed, and succeeds without a DATA_DIR', async () => {
    const dataDir = await trial()
    const paths = ['postgres', 'postgres.password', 'secrets', 'files', 'in-use.lock']
    const { code, stdout, stderr } = await runToEnd(['reset'], { DATA_DIR: dataDir })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const name of paths) expect(stdout).toContain(`Removed ${join(dataDir, name)}\n`)
    expect(stdout).toMatch(new RegExp(`Removed ${dataDir}\n$`))
    expect(existsSync(dataDir)).toBe(false)

    const again = await runToEnd(['reset'], { DATA_DIR: dataDir })
    expect(again).toMatchObject({ code: 0, stdout: `There is nothing at ${dataDir}.\n` })
  })

  it('reset keeps files that Cardstall did not create, and names them', async () => {
    const dataDir = await trial()
    for (const name of ['notes.txt', 'files/mine.jpg', 'secrets/mine', 'postgres.dump']) {
      writeFileSync(join(dataDir, name), '')
    }
    const { code, stdout } = await runToEnd(['reset'], { DATA_DIR: dataDir })
    expect(code).toBe(0)
    expect(stdout).toContain(
      `Left files, notes.txt, postgres.dump, secrets in ${dataDir}: Cardstall did not make it.\n`,
    )
    expect(readdirSync(dataDir, { recursive: true }).sort()).toEqual([
      'files',
      'files/mine.jpg',
      'notes.txt',
      'postgres.dump',
      'secrets',
      'secrets/mine',
    ])
  })

  it('reset with STORAGE_URL elsewhere leaves the stored files of DATA_DIR, and says why', async () => {
    const dataDir = await trial()
    writeFileSync(join(dataDir, 'notes.txt'), '')
    const settings = { DATA_DIR: dataDir, STORAGE_URL: `file:${newHome()}` }
    const { code, stdout } = await runToEnd(['reset'], settings)
    expect(code).toBe(0)
    expect(stdout).toContain(
      `Left files in ${dataDir}: STORAGE_URL names another place.\nLeft notes.txt in ${dataDir}: Cardstall did not make it.\n`,
    )
    expect(existsSync(join(dataDir, 'files/photos/a.jpg'))).toBe(true)
  })

  it('reset refuses while a process uses the embedded database, and stops one that a killed process left running', async () => {
    const dataDir = await trial()
    const user = await startProcess(dataDir)
    const pid = postmasterOf(dataDir)
    const before = readdirSync(dataDir).sort()
    expect(await refusalOf({ DATA_DIR: dataDir })).toBe(
      `A service or command is using ${dataDir}: stop it first.`,
    )
    expect(readdirSync(dataDir).sort()).toEqual(before)
    expect(isAlive(pid)).toBe(true)

    // The server notices the end of a user a moment later: of this one, when the command waits for it.
    const { url } = user.database
    const [session] = await query(url, `select pid from pg_locks where locktype = 'advisory'`)
    process.kill(session!.pid as number, 'SIGSTOP')
    await kill(user.child)
    const resetting = runToEnd(['reset'], { DATA_DIR: dataDir })
    const waiting = `
      select pid from pg_stat_activity
      where application_name = 'cardstall embedded' and query like '%pg_try_advisory_lock%'
    `
    await until('the command waits', async () => (await query(url, waiting)).length > 0)
    process.kill(session!.pid as number, 'SIGCONT')
    expect((await resetting).code).toBe(0)
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(dataDir)).toBe(false)
  })

  it('reset refuses while a service with an external database uses DATA_DIR', async () => {
    const dataDir = await trial()
    const release = await useDataDir(readConfig({ DATA_DIR: dataDir }))
    expect(await refusalOf({ DATA_DIR: dataDir })).toMatch(/^A service or command is using /)
    release()
    expect(existsSync(join(dataDir, 'postgres'))).toBe(true)
  })

  it('reset refuses with a DATABASE_URL, and in a directory that holds production files', async () => {
    const DATABASE_URL = 'postgres://db.internal/cards'
    const dataDir = newHome()
    const production = { DATABASE_URL, SANDBOX: 'true', DATA_DIR: dataDir }
    expect(await refusalOf(production)).toMatch(/^DATABASE_URL is set: /)
    const files = await openDirectory(`file:${dataDir}/files`)
    await files.put('photos/a.jpg', Buffer.from('a'), 'image/jpeg')
    expect(await refusalOf({ DATA_DIR: dataDir })).toBe(`There is no trial in ${dataDir}.`)
    expect(existsSync(join(dataDir, 'files/photos/a.jpg'))).toBe(true)
  })

  it('reset refuses a directory "postgres" that holds no database', async () => {
    const dataDir = await trial()
    const other = newHome()
    mkdirSync(join(other, 'postgres'))
    writeFileSync(join(other, 'postgres/thesis.txt'), '')
    cpSync(join(dataDir, 'postgres.lock'), join(other, 'postgres.lock'))
    expect(await refusalOf({ DATA_DIR: other })).toMatch(/holds no database: remove it yourself/)
    expect(existsSync(join(other, 'postgres/thesis.txt'))).toBe(true)
  })

  it.skipIf(!isRoot)(
    'reset removes a database in the shared home only through its own DATA_DIR',
    async () => {
      const closed = newHome()
      chmodSync(closed, 0o700)
      const dataDir = join(closed, 'data')
      const database = await start(dataDir)
      await database.stop()
      const cluster = realpathSync(join(dataDir, 'postgres'))
      expect(dirname(cluster)).toBe(SHARED_HOME)

      const copy = join(newHome(), 'copy')
      cpSync(dataDir, copy, { recursive: true, verbatimSymlinks: true })
      expect(await refusalOf({ DATA_DIR: copy })).toContain(`is a link to ${cluster}, which`)
      expect(existsSync(join(cluster, 'PG_VERSION'))).toBe(true)

      const { code, stdout } = await runToEnd(['reset'], { DATA_DIR: dataDir })
      expect(code).toBe(0)
      expect(stdout).toContain(`Removed ${cluster}\n`)
      expect(existsSync(cluster)).toBe(false)
      expect(existsSync(dataDir)).toBe(false)
    },
  )
})
