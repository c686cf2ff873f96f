import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { readConfig, sandboxWarnings, unknownSettings } from './config.ts'
import { automaticCount } from './settings/parsers.ts'
import { SETTING_NAMES, settingsTable } from './settings/settings.ts'
import { StartError } from './start-error.ts'

const REAL = {
  DATABASE_URL: 'postgres://db.internal/cards',
  PUBLIC_URL: 'https://cards.example',
  SECRET_KEY: 'x'.repeat(32),
}

/** The lines of the error for these settings; none if they are valid. */
function linesOf(settings: Partial<Record<string, string>>): string[] {
  try {
    readConfig(settings)
    return []
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return error.message.split('\n')
  }
}

describe('readConfig', () => {
  it('settings have the documented defaults', () => {
    expect(readConfig({})).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      publicUrl: 'http://localhost:3000',
      marketplaceUrl: 'http://localhost:3000',
      databaseUrl: undefined,
      sandbox: true,
      operatorToken: undefined,
      rateLimit: { read: 600, write: 120 },
      webhookAllowPrivate: false,
      webhookTimeoutMs: 10_000,
      smtpUrl: undefined,
      mailFrom: { name: 'Cardstall', address: 'cardstall@localhost' },
      carrier: 'simulated',
      trustProxy: [],
      logLevel: 'info',
    })
    expect(readConfig({}).dataDir).toMatch(/\/\.cardstall$/)
    expect(readConfig({ DATA_DIR: '/srv/cards' }).storageUrl).toBe('file:///srv/cards/files')
  })

  it('HOST can have the brackets that an IPv6 address has in a URL', () => {
    const hosts = ['[::1]', '::1', '[x]'].map((HOST) => readConfig({ HOST }).host)
    expect(hosts).toEqual(['::1', '::1', '[x]'])
  })

  it('PUBLIC_URL defaults to the port, MARKETPLACE_URL to PUBLIC_URL', () => {
    expect(readConfig({ PORT: '8080' }).publicUrl).toBe('http://localhost:8080')
    const { publicUrl, marketplaceUrl } = readConfig({ PUBLIC_URL: 'https://cards.example/shop/' })
    expect([publicUrl, marketplaceUrl]).toEqual(Array(2).fill('https://cards.example/shop'))
  })

  it('setting DATABASE_URL turns the sandbox off, unless SANDBOX is set', () => {
    expect(readConfig(REAL)).toMatchObject({ sandbox: false, carrier: undefined })
    expect(readConfig({ ...REAL, SANDBOX: 'true' }).sandbox).toBe(true)
  })

  it('the settings of a marketplace without DATABASE_URL cause a warning, unless SANDBOX is set', () => {
    const settings = { ...REAL, OPERATOR_TOKEN: 'y'.repeat(32), DATABASE_URL: '' }
    const warningsOf = (more: Partial<Record<string, string>>) =>
      sandboxWarnings(readConfig({ ...settings, ...more }))
    expect(warningsOf({})).toEqual([
      expect.stringMatching(/^DATABASE_URL is missing, so this is a sandbox/),
    ])
    for (const more of [
      { SANDBOX: 'true' },
      { DATABASE_URL: REAL.DATABASE_URL },
      { PUBLIC_URL: 'http://localhost:3000' },
      { SECRET_KEY: '' },
      { OPERATOR_TOKEN: '' },
    ]) {
      expect(warningsOf(more), JSON.stringify(more)).toEqual([])
    }
  })

  it('PUBLIC_URL becomes a valid address', () => {
    const { publicUrl } = readConfig({ ...REAL, PUBLIC_URL: 'HTTPS://Cards.example:443/my shop/' })
    expect(publicUrl).toBe('https://cards.example/my%20shop')
  })

  it('empty settings count as absent', () => {
    expect(readConfig({ PORT: '', SANDBOX: ' ', OPERATOR_TOKEN: '' })).toEqual(readConfig({}))
  })

  it.each([
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', '80a'],
    ['PUBLIC_URL', 'cards.example'],
    ['PUBLIC_URL', 'https://cards.example/?x=1'],
    ['PUBLIC_URL', 'https://cards.example/?'],
    ['PUBLIC_URL', 'https://cards.example/shop#'],
    ['DATABASE_URL', 'mysql://db/cards'],
    ['DATABASE_URL', 'postgres://me:ge@heim/x@db/cards'],
    ['DATABASE_URL', 'postgres://me:1#heim@db/cards'],
    ['DATABASE_URL', 'postgres://me:1?heim@db/cards'],
    ['DATABASE_URL', 'postgres://me:geheim%zz@db/cards'],
    ['SANDBOX', 'maybe'],
    ['OPERATOR_TOKEN', 'two words'],
    ['OAUTH_CLIENTS', 'any,documents'],
    ['OAUTH_CLIENTS', 'chat.example, documents'],
    ['RATE_LIMIT_READ', '0'],
    ['RATE_LIMIT_WRITE', '-1'],
    ['REDIS_URL', 'http://cache'],
    ['REDIS_URL', 'redis://me:ge@heim/x@cache'],
    ['WEBHOOK_ALLOW_PRIVATE', 'ja'],
    ['WEBHOOK_TIMEOUT_MS', '1.5'],
    ['SMTP_URL', 'mail.example'],
    ['SMTP_URL', 'smtp://'],
    ['SMTP_URL', 'smtp://shop:geheim%zz@mail.example'],
    ['SMTP_URL', 'smtp://shop:geheim#1@mail.example'],
    ['SMTP_URL', 'smtp://mail.example?foo=1'],
    ['SMTP_URL', 'smtp://mail.example?requireTls=true'],
    ['SMTP_URL', 'smtp://mail.example?requireTLS=yes'],
    ['SMTP_URL', 'smtp://mail.example/requireTLS=true'],
    ['MAIL_FROM', 'Card Shop'],
    ['MAIL_FROM', 'a@cards.example, b@cards.example'],
    ['MAIL_FROM', 'Card\nShop <shop@cards.example>'],
    ['MAIL_FROM', "'shop@cards.example'"],
    ['PAYOUT_NAME', '"Card Shop"'],
    ['CARRIER', 'pigeon'],
    ['STORAGE_URL', 'ftp://files'],
    ['MARKETPLACE_URL', 'nowhere'],
    ['MARKETPLACE_URL', 'https://cards.example/?#'],
    ['BUY_URL', 'https://shop.example/cart'],
    ['BUY_URL', 'https://me:geheim@shop.example/cart/{listing}'],
    ['BUY_URL', 'https://me@shop.example/cart/{listing}'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', '0.0.0.0/0'],
    ['TRUST_PROXY', '::/00'],
    ['TRUST_PROXY', 'loadbalancer'],
    ['LOG_LEVEL', 'chatty'],
    ['PROCESSES', '0'],
    ['PROCESSES', '17'],
    ['PROCESSES', 'many'],
    ['PROCESSES', '1.5'],
    ['SECRET_KEY', 'très-geheim'],
    ['REDIS_URL', 'http://:geheim@127.0.0.1'],
  ])('the invalid setting %s=%s stops the start and is named', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(StartError)
    const [line, ...more] = linesOf({ SANDBOX: 'true', [name]: value })
    expect(line).toMatch(new RegExp(`^${name} (?!.*heim).*\\.$`))
    expect(more).toEqual([])
  })

  it.each([
    [2, 16, 2],
    [8, 1, 2],
    [8, 0.25, 1],
    [64, 64, 8],
  ])('%i cores with %d GiB of memory get %i automatic processes', (cores, gibibytes, processes) => {
    expect(automaticCount(cores, gibibytes * 2 ** 30)).toBe(processes)
  })

  it.each([
    ['PUBLIC_URL', undefined, 'is required outside the sandbox'],
    ['SECRET_KEY', undefined, 'is required outside the sandbox'],
    ['SECRET_KEY', 'x'.repeat(31), 'must have at least 32 characters outside the sandbox'],
    ['OPERATOR_TOKEN', 'x'.repeat(31), 'must have at least 32 characters outside the sandbox'],
    ['CARRIER', 'simulated', 'can be "simulated" in the sandbox only'],
  ])('%s=%s is refused outside the sandbox only', (name, value, reason) => {
    const settings = { ...REAL, [name]: value }
    expect(linesOf(settings)).toEqual([expect.stringContaining(`${name} ${reason}`)])
    expect(linesOf({ ...settings, SANDBOX: 'true' })).toEqual([])
  })

  it('a secret may have 32 characters, and OPERATOR_TOKEN may be absent', () => {
    expect(linesOf(REAL)).toEqual([])
    expect(linesOf({ ...REAL, OPERATOR_TOKEN: 'y'.repeat(32) })).toEqual([])
  })

  it('OPERATOR_TOKEN has at most 1,000 characters, so that it fits into the headers of a request', () => {
    expect(linesOf({ ...REAL, OPERATOR_TOKEN: 'y'.repeat(1_000) })).toEqual([])
    expect(linesOf({ ...REAL, OPERATOR_TOKEN: 'y'.repeat(1_001) })).toEqual([
      'OPERATOR_TOKEN must have at most 1000 characters.',
    ])
  })

  it('every invalid setting is reported at once, in one line each', () => {
    const lines = linesOf({
      DATABASE_URL: 'mysql://me:hush@db/cards',
      PORT: 'http',
      SECRET_KEY: 'hush hush',
      OPERATOR_TOKEN: 'hush',
      SMTP_URL: 'smtps://mail.example',
      CARRIER: 'sendcloud',
      LOG_LEVEL: 'chatty',
    })
    expect(lines.map((line) => line.split(' ')[0])).toEqual([
      'PORT',
      'PUBLIC_URL',
      'DATABASE_URL',
      'OPERATOR_TOKEN',
      'SECRET_KEY',
      'MAIL_FROM',
      'SENDCLOUD_PUBLIC_KEY',
      'SENDCLOUD_SECRET_KEY',
      'SENDCLOUD_METHODS',
      'LOG_LEVEL',
    ])
    expect(lines.join()).not.toContain('hush')
  })

  it('an invalid SANDBOX does not make other settings required', () => {
    expect(linesOf({ DATABASE_URL: REAL.DATABASE_URL, SANDBOX: 'maybe' })).toHaveLength(1)
  })

  it('settings that a command does not use are neither validated nor required', () => {
    const given = { DATABASE_URL: REAL.DATABASE_URL, PORT: '-1', SMTP_URL: 'x', LOG_LEVEL: 'loud' }
    const uses = ['DATABASE_URL', 'DATA_DIR'] as const
    expect(readConfig(given, uses)).toMatchObject({
      databaseUrl: REAL.DATABASE_URL,
      port: 3000,
      smtpUrl: undefined,
    })
    expect(() => readConfig({ ...given, DATABASE_URL: 'db' }, uses)).toThrow(/^DATABASE_URL must/)
  })

  it.each([
    ['PROT', 'PORT'],
    ['port', 'PORT'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['PUBLIC_URI', 'PUBLIC_URL'],
    ['CARDSTALL_PORT', 'PORT'],
    ['CARDSTALL_SECRETKEY', 'SECRET_KEY'],
    ['CARDSTALL_COLOUR', undefined],
  ])('the unknown setting %s causes a warning that suggests %s', (name, setting) => {
    const [line, ...more] = unknownSettings({ [name]: '1' })
    expect(more).toEqual([])
    expect(line).toBe(`${name} is not a setting.${setting ? ` Did you mean ${setting}?` : ''}`)
  })

  it('unrelated environment variables, and typos next to the right name, cause no warning', () => {
    const usual = ['HOME', 'PATH', 'HOSTNAME', 'USER', 'TERM', 'IS_SANDBOX', 'npm_config_cache']
    const others = [
      'POSTGRES_PASSWORD',
      'PGPORT',
      'PGHOST',
      'AWS_REGION',
      'DATABASE_HOST',
      'NODE_ENV',
      'PWD',
    ]
    expect(unknownSettings(Object.fromEntries([...usual, ...others].map((n) => [n, '1'])))).toEqual(
      [],
    )
    expect(unknownSettings({ LOGLEVEL: '7', LOG_LEVEL: 'info' })).toEqual([])
  })

  const SENDCLOUD = {
    CARRIER: 'sendcloud',
    SENDCLOUD_PUBLIC_KEY: 'public',
    SENDCLOUD_SECRET_KEY: 'hush',
    SENDCLOUD_METHODS: 'parcel=8, big parcel = 117,*=9',
  }

  it('the Sendcloud settings apply when CARRIER is sendcloud', () => {
    expect(readConfig({ ...REAL, ...SENDCLOUD })).toMatchObject({
      carrier: 'sendcloud',
      sendcloud: {
        url: 'https://panel.sendcloud.sc/api/v2',
        publicKey: 'public',
        secretKey: 'hush',
        methods: new Map([
          ['parcel', 8],
          ['big parcel', 117],
          ['*', 9],
        ]),
      },
    })
    expect(readConfig({ ...SENDCLOUD, CARRIER: 'simulated' }).sendcloud).toBeUndefined()
  })

  it.each([
    ['SENDCLOUD_PUBLIC_KEY', ''],
    ['SENDCLOUD_PUBLIC_KEY', 'hush hush'],
    ['SENDCLOUD_SECRET_KEY', ''],
    ['SENDCLOUD_SECRET_KEY', 'hush hush'],
    ['SENDCLOUD_METHODS', ''],
    ['SENDCLOUD_METHODS', 'parcel'],
    ['SENDCLOUD_METHODS', 'parcel=8,=9'],
    ['SENDCLOUD_METHODS', 'parcel=letter'],
    ['SENDCLOUD_METHODS', 'parcel=8,big=117, parcel =9'],
    ['SENDCLOUD_URL', 'panel.sendcloud.sc'],
  ])('the invalid Sendcloud setting %s=%s stops the start and is named', (name, value) => {
    const reading = () => readConfig({ ...SENDCLOUD, [name]: value })
    expect(reading).toThrow(new RegExp(`^${name} (?!.*hush).*\\.$`))
  })

  it('MAIL_FROM is required with SMTP_URL and otherwise has a default', () => {
    const SMTP_URL = 'smtps://shop:hush@mail.example'
    expect(() => readConfig({ SMTP_URL })).toThrow(/^MAIL_FROM is required/)
    expect(readConfig({ SMTP_URL, MAIL_FROM: 'Card Shop <shop@cards.example>' })).toMatchObject({
      smtpUrl: SMTP_URL,
      mailFrom: { name: 'Card Shop', address: 'shop@cards.example' },
    })
    expect(readConfig({ PUBLIC_URL: 'https://cards.example/x' }).mailFrom.address).toBe(
      'cardstall@cards.example',
    )
  })

  it.each([
    ['SMTP_URL', 'smtps://mail.example/?requireTLS=true&tls.rejectUnauthorized=false'],
    ['SMTP_URL', 'smtp://shop%40cards.example:p%2Fw@mail.example:2525?ignoreTLS=true'],
    ['DATABASE_URL', 'postgres://me@tenant:geheim@db/cards'],
    ['DATABASE_URL', 'postgres:///cards?user=me@tenant&host=/run/postgresql'],
    ['DATABASE_URL', 'postgres://me:geheim@%2Frun%2Fpostgresql/cards'],
    ['REDIS_URL', 'rediss://:geheim@cache/2'],
    ['MAIL_FROM', '"Card Shop" <shop@cards.example>'],
    ['PAYOUT_NAME', "'t Kaarthuis"],
    // An installation may run with it.
    ['OPERATOR_TOKEN', "'geheim'"],
  ])('the setting %s=%s is valid', (name, value) => {
    expect(linesOf({ SANDBOX: 'true', MAIL_FROM: 'a@b.example', [name]: value })).toEqual([])
  })

  it.each([
    'postgres://one:5432,two:5432/cards',
    'postgres://one,two/cards',
    'postgres://me@/cards?host=/run/postgresql',
  ])('a DATABASE_URL without exactly one host is refused with that reason: %s', (url) => {
    expect(linesOf({ DATABASE_URL: url }).find((line) => line.startsWith('DATABASE_URL'))).toBe(
      'DATABASE_URL must be a valid URL, with one host, a number as its port, and special characters percent-encoded.',
    )
  })

  it('errors about settings do not show secrets', () => {
    for (const name of ['DATABASE_URL', 'REDIS_URL', 'SMTP_URL', 'OPERATOR_TOKEN', 'SECRET_KEY']) {
      expect(() => readConfig({ [name]: 'x://user:hush hush@host' })).toThrow(/^(?!.*hush)/)
    }
  })

  it('docs/configuration.md lists every setting', async () => {
    const text = await readFile(new URL('../docs/configuration.md', import.meta.url), 'utf8')
    expect(text).toContain(`\n${settingsTable()}\n`)
    const documented = [...text.matchAll(/^\| `([A-Z_]+)` *\|/gm)].map(([, name]) => name)
    expect(documented).toEqual(SETTING_NAMES)
  })
})
