import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { automaticCount, InvalidValue, type Parser } from './settings/parsers.ts'
import {
  type CARRIERS,
  type LOG_LEVELS,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
} from './settings/settings.ts'
import { StartError } from './start-error.ts'
import { editDistance } from './text/edit-distance.ts'
import type { Mailbox } from './text/mailbox.ts'

/** Every setting, parsed and checked. Built once at start; nothing else reads `process.env`, except AWS's own variables. */
export type Config = {
  port: number
  host: string
  /** Prefix of every absolute link that the service issues, without a trailing slash. */
  publicUrl: string
  /** Processes that serve requests. With more than one, another process starts and replaces them. */
  processes: number
  databaseUrl: string | undefined
  dataDir: string
  sandbox: boolean
  /** A sandbox only because DATABASE_URL is missing, although the other settings are those of a marketplace. */
  lacksDatabaseUrl: boolean
  operatorToken: string | undefined
  secretKey: string | undefined
  /** Requests per minute and key. */
  rateLimit: { read: number; write: number }
  /** Requests per minute and address to the public tool server; 0 if it needs a token. */
  mcpPublicRate: number
  redisUrl: string | undefined
  webhookAllowPrivate: boolean
  /** Time limit of a whole delivery attempt. */
  webhookTimeoutMs: number
  /** Retention of deliveries and their attempts. */
  webhookRetentionDays: number
  auditRetentionDays: number
  buyerDataDays: number
  smtpUrl: string | undefined
  /** Sender of e-mail. */
  mailFrom: Mailbox
  /** The carrier platform that sells labels. */
  carrier: (typeof CARRIERS)[number] | undefined
  /** Set if the carrier is Sendcloud. */
  sendcloud: SendcloudSettings | undefined
  storageUrl: string
  /** Prefix of the public pages in `url` fields, without a trailing slash. */
  marketplaceUrl: string
  /** Whether the public pages are served. */
  publicPages: boolean
  /** Whether there are pages below `marketplaceUrl`: this service's, or those of the site that MARKETPLACE_URL names. */
  hasMarketplace: boolean
  /** Address at which buyers order a listing, with `{listing}` for its id. */
  buyUrl: string | undefined
  /** Holder and IBAN of the marketplace's bank account, which payouts are made from. */
  payoutName: string | undefined
  payoutIban: string | undefined
  /** Days after which pending rows of sellers without a verified payout setup are cancelled; 0 for never. */
  unverifiedCancelDays: number
  /** Days after which pending rows are cancelled; 0 for never. */
  shipWithinDays: number
  /** Minimum merchandise of a month for each tier from Bronze up, in whole cents. */
  tierThresholds: number[]
  /** Programs that may ask members for access: all, those with a metadata document, or those with one on these hosts. */
  oauthClients: 'any' | 'documents' | string[]
  /** Addresses and CIDR ranges whose `X-Forwarded-*` headers are trusted. */
  trustProxy: string[]
  logLevel: (typeof LOG_LEVELS)[number]
}

/** A common example of an IBAN. No bank executes a transfer from it. */
const SANDBOX_IBAN = 'NL02ABNA0123456789'

type Environment = Partial<Record<string, string>>

/** Shorter secrets could be found by brute force. */
const MIN_SECRET_LENGTH = 32

/**
 * Reads the settings from the environment. An empty variable counts as absent.
 *
 * @param uses settings that the command uses; all others count as absent and are never required
 * @throws StartError with one line for each invalid setting; it never contains the value of a secret
 */
export function readConfig(
  environment: Environment,
  uses: readonly SettingName[] = SETTING_NAMES,
): Config {
  const problems = new Map<SettingName, string>()
  const isGiven = (name: SettingName) => uses.includes(name) && !!environment[name]?.trim()
  const read = <N extends SettingName>(name: N) =>
    readSetting(name, isGiven(name) ? environment[name] : undefined, problems) as ValueOf<N>
  const refuse = (name: SettingName, problem: string) => {
    if (uses.includes(name) && !problems.has(name)) problems.set(name, problem)
  }

  const databaseUrl = read('DATABASE_URL')
  // An invalid SANDBOX counts as true, so that it makes no other setting required.
  const sandbox = read('SANDBOX') ?? (problems.has('SANDBOX') || !isGiven('DATABASE_URL'))
  const port = read('PORT')
  const givenPublicUrl = read('PUBLIC_URL')
  const publicUrl = givenPublicUrl ?? `http://localhost:${port}`
  const dataDir = path.resolve(read('DATA_DIR'))
  const secretKey = read('SECRET_KEY')
  const operatorToken = read('OPERATOR_TOKEN')
  const smtpUrl = read('SMTP_URL')
  const mailFrom = read('MAIL_FROM')
  const carrier = read('CARRIER') ?? (sandbox ? 'simulated' : undefined)

  if (smtpUrl !== undefined && mailFrom === undefined) {
    refuse('MAIL_FROM', 'is required with SMTP_URL: it is the sender of e-mail.')
  }
  if (!sandbox) {
    if (givenPublicUrl === undefined) {
      refuse('PUBLIC_URL', 'is required outside the sandbox: every link begins with it.')
    }
    if (secretKey === undefined) {
      refuse(
        'SECRET_KEY',
        'is required outside the sandbox: it signs label links and encrypts webhook secrets.',
      )
    }
    for (const [name, secret] of Object.entries({
      SECRET_KEY: secretKey,
      OPERATOR_TOKEN: operatorToken,
    })) {
      if (secret === undefined || secret.length >= MIN_SECRET_LENGTH) continue
      refuse(
        name as SettingName,
        `must have at least ${MIN_SECRET_LENGTH} characters outside the sandbox. "openssl rand -hex 32" makes one.`,
      )
    }
    // Its labels are not valid for real parcels.
    if (carrier === 'simulated') refuse('CARRIER', 'can be "simulated" in the sandbox only.')
  }

  const seemsMarketplace =
    publicUrl.startsWith('https:') && isGiven('SECRET_KEY') && isGiven('OPERATOR_TOKEN')

  const config: Config = {
    port,
    host: read('HOST'),
    publicUrl,
    processes: read('PROCESSES') ?? (sandbox ? 1 : automaticCount()),
    databaseUrl,
    dataDir,
    sandbox,
    lacksDatabaseUrl: seemsMarketplace && !isGiven('DATABASE_URL') && !isGiven('SANDBOX'),
    operatorToken,
    secretKey,
    rateLimit: { read: read('RATE_LIMIT_READ'), write: read('RATE_LIMIT_WRITE') },
    mcpPublicRate: read('MCP_PUBLIC_RATE'),
    redisUrl: read('REDIS_URL'),
    webhookAllowPrivate: read('WEBHOOK_ALLOW_PRIVATE'),
    webhookTimeoutMs: read('WEBHOOK_TIMEOUT_MS'),
    webhookRetentionDays: read('WEBHOOK_RETENTION_DAYS'),
    auditRetentionDays: read('AUDIT_RETENTION_DAYS'),
    buyerDataDays: read('BUYER_DATA_DAYS'),
    smtpUrl,
    mailFrom: mailFrom ?? { name: 'Cardstall', address: `cardstall@${hostOf(publicUrl)}` },
    carrier,
    sendcloud: carrier === 'sendcloud' ? readSendcloud(read, refuse) : undefined,
    storageUrl: read('STORAGE_URL') ?? pathToFileURL(path.join(dataDir, 'files')).href,
    marketplaceUrl: read('MARKETPLACE_URL') ?? publicUrl,
    publicPages: read('PUBLIC_PAGES'),
    hasMarketplace: read('PUBLIC_PAGES') || read('MARKETPLACE_URL') !== undefined,
    buyUrl: read('BUY_URL'),
    payoutName: read('PAYOUT_NAME') ?? (sandbox ? 'Cardstall sandbox' : undefined),
    payoutIban: read('PAYOUT_IBAN') ?? (sandbox ? SANDBOX_IBAN : undefined),
    unverifiedCancelDays: read('UNVERIFIED_CANCEL_DAYS'),
    shipWithinDays: read('SHIP_WITHIN_DAYS'),
    tierThresholds: read('TIER_THRESHOLDS'),
    oauthClients: read('OAUTH_CLIENTS'),
    trustProxy: read('TRUST_PROXY') ?? [],
    logLevel: read('LOG_LEVEL'),
  }
  if (problems.size > 0) {
    const named = SETTING_NAMES.filter((name) => problems.has(name))
    throw new StartError(named.map((name) => `${name} ${problems.get(name)}`).join('\n'))
  }
  return config
}

/** A warning about a sandbox that was probably not intended, if this is one. */
export const sandboxWarnings = ({ lacksDatabaseUrl }: Config): string[] =>
  lacksDatabaseUrl
    ? [
        'DATABASE_URL is missing, so this is a sandbox, although the other settings are those of a marketplace. Set DATABASE_URL, or SANDBOX=true.',
      ]
    : []

const PREFIX = 'CARDSTALL_'
/** In shorter names, two edits make another word: HOME is not HOST. */
const LONG_NAME = 6
/** The prefix of the variables of PostgreSQL's own programs: PGPORT is not PORT. */
const POSTGRES_PREFIX = 'PG'

/** Warnings about variables that look like misspelled settings, one line each. */
export function unknownSettings(environment: Environment): string[] {
  return Object.keys(environment).flatMap((name) => {
    if (SETTING_NAMES.some((setting) => setting === name)) return []
    if (name.startsWith(POSTGRES_PREFIX)) return []
    const upper = name.toUpperCase()
    const isOurs = upper.startsWith(PREFIX)
    const wanted = isOurs ? upper.slice(PREFIX.length) : upper
    const limit = wanted.length < LONG_NAME ? 1 : 2
    const [nearest] = SETTING_NAMES.map((setting) => ({
      setting,
      distance: editDistance(wanted, setting, limit),
    }))
      .filter(({ setting, distance }) => distance <= limit && !environment[setting]?.trim())
      .sort((a, b) => a.distance - b.distance)
    if (nearest) return [`${name} is not a setting. Did you mean ${nearest.setting}?`]
    return isOurs ? [`${name} is not a setting.`] : []
  })
}

/** The type of a setting's value. Only a setting without a default can be undefined. */
type ValueOf<N extends SettingName> = (typeof SETTINGS)[N] extends { parse: Parser<infer T> }
  ? (typeof SETTINGS)[N] extends { default: string }
    ? T
    : T | undefined
  : never

/** `docker run --env-file` and Kubernetes keep the quotes of a file, which `readDotEnv` removes. */
const QUOTED = /^(["'])(?:(?!\1).)*\1$/s
/** An installation may already run with such a secret. */
const MAY_BE_QUOTED: SettingName[] = ['SECRET_KEY', 'OPERATOR_TOKEN']

/** The value of a setting, or its default. An invalid value is added to `problems` and counts as absent. */
function readSetting(
  name: SettingName,
  given: string | undefined,
  problems: Map<SettingName, string>,
): unknown {
  const setting = SETTINGS[name]
  const fallback = () => ('default' in setting ? setting.parse(setting.default) : undefined)
  const text = given?.trim()
  if (!text) return fallback()
  if (QUOTED.test(text) && !MAY_BE_QUOTED.includes(name)) {
    problems.set(name, 'must not be in quotes, because they are a part of the value here.')
    return fallback()
  }
  try {
    return setting.parse(text)
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error
    problems.set(name, error.message)
    return fallback()
  }
}

function readSendcloud(
  read: <N extends SettingName>(name: N) => ValueOf<N>,
  refuse: (name: SettingName, problem: string) => void,
): SendcloudSettings {
  const required = <N extends SettingName>(name: N) => {
    const value = read(name)
    if (value === undefined) refuse(name, 'is required with CARRIER=sendcloud.')
    return value as NonNullable<ValueOf<N>>
  }
  return {
    url: read('SENDCLOUD_URL'),
    publicKey: required('SENDCLOUD_PUBLIC_KEY'),
    secretKey: required('SENDCLOUD_SECRET_KEY'),
    methods: required('SENDCLOUD_METHODS'),
  }
}

const hostOf = (address: string) => new URL(address).hostname

export type SendcloudSettings = {
  /** URL of its API, without a trailing slash. */
  url: string
  publicKey: string
  secretKey: string
  /** Sendcloud's shipping method by a seller's shipping option; `*` for all others. */
  methods: Map<string, number>
}
