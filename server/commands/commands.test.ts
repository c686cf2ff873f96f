import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { readConfig } from '../config.ts'
import { migrationFiles } from '../database/migrate.ts'
import type { Sql } from '../database/sql.ts'
import { transactionsOn } from '../database/transactions.ts'
import { SETTING_NAMES } from '../settings/settings.ts'
import { StartError } from '../start-error.ts'
import { databaseAtVersion, testDatabase } from '../test/database.ts'
import { newHome, query } from '../test/embedded-homes.ts'
import {
  embedded,
  isOff,
  newDataDir,
  runToEnd,
  startCommand,
  startService,
} from '../test/process.ts'
import { until } from '../test/until.ts'
import { COMMANDS } from './commands.ts'

const NO_DATABASE =
  /^DATABASE_URL is not set, and there is no database in .+ the service’s settings\.$/

describe('the program', () => {
  it('--version prints the version', async () => {
    const ended = await runToEnd(['--version'], {})
    expect(ended).toMatchObject({ code: 0, stdout: `${packageJson.version}\n`, stderr: '' })
  })

  it('--help lists the commands, even with invalid settings', async () => {
    const { code, stdout, stderr } = await runToEnd(['--help'], { PORT: 'none' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const listed = [...stdout.matchAll(/^ {2}([a-z:]+) {2}/gm)].map(([, name]) => name)
    expect(listed).toEqual(Object.keys(COMMANDS))
  })

  it('a command with -h prints its help and does not run', async () => {
    const ended = await runToEnd(['keys:create', '1', '-h'], { DATABASE_URL: 'none' })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(ended.stdout).toContain('Usage: node cardstall.js keys:create ACCOUNT [OPTIONS]\n')
    expect(ended.stdout).toMatch(/^ {2}--scopes a,b +Scopes of the key: catalog:read, /m)
    expect(ended.stdout).toContain(
      'Settings:\n  DATABASE_URL, DATA_DIR, SANDBOX, PORT, PUBLIC_URL\n',
    )
  })

  it('.env in the current directory provides the settings that the environment lacks', async () => {
    const dotEnv = SETTING_NAMES.map((name) => `${name}="très mal"`).join('\n')
    const settings = { CARRIER: 'sendcloud', WEBHOOK_TIMEOUT_MS: '' }
    const { code, stderr } = await runToEnd(['serve'], settings, { dotEnv })
    expect(code).toBe(1)
    const refused = stderr.trim().split('\n')
    // Any text is a valid HOST, DATA_DIR or PAYOUT_NAME. An empty variable counts as absent, so .env replaces it.
    const others = ['HOST', 'DATA_DIR', 'PAYOUT_NAME', 'CARRIER']
    expect(refused.map((line) => line.split(' ')[0])).toEqual(
      SETTING_NAMES.filter((name) => !others.includes(name)),
    )
  })

  it('an unreadable .env ends a command with one line', async () => {
    const { code, stderr } = await runToEnd(['migrate'], {}, { dotEnv: 'directory' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Cannot read the file \.env: .*\n$/)
  })

  it('a line of .env that is not a setting ends a command with one line', async () => {
    const { code, stderr } = await runToEnd(['migrate'], {}, { dotEnv: 'A=1\nDATA_DIR: hush' })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'Line 2 of .env is not NAME=value.\n' })
  })

  it('a misspelt setting is reported with a suggestion', async () => {
    const { stderr } = await runToEnd(['migrate', '--x'], { DATABSE_URL: 'postgres://db/cards' })
    expect(stderr.split('\n')[0]).toBe('DATABSE_URL is not a setting. Did you mean DATABASE_URL?')
  })

  it.each([
    [['serve', '--port', '80'], "Unknown option '--port'. Possible: none."],
    [['migrate', 'now'], /^Unexpected (argument|parameter) 'now'/],
    [
      ['keys:create', '1', '--scope', 'x'],
      "Unknown option '--scope'. Possible: ACCOUNT, --scopes a,b, --name NAME.",
    ],
    [['keys:create'], /^ACCOUNT is missing\. /],
    [['keys:create', 'me', '--scopes', 'catalog:read'], 'ACCOUNT must be an id, not "me".'],
    [['keys:create', '1'], /^--scopes is required: one or more of catalog:read, .*by commas\.$/],
    [['keys:create', '1', '--scopes', ','], /^--scopes is required: /],
    [['keys:create', '1', '--scopes', 'all'], /^--scopes is not valid\. Possible: catalog:read, /],
    [['keys:revoke', '1'], /^KEY is missing\. /],
    [['keys:revoke', '1', '2', '3'], /^Unexpected parameter '3'\. /],
    [['accounts:create', '--email', 'a@b.example'], '--shop-name is required.'],
    [
      ['accounts:create', '--shop-name', 'A', '--email', 'a@b.example', '--api-access', 'yes'],
      '--api-access is not valid. Possible: enabled, disabled, suspended.',
    ],
    [['accounts:create', '--shop-name', 'A', '--email', 'a@b.example'], NO_DATABASE],
    [['keys:create', '1', '--scopes', 'catalog:read'], NO_DATABASE],
    [['keys:revoke', '1', '2'], NO_DATABASE],
    [['catalog:import'], /^No path was given\. Usage: /],
    [['catalog:import', '/nowhere.ndjson'], 'There is no file or folder /nowhere.ndjson.'],
  ])(
    'the command %j is refused with one line, before a database is opened',
    async ([name, ...parameters], line) => {
      const dataDir = newDataDir()
      const invocation = { parameters, callerDirectory: '.', warnings: [] }
      const running = COMMANDS[name!]!.run(readConfig({ DATA_DIR: dataDir }), invocation)
      const error = await running.catch((error) => error)
      expect(error).toBeInstanceOf(StartError)
      expect(error.message).toMatch(line)
      expect(error.message).not.toContain('\n')
      expect(existsSync(dataDir)).toBe(false)
    },
  )
})

describe('the administration commands', () => {
  let db: Sql
  let settings: { DATABASE_URL: string; PUBLIC_URL: string }
  beforeAll(async () => {
    const database = await testDatabase('product')
    db = database.db
    settings = { DATABASE_URL: database.url, PUBLIC_URL: 'https://cards.example' }
  })

  it('a running service accepts a key from keys:create until keys:revoke revokes it, the e-mails about both link to PUBLIC_URL, and the audit log has each command', async () => {
    const service = await (await startService({ ...settings, SANDBOX: 'true' })).ready()
    const opened = await runToEnd(
      [
        'accounts:create',
        ...['--shop-name', 'Kanto Cards', '--email', 'kanto@shops.example'],
        ...['--api-access', 'enabled', '--payout-verified'],
      ],
      settings,
    )
    expect(opened).toMatchObject({ code: 0, stderr: '' })
    const account = JSON.parse(opened.stdout).data
    expect(account).toMatchObject({
      slug: 'kanto-cards',
      api_access: 'enabled',
      payout_verified: true,
      business: false,
      seller_tier: 'Bronze',
    })

    const scopes = ['--scopes', 'catalog:read, orders:read', '--name', 'ERP']
    const made = await runToEnd(['keys:create', String(account.id), ...scopes], settings)
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const { data, key } = JSON.parse(made.stdout)
    expect(data).toMatchObject({ name: 'ERP', scopes: ['catalog:read', 'orders:read'] })
    expect(made.stdout.split(key)).toHaveLength(2)
    expect((await service.get('/v1/me', key)).body.data.shop_name).toBe('Kanto Cards')

    const ids = [String(account.id), String(data.id)]
    const revoked = await runToEnd(['keys:revoke', ...ids], settings)
    expect(revoked).toMatchObject({ code: 0, stderr: '' })
    await until('the key is refused', async () => (await service.get('/v1/me', key)).status === 401)
    await service.stop()
    const text = expect.stringContaining('\n\nhttps://cards.example/dashboard/keys')
    const mails = await db`select text from mails where recipient = 'kanto@shops.example'`
    expect(mails).toEqual([{ text }, { text }])
    const entries = await db`
      select actor, actor_name, role, action, record, before, after from audit_entries order by id
    `
    const by = { actor: 'operator', actor_name: 'command line', role: 'root' }
    const keyRecord = `key:${data.id}`
    expect(entries).toMatchObject([
      { ...by, action: 'createAccount', record: `account:${account.id}`, after: account },
      { ...by, action: 'createKey', record: keyRecord, before: null, after: data },
      {
        ...by,
        action: 'revokeKey',
        record: keyRecord,
        before: { revoked_at: null },
        after: { revoked_at: expect.any(String) },
      },
    ])
    expect(JSON.stringify(entries)).not.toContain(key)
  })

  it('administration commands report a refusal of the database in one line', async () => {
    await db`
      insert into accounts (shop_name, slug, email, created_at)
      values ('Shop', 'shop', 'taken@shops.example', now())
    `
    const account = ['accounts:create', '--shop-name', 'A', '--email', 'taken@shops.example']
    for (const [parameters, line] of [
      [account, '--email has already been taken.'],
      [['keys:create', '999', '--scopes', 'catalog:read'], 'There is no such account.'],
      [['keys:revoke', '999', '1'], 'There is no such API key.'],
    ] as const) {
      const ended = await runToEnd([...parameters], settings)
      expect(ended).toMatchObject({ code: 1, stdout: '', stderr: `${line}\n` })
    }
  })
})

describe('a database that lacks migrations', () => {
  const account = ['accounts:create', '--shop-name', 'A', '--email', 'a@shops.example']
  const settingsFor = async (version: number) => ({
    DATABASE_URL: await databaseAtVersion(version),
    PUBLIC_URL: 'https://cards.example',
  })

  it('a database of an earlier version is updated by migrate, and refused by the other commands with one line', async () => {
    const files = await migrationFiles()
    const last = files.at(-1)!
    const settings = await settingsFor(files.length - 1)
    const stderr = `The database is of an earlier version of Cardstall and lacks the migration ${last}. Stop the services of that version, then start this one or run its command migrate.\n`
    for (const command of [account, ['keys:revoke', '1', '1']]) {
      expect(await runToEnd(command, settings)).toMatchObject({ code: 1, stdout: '', stderr })
    }
    const migrated = await runToEnd(['migrate'], settings)
    expect(migrated).toMatchObject({ code: 0, stdout: `${last}\n`, stderr: '' })
    expect(await runToEnd(account, settings)).toMatchObject({ code: 0, stderr: '' })
  })

  it('a command creates the tables of an empty database', async () => {
    expect(await runToEnd(account, await settingsFor(0))).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('a signal to a command without a running service', () => {
  const SET = '{"type":"set","id":"a","name":"A","series":"Other","language":"EN","region":"int"}'

  it('SIGINT ends catalog:import with a summary and stops the embedded PostgreSQL', async () => {
    const file = join(newHome(), 'cards.ndjson')
    const cards = Array.from(
      { length: 40_000 },
      (_, n) => `{"type":"card","id":"a-${n}","set_id":"a","name":"A","number":"${n}"}`,
    )
    writeFileSync(file, [SET, ...cards].join('\n'))
    const dataDir = newDataDir()
    const importing = startCommand(['catalog:import', file], { DATA_DIR: dataDir })
    // Looked up each time: while the cluster is being created, its files name another server.
    const recordsAreRead = async () => {
      const server = embedded(dataDir)
      const rows = await query(server.url, 'select 1 from import_records limit 1')
      return rows.length > 0 && server
    }
    const { pid, url } = await until('some records are read', () =>
      recordsAreRead().catch(() => undefined),
    )
    // The import waits for this lock, and so it cannot end before the signal.
    const { begin, end } = transactionsOn(url, 1)
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock'`
    await begin(async (tx) => {
      await tx`lock table cards in share mode`
      await until('the import waits', async () => (await query(url, waiting)).length > 0)
      importing.signal('SIGINT')
    })
    await end()
    const { code, stdout, stderr } = await importing.ended
    expect({ code, stderr }).toMatchObject({ code: 1 })
    expect(stdout).toMatch(
      /cards\.ndjson: [\d,]+ created, 0 updated, .*\n {2}The import was interrupted: .*\n$/,
    )
    expect(isOff(dataDir, pid)).toBe(true)
  })

  it('SIGINT ends migrate while it connects to a silent database', async () => {
    const silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
    const asked = new Promise((resolve) => silent.once('connection', resolve))
    await until('the silent server listens', () => silent.address())
    const { port } = silent.address() as { port: number }
    const settings = { DATABASE_URL: `postgres://me@127.0.0.1:${port}/cards` }
    const migrating = startCommand(['migrate'], settings)
    await asked
    expect(await migrating.stop('SIGINT')).toMatchObject({ code: 1, stdout: '' })
    silent.close()
  })
})
