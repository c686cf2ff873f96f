import { BlockList, isIP } from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Mailbox, mailbox } from './mail/mail.ts'
import { centsFromEuros } from './money.ts'
import type { SendcloudSettings } from './shipping/carriers/sendcloud.ts'
import { StartError } from './start-error.ts'

/** Every setting, parsed and checked. Built once at start; nothing else reads `process.env`. */
export type Config = {
  port: number
  host: string
  /** Prefix of every absolute link handed out, without a trailing slash. */
  publicUrl: string
  databaseUrl: string | undefined
  dataDir: string
  sandbox: boolean
  operatorToken: string | undefined
  secretKey: string | undefined
  /** Requests a minute and key. */
  rateLimit: { read: number; write: number }
  redisUrl: string | undefined
  webhookAllowPrivate: boolean
  /** For one attempt at a delivery, all of it. */
  webhookTimeoutMs: number
  /** For how long what was delivered, or couldn't be, is remembered. */
  webhookRetentionDays: number
  smtpUrl: string | undefined
  /** Who e-mail is from. */
  mailFrom: Mailbox
  /** Who sells platform labels. */
  carrier: (typeof CARRIERS)[number] | undefined
  /** There when that is Sendcloud. */
  sendcloud: SendcloudSettings | undefined
  storageUrl: string
  /** Prefix of the public pages in `url` fields, without a trailing slash. */
  marketplaceUrl: string
  /** What a month's merchandise has to come to for each tier from Bronze up, in whole cents. */
  tierThresholds: number[]
  /** Addresses and CIDR ranges whose `X-Forwarded-*` headers count. */
  trustProxy: string[]
  logLevel: (typeof LOG_LEVELS)[number]
}

/** The settings by name; docs/configuration.md is tested to hold exactly these. */
export const SETTINGS = [
  'PORT',
  'HOST',
  'PUBLIC_URL',
  'DATABASE_URL',
  'DATA_DIR',
  'SANDBOX',
  'OPERATOR_TOKEN',
  'SECRET_KEY',
  'RATE_LIMIT_READ',
  'RATE_LIMIT_WRITE',
  'REDIS_URL',
  'WEBHOOK_ALLOW_PRIVATE',
  'WEBHOOK_TIMEOUT_MS',
  'WEBHOOK_RETENTION_DAYS',
  'SMTP_URL',
  'MAIL_FROM',
  'CARRIER',
  'SENDCLOUD_PUBLIC_KEY',
  'SENDCLOUD_SECRET_KEY',
  'SENDCLOUD_METHODS',
  'SENDCLOUD_URL',
  'STORAGE_URL',
  'MARKETPLACE_URL',
  'TIER_THRESHOLDS',
  'TRUST_PROXY',
  'LOG_LEVEL',
] as const

type Setting = (typeof SETTINGS)[number]
type Environment = Partial<Record<string, string>>

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
const CARRIERS = ['simulated', 'sendcloud'] as const
const LARGEST_RATE = 1_000_000_000

/**
 * Reads the settings from the environment. An empty variable counts as absent.
 *
 * @throws StartError naming the first setting that can't be used, without showing a secret's value
 */
export function readConfig(environment: Environment): Config {
  const read = reader(environment)
  const databaseUrl = read.url('DATABASE_URL', ['postgres:', 'postgresql:'])
  const sandbox = read.flag('SANDBOX', databaseUrl === undefined)
  const port = read.integer('PORT', { from: 1, to: 65_535, otherwise: 3000 })
  const publicUrl = read.webAddress('PUBLIC_URL') ?? `http://localhost:${port}`
  const dataDir = path.resolve(read.text('DATA_DIR') ?? '.cardstall')
  const smtpUrl = read.mailServer('SMTP_URL')
  const carrier = read.carrier(sandbox)
  const secretKey = read.secret('SECRET_KEY')
  if (!sandbox && secretKey === undefined) {
    throw new StartError(
      'SECRET_KEY is required outside the sandbox: it signs label links and encrypts webhook secrets.',
    )
  }
  return {
    port,
    host: read.text('HOST') ?? '127.0.0.1',
    publicUrl,
    databaseUrl,
    dataDir,
    sandbox,
    operatorToken: read.secret('OPERATOR_TOKEN'),
    secretKey,
    rateLimit: {
      read: read.integer('RATE_LIMIT_READ', { from: 1, to: LARGEST_RATE, otherwise: 600 }),
      write: read.integer('RATE_LIMIT_WRITE', { from: 1, to: LARGEST_RATE, otherwise: 120 }),
    },
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:']),
    webhookAllowPrivate: read.flag('WEBHOOK_ALLOW_PRIVATE', false),
    webhookTimeoutMs: read.integer('WEBHOOK_TIMEOUT_MS', {
      from: 1,
      to: 600_000,
      otherwise: 10_000,
    }),
    webhookRetentionDays: read.integer('WEBHOOK_RETENTION_DAYS', {
      from: 1,
      to: 36_500,
      otherwise: 30,
    }),
    smtpUrl,
    mailFrom: read.sender('MAIL_FROM', { publicUrl, isRequired: smtpUrl !== undefined }),
    carrier,
    sendcloud: carrier === 'sendcloud' ? read.sendcloud() : undefined,
    storageUrl:
      read.url('STORAGE_URL', ['file:', 's3:']) ?? pathToFileURL(path.join(dataDir, 'files')).href,
    marketplaceUrl: read.webAddress('MARKETPLACE_URL') ?? publicUrl,
    tierThresholds: read.ascendingEuros('TIER_THRESHOLDS', [0, 250, 1000, 2500, 5000]),
    trustProxy: read.addresses('TRUST_PROXY'),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS) ?? 'info',
  }
}

function reader(environment: Environment) {
  const text = (name: Setting): string | undefined => environment[name]?.trim() || undefined

  const url = (name: Setting, protocols: string[]): string | undefined => {
    const value = text(name)
    if (value === undefined) return undefined
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      // The value may hold a password: it stays out of the message.
      throw new StartError(
        `${name} must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}.`,
      )
    }
    return value
  }

  return {
    text,
    url,

    webAddress(name: Setting): string | undefined {
      const value = url(name, ['http:', 'https:'])
      if (value === undefined) return undefined
      const parsed = new URL(value)
      if (parsed.search || parsed.hash || parsed.username || parsed.password) {
        throw new StartError(`${name} must be a plain address: no query, fragment or user.`)
      }
      return value.replace(/\/+$/, '')
    },

    integer(name: Setting, range: { from: number; to: number; otherwise: number }): number {
      const value = text(name)
      if (value === undefined) return range.otherwise
      const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
      if (!(number >= range.from && number <= range.to)) {
        throw new StartError(
          `${name} must be a whole number from ${range.from} to ${range.to}, not "${value}".`,
        )
      }
      return number
    },

    flag(name: Setting, otherwise: boolean): boolean {
      const value = text(name)?.toLowerCase()
      if (value === undefined) return otherwise
      if (value === 'true' || value === '1') return true
      if (value === 'false' || value === '0') return false
      throw new StartError(`${name} must be true or false, not "${value}".`)
    },

    oneOf<T extends string>(name: Setting, values: readonly T[]): T | undefined {
      const value = text(name)
      if (value === undefined) return undefined
      const found = values.find((candidate) => candidate === value.toLowerCase())
      if (!found)
        throw new StartError(`${name} must be one of ${values.join(', ')}, not "${value}".`)
      return found
    },

    secret(name: Setting): string | undefined {
      const value = text(name)
      if (value === undefined) return undefined
      if (!/^[\x21-\x7e]+$/.test(value)) {
        throw new StartError(`${name} must be printable ASCII characters without spaces.`)
      }
      return value
    },

    mailServer(name: Setting): string | undefined {
      const value = url(name, ['smtp:', 'smtps:'])
      if (value !== undefined && new URL(value).hostname === '') {
        throw new StartError(`${name} must name a host.`)
      }
      return value
    },

    sender(name: Setting, { publicUrl, isRequired }: { publicUrl: string; isRequired: boolean }) {
      const value = text(name)
      if (value === undefined) {
        if (isRequired)
          throw new StartError(`${name} is required with SMTP_URL: who e-mail is from.`)
        return { name: 'Cardstall', address: `cardstall@${new URL(publicUrl).hostname}` }
      }
      const sender = mailbox(value)
      if (!sender) {
        throw new StartError(
          `${name} must be an e-mail address, as shop@cards.example or Card Shop <shop@cards.example>.`,
        )
      }
      return sender
    },

    /** The simulated one sells nothing that a parcel could be sent with: it belongs to the sandbox alone. */
    carrier(sandbox: boolean): Config['carrier'] {
      const value = this.oneOf('CARRIER', CARRIERS)
      if (value === 'simulated' && !sandbox) {
        throw new StartError('CARRIER=simulated works in the sandbox only.')
      }
      return value ?? (sandbox ? 'simulated' : undefined)
    },

    sendcloud(): SendcloudSettings {
      const required = (name: Setting, value: string | undefined): string => {
        if (value === undefined) throw new StartError(`${name} is required with CARRIER=sendcloud.`)
        return value
      }
      return {
        url: this.webAddress('SENDCLOUD_URL') ?? 'https://panel.sendcloud.sc/api/v2',
        publicKey: required('SENDCLOUD_PUBLIC_KEY', this.secret('SENDCLOUD_PUBLIC_KEY')),
        secretKey: required('SENDCLOUD_SECRET_KEY', this.secret('SENDCLOUD_SECRET_KEY')),
        methods: this.methods(
          'SENDCLOUD_METHODS',
          required('SENDCLOUD_METHODS', text('SENDCLOUD_METHODS')),
        ),
      }
    },

    /** `parcel=8,letter=1046,*=8`: a number for each shipping option. */
    methods(name: Setting, value: string): Map<string, number> {
      const methods = value.split(',').map((entry): [string, number] => {
        const [, code, id] = /^\s*(\S.*?)\s*=\s*(\d{1,15})\s*$/.exec(entry) ?? []
        if (code === undefined) {
          throw new StartError(
            `${name} must name a shipping method for each shipping option, as parcel=8,letter=1046,*=8.`,
          )
        }
        return [code, Number(id)]
      })
      return new Map(methods)
    },

    /** Amounts that rise, the first of them 0; in whole cents. */
    ascendingEuros(name: Setting, otherwise: number[]): number[] {
      const given = text(name)
        ?.split(',')
        .map((part) => (/^\s*\d{1,9}(\.\d\d?)?\s*$/.test(part) ? Number(part) : Number.NaN))
      const amounts = given ?? otherwise
      const rises = amounts.every((amount, i) =>
        i === 0 ? amount === 0 : amount > amounts[i - 1]!,
      )
      if (amounts.length !== otherwise.length || !rises) {
        throw new StartError(
          `${name} must be ${otherwise.length} amounts in euros that rise from 0, separated by commas, as "${otherwise.join(',')}".`,
        )
      }
      return amounts.map(centsFromEuros)
    },

    addresses(name: Setting): string[] {
      const values = (text(name) ?? '')
        .split(',')
        .map((entry) => entry.trim())
        .filter(Boolean)
      for (const entry of values) {
        if (!isAddressOrRange(entry)) {
          throw new StartError(
            `${name} must list IP addresses or CIDR ranges, separated by commas; "${entry}" is neither.`,
          )
        }
      }
      return values
    },
  }
}

function isAddressOrRange(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (bits === undefined) return true
  if (!/^\d{1,3}$/.test(bits)) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
    return true
  } catch {
    return false
  }
}
