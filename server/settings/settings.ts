import {
  addressRanges,
  anyText,
  bankAccount,
  bearerToken,
  buyAddress,
  flag,
  hostName,
  integer,
  mailServer,
  oneOf,
  type Parser,
  plainWebAddress,
  processCount,
  programs,
  risingEuros,
  secret,
  sender,
  serverUrl,
  shippingMethods,
  url,
} from './parsers.ts'

/**
 * One setting: its parser, its default, and its description in docs/configuration.md. The parser reads `default` like a
 * given text. If the default depends on other settings, or there is none, `fallback` describes it and `config.ts`
 * supplies it.
 */
export type Setting<T = unknown> = { parse: Parser<T>; description: string } & (
  | { default: string }
  | { fallback: string }
)

const MAX_RATE = 1_000_000_000
const TIER_THRESHOLDS = '0,250,1000,2500,5000'

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export const CARRIERS = ['simulated', 'sendcloud'] as const

/** Every setting, by the name of its environment variable. docs/configuration.md is generated from this table. */
export const SETTINGS = {
  PORT: { parse: integer(1, 65_535), default: '3000', description: 'Port to listen on' },
  HOST: {
    parse: hostName,
    default: '127.0.0.1',
    description:
      'Address to listen on; `0.0.0.0` for all. Set `PUBLIC_URL` as well to the address that browsers use, because forms work only there',
  },
  PUBLIC_URL: {
    parse: plainWebAddress,
    fallback: 'sandbox: `http://localhost:$PORT`; else required',
    description:
      'Prefix of every absolute link that the service issues: pagination, labels, photos, shop pages. The seller API’s base URL is `$PUBLIC_URL/v1`',
  },
  PROCESSES: {
    parse: processCount(16),
    fallback: 'sandbox: 1; else `auto`',
    description:
      'Processes that serve requests, 1 to 16; `auto` is one per core, at most one per 350 MiB of memory, at most 8 ([operating](operating.md#several-processes))',
  },
  DATABASE_URL: {
    parse: serverUrl('postgres:', 'postgresql:'),
    fallback: 'none',
    description:
      '`postgres://…`, a database of its own with the encoding UTF8, in PostgreSQL 15 or later; `?host=/run/postgresql` connects to the Unix socket in that folder. Not encrypted unless it says so ([below](#database)). Without it an embedded PostgreSQL runs in `DATA_DIR`',
  },
  DATA_DIR: {
    parse: anyText,
    default: '.cardstall',
    description:
      'Embedded database, stored files, generated secrets. If it is missing, the service creates a folder that no other user can list or change',
  },
  SANDBOX: {
    parse: flag,
    fallback: '`true` without `DATABASE_URL`, else `false`',
    description:
      'Test clock, simulated carrier, captured e-mail, demo seller, and generated secrets ([below](#sandbox))',
  },
  OPERATOR_TOKEN: {
    parse: bearerToken,
    fallback: 'sandbox: generated once, kept in `DATA_DIR`, printed; else none',
    description:
      'Bearer token of the operator API and of `/metrics`, at least 32 characters outside the sandbox and at most 1,000. Without one both respond with 404',
  },
  SECRET_KEY: {
    parse: secret,
    fallback: 'sandbox: generated once, kept in `DATA_DIR`; else required',
    description:
      'Signs label links, and encrypts webhook secrets, sellers’ bank accounts, and stored responses that have a secret in the database. Keep it with the backups',
  },
  RATE_LIMIT_READ: {
    parse: integer(1, MAX_RATE),
    default: '600',
    description: 'Reads (GET, HEAD) per minute and key',
  },
  RATE_LIMIT_WRITE: {
    parse: integer(1, MAX_RATE),
    default: '120',
    description: 'Writes (the other methods) per minute and key',
  },
  MCP_PUBLIC_RATE: {
    parse: integer(0, MAX_RATE),
    default: '60',
    description:
      'Requests per minute and client address to the public tool server [`/mcp`](agents.md). With 0 it needs a sign-in',
  },
  REDIS_URL: {
    parse: serverUrl('redis:', 'rediss:'),
    fallback: 'none',
    description:
      '`redis://…` or `rediss://…` (Redis or Valkey): shares the rate-limit counters between services, also on several machines. Each installation needs a database of its own (`redis://cache/1`), or they would share their counters. While it is unavailable each process counts for itself',
  },
  WEBHOOK_ALLOW_PRIVATE: {
    parse: flag,
    default: 'false',
    description:
      'Allows deliveries and photo fetches to private addresses, for local development. The rules for registering an endpoint stay the same',
  },
  WEBHOOK_TIMEOUT_MS: {
    parse: integer(1, 600_000),
    default: '10000',
    description:
      'Milliseconds for one delivery attempt, from the DNS lookup to the end of the response',
  },
  WEBHOOK_RETENTION_DAYS: {
    parse: integer(1, 36_500),
    default: '30',
    description: 'Days for which events, deliveries and their attempts are kept',
  },
  BUYER_DATA_DAYS: {
    parse: integer(0, 36_500),
    default: '0',
    description:
      'Days from the last change of a completed order to the erasure of its buyer’s personal data; 0 = never ([staff](staff.md#buyers-data))',
  },
  AUDIT_RETENTION_DAYS: {
    parse: integer(1, 36_500),
    default: '730',
    description: 'Days for which entries of the audit log are kept',
  },
  SMTP_URL: {
    parse: mailServer,
    fallback: 'none',
    description:
      'Mail server: `smtp://user:password@host:587` or `smtps://…` ([below](#e-mail)). Without it e-mail is captured (sandbox) or logged',
  },
  MAIL_FROM: {
    parse: sender,
    fallback: '`Cardstall <cardstall@HOST>`, with the host of `PUBLIC_URL`',
    description:
      'Sender of e-mail: `shop@cards.example` or `Card Shop <shop@cards.example>`. Required with `SMTP_URL`',
  },
  CARRIER: {
    parse: oneOf(CARRIERS),
    fallback: '`simulated` in the sandbox, else none',
    description:
      'Carrier that sells platform labels: `simulated` (sandbox only) or `sendcloud` ([below](#sendcloud)). Without one, a request for a label fails with 502',
  },
  SENDCLOUD_PUBLIC_KEY: {
    parse: secret,
    fallback: 'none',
    description: 'Public key of the integration. Required with `CARRIER=sendcloud`',
  },
  SENDCLOUD_SECRET_KEY: {
    parse: secret,
    fallback: 'none',
    description: 'Secret key of the integration. Required with `CARRIER=sendcloud`',
  },
  SENDCLOUD_METHODS: {
    parse: shippingMethods,
    fallback: 'none',
    description:
      'Shipping methods by shipping option: `parcel=8,big=117,*=8`. Required with `CARRIER=sendcloud`',
  },
  SENDCLOUD_URL: {
    parse: plainWebAddress,
    default: 'https://panel.sendcloud.sc/api/v2',
    description: 'Address of Sendcloud’s API',
  },
  STORAGE_URL: {
    parse: url('file:', 's3:'),
    fallback: '`file:` under `DATA_DIR`',
    description:
      'Storage of photos and label PDFs: `file:/…`, or `s3://…` for several machines ([below](#storage))',
  },
  MARKETPLACE_URL: {
    parse: plainWebAddress,
    fallback: '`PUBLIC_URL`',
    description:
      'Prefix of the public pages in `url` fields: `/cards/{id}`, `/products/{slug}`, `/shops/{slug}`',
  },
  PUBLIC_PAGES: {
    parse: flag,
    default: 'true',
    description:
      'Serves the public pages of cards, products, sets and shops. With `false`, another site serves them at `MARKETPLACE_URL`',
  },
  BUY_URL: {
    parse: buyAddress,
    fallback: 'none',
    description:
      'Address at which buyers order a listing: `https://shop.example/cart/add?listing={listing}`. The public pages then have a Buy link for each offer',
  },
  PAYOUT_IBAN: {
    parse: bankAccount,
    fallback: 'sandbox: a test account; else none',
    description:
      'IBAN of the bank account from which payouts are made. Payout runs need it ([money](money.md#payout-runs))',
  },
  PAYOUT_NAME: {
    parse: anyText,
    fallback: 'sandbox: `Cardstall sandbox`; else none',
    description: 'Holder of that bank account',
  },
  UNVERIFIED_CANCEL_DAYS: {
    parse: integer(0, 3_650),
    default: '14',
    description:
      'Days after which unshipped orders of a seller without a verified payout setup are cancelled and refunded; 0 = never ([after the sale](after-sale.md#cancellations-by-the-system))',
  },
  SHIP_WITHIN_DAYS: {
    parse: integer(0, 3_650),
    default: '30',
    description:
      'Days after which an order that was not shipped is cancelled and refunded; 0 = never',
  },
  TIER_THRESHOLDS: {
    parse: risingEuros(TIER_THRESHOLDS),
    default: TIER_THRESHOLDS,
    description:
      'Euros of merchandise shipped in a month for Bronze, Silver, Gold, Diamond and Master; computed on the 1st at 00:05 UTC for the month before',
  },
  OAUTH_CLIENTS: {
    parse: programs,
    default: 'any',
    description:
      'Programs that may ask a member for access: `any`; `documents` (only programs with a metadata document); or host names separated by commas (only programs whose metadata document is on one of them) ([programs](oauth.md))',
  },
  TRUST_PROXY: {
    parse: addressRanges,
    fallback: 'none',
    description:
      'Addresses and CIDR ranges, separated by commas, whose `X-Forwarded-*` headers are trusted',
  },
  LOG_LEVEL: {
    parse: oneOf(LOG_LEVELS),
    default: 'info',
    description: LOG_LEVELS.map((level) => `\`${level}\``).join(', '),
  },
} satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]

/** The table of docs/configuration.md, in Markdown. */
export function settingsTable(): string {
  const rows = SETTING_NAMES.map((name) => {
    const setting: Setting = SETTINGS[name]
    const fallback = 'default' in setting ? `\`${setting.default}\`` : setting.fallback
    return `| \`${name}\` | ${fallback} | ${setting.description} |`
  })
  return ['| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows].join('\n')
}
