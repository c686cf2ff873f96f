import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Mailbox } from './mail/mail.ts'
import { InvalidValue, type Parser } from './setting-parsers.ts'
import { type CARRIERS, type LOG_LEVELS, SETTINGS, type SettingName } from './settings.ts'
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

type Environment = Partial<Record<string, string>>

/**
 * Reads the settings from the environment. An empty variable counts as absent.
 *
 * @throws StartError naming the first setting that can't be used, without showing a secret's value
 */
export function readConfig(environment: Environment): Config {
  const problems: string[] = []
  const read = <N extends SettingName>(name: N) =>
    readSetting(name, environment[name], problems) as ValueOf<N>

  const databaseUrl = read('DATABASE_URL')
  const sandbox = read('SANDBOX') ?? databaseUrl === undefined
  const port = read('PORT')
  const publicUrl = read('PUBLIC_URL') ?? `http://localhost:${port}`
  const dataDir = path.resolve(read('DATA_DIR'))
  const secretKey = read('SECRET_KEY')
  const smtpUrl = read('SMTP_URL')
  const mailFrom = read('MAIL_FROM')
  const carrier = read('CARRIER') ?? (sandbox ? 'simulated' : undefined)

  if (!sandbox && secretKey === undefined) {
    problems.push(
      'SECRET_KEY is required outside the sandbox: it signs label links and encrypts webhook secrets.',
    )
  }
  if (smtpUrl !== undefined && mailFrom === undefined) {
    problems.push('MAIL_FROM is required with SMTP_URL: it is the sender of e-mail.')
  }
  // It sells nothing that a parcel could be sent with.
  if (carrier === 'simulated' && !sandbox) {
    problems.push('CARRIER=simulated works in the sandbox only.')
  }

  const config: Config = {
    port,
    host: read('HOST'),
    publicUrl,
    databaseUrl,
    dataDir,
    sandbox,
    operatorToken: read('OPERATOR_TOKEN'),
    secretKey,
    rateLimit: { read: read('RATE_LIMIT_READ'), write: read('RATE_LIMIT_WRITE') },
    redisUrl: read('REDIS_URL'),
    webhookAllowPrivate: read('WEBHOOK_ALLOW_PRIVATE'),
    webhookTimeoutMs: read('WEBHOOK_TIMEOUT_MS'),
    webhookRetentionDays: read('WEBHOOK_RETENTION_DAYS'),
    smtpUrl,
    mailFrom: mailFrom ?? { name: 'Cardstall', address: `cardstall@${hostOf(publicUrl)}` },
    carrier,
    sendcloud: carrier === 'sendcloud' ? readSendcloud(read, problems) : undefined,
    storageUrl: read('STORAGE_URL') ?? pathToFileURL(path.join(dataDir, 'files')).href,
    marketplaceUrl: read('MARKETPLACE_URL') ?? publicUrl,
    tierThresholds: read('TIER_THRESHOLDS'),
    trustProxy: read('TRUST_PROXY') ?? [],
    logLevel: read('LOG_LEVEL'),
  }
  if (problems.length > 0) throw new StartError(problems[0]!)
  return config
}

/** The type of a setting's value: only one without a default can be absent. */
type ValueOf<N extends SettingName> = (typeof SETTINGS)[N] extends { parse: Parser<infer T> }
  ? (typeof SETTINGS)[N] extends { default: string }
    ? T
    : T | undefined
  : never

/** The value of a setting, or its default. A value that can't be used is noted in `problems` and counts as absent. */
function readSetting(name: SettingName, given: string | undefined, problems: string[]): unknown {
  const setting = SETTINGS[name]
  const otherwise = () => ('default' in setting ? setting.parse(setting.default) : undefined)
  const text = given?.trim()
  if (!text) return otherwise()
  try {
    return setting.parse(text)
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    problems.push(`${name} ${error.message}`)
    return otherwise()
  }
}

function readSendcloud(
  read: <N extends SettingName>(name: N) => ValueOf<N>,
  problems: string[],
): SendcloudSettings {
  const required = <T>(name: SettingName, value: T | undefined): T => {
    const isNoted = problems.some((problem) => problem.startsWith(`${name} `))
    if (value === undefined && !isNoted) {
      problems.push(`${name} is required with CARRIER=sendcloud.`)
    }
    return value as T
  }
  return {
    url: read('SENDCLOUD_URL'),
    publicKey: required('SENDCLOUD_PUBLIC_KEY', read('SENDCLOUD_PUBLIC_KEY')),
    secretKey: required('SENDCLOUD_SECRET_KEY', read('SENDCLOUD_SECRET_KEY')),
    methods: required('SENDCLOUD_METHODS', read('SENDCLOUD_METHODS')),
  }
}

const hostOf = (address: string) => new URL(address).hostname
