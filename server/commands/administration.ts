import path from 'node:path'
import { createAccount } from '../accounts/accounts.ts'
import { type NewAuditEntry, recordAudit } from '../audit/record.ts'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { sharedTransactions } from '../database/shared-transactions.ts'
import { signalOnly } from '../database/signals.ts'
import { API_ACCESS, SELLER_TIERS } from '../enums.ts'
import { ApiError, type FieldMessages } from '../errors.ts'
import { exists } from '../files/disk.ts'
import { AccountInput, accountChanges, accountJson } from '../http/shapes/account.ts'
import { KeyInput, keyJson } from '../http/shapes/api-key.ts'
import { messagesOf, pathId } from '../http/validate.ts'
import { createKey, findKey, revokeKey } from '../keys/keys.ts'
import { SCOPES } from '../keys/scopes.ts'
import { createLog } from '../log.ts'
import { readClock } from '../sandbox/clock.ts'
import { type Options, parseParameters } from '../settings/parameters.ts'
import { StartError } from '../start-error.ts'
import type { Command } from './command.ts'
import { type CommandDatabase, DATABASE_SETTINGS, withDatabase } from './with-database.ts'

const accountOptions: Options = {
  'shop-name': { value: 'NAME', description: 'Name of the shop. Required' },
  email: { value: 'ADDRESS', description: 'E-mail address of the seller. Required' },
  slug: { value: 'SLUG', description: 'Slug of the shop. Default: derived from the name' },
  'api-access': { value: 'ACCESS', description: `${API_ACCESS.join(', ')}. Default: disabled` },
  'seller-tier': { value: 'TIER', description: `${SELLER_TIERS.join(', ')}. Default: Bronze` },
  business: { description: 'The seller is a business' },
  'payout-verified': { description: 'The seller can receive payouts' },
}

export const createAccountCommand: Command = {
  summary: 'Open an account, as POST /operator/v1/accounts does',
  details: 'Prints the account as JSON. Works with and without a running service.',
  options: accountOptions,
  settings: DATABASE_SETTINGS,
  async run(config, { parameters }) {
    const { values } = parseParameters(parameters, accountOptions)
    const input = fieldsOf(values) as Parameters<typeof accountChanges>[0]
    refuseInvalid(AccountInput, input)
    const { shop_name: shopName = '', email = '' } = input
    const data = await administer(config, async (tx, audit) => {
      const account = await createAccount(tx, { ...accountChanges(input), shopName, email })
      const after = accountJson(account)
      await audit({ action: 'createAccount', record: `account:${account.id}`, after })
      return after
    })
    return print({ data })
  },
}

/** The e-mail to the seller has a link to the keys in the dashboard. */
const KEY_SETTINGS = [...DATABASE_SETTINGS, 'SANDBOX', 'PORT', 'PUBLIC_URL'] as const

const keyOptions: Options = {
  scopes: { value: 'a,b', description: `Scopes of the key: ${SCOPES.join(', ')}. Required` },
  name: { value: 'NAME', description: 'Name to distinguish the key from others' },
}

export const createKeyCommand: Command = {
  summary: 'Create an API key for an account',
  details: 'ACCOUNT is the account’s id. Prints the key as JSON: its secret is shown only once.',
  parameters: 'ACCOUNT',
  options: keyOptions,
  settings: KEY_SETTINGS,
  async run(config, { parameters }) {
    const { values, positionals } = parseParameters(parameters, keyOptions, ['ACCOUNT'])
    const accountId = idIn('ACCOUNT', positionals[0])
    const scopes = String(values.scopes ?? '')
      .split(',')
      .map((scope) => scope.trim())
      .filter(Boolean)
    if (scopes.length === 0) {
      throw new StartError(
        `--scopes is required: one or more of ${SCOPES.join(', ')}, separated by commas.`,
      )
    }
    const input = { ...fieldsOf(values), scopes } as Parameters<typeof createKey>[2]
    refuseInvalid(KeyInput, input)
    const created = await administer(config, async (tx, audit) => {
      const { key, secret } = await createKey(tx, accountId, input)
      const after = keyJson(key)
      await audit({ action: 'createKey', record: `key:${key.id}`, after })
      return { data: after, key: secret }
    })
    return print(created)
  },
}

export const revokeKeyCommand: Command = {
  summary: 'Revoke an API key at once, in running services too',
  details: 'ACCOUNT and KEY are ids. Revoking a key again changes nothing.',
  parameters: 'ACCOUNT KEY',
  settings: KEY_SETTINGS,
  async run(config, { parameters }) {
    const { positionals } = parseParameters(parameters, {}, ['ACCOUNT', 'KEY'])
    const accountId = idIn('ACCOUNT', positionals[0])
    const keyId = idIn('KEY', positionals[1])
    await administer(config, async (tx, audit) => {
      const stateOf = async () => {
        const key = await findKey(tx, accountId, keyId)
        return key ? { revoked_at: keyJson(key).revoked_at } : null
      }
      const before = await stateOf()
      await revokeKey(tx, accountId, keyId)
      await audit({ action: 'revokeKey', record: `key:${keyId}`, before, after: await stateOf() })
    })
    process.stdout.write(`Key ${keyId} of account ${accountId} is revoked.\n`)
    return 0
  },
}

/** A person who can run a command can do all that the operator token allows. */
const BY = { actor: 'operator', actorName: 'command line', role: 'root', requestId: null }

type Audit = (entry: Pick<NewAuditEntry, 'action' | 'record' | 'before' | 'after'>) => Promise<void>

/**
 * Runs a verb of the operator API on an existing database, and writes its entry of the audit log in the same transaction.
 * Validation errors are printed as one line per field.
 */
async function administer<T>(
  config: Config,
  verb: (tx: Context, audit: Audit) => Promise<T>,
): Promise<T> {
  await requireDatabase(config)
  const { log, flush } = createLog(config.logLevel)
  return withDatabase(config, async ({ db, begin }: CommandDatabase) => {
    try {
      const ctx: Context = {
        config,
        log,
        db,
        begin,
        share: sharedTransactions((work) => inTransaction(ctx, work)),
        signal: signalOnly(db),
        ...(await readClock(db)),
      }
      return await inTransaction(ctx, (tx) =>
        verb(tx, (entry) => recordAudit(tx, { ...BY, ...entry })),
      )
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      throw refusal((error.fields ?? {}) as FieldMessages, error.message)
    } finally {
      flush()
    }
  })
}

/** Without the settings of the service, a command would create a database whose accounts and keys no service has. */
async function requireDatabase({ databaseUrl, dataDir }: Config): Promise<void> {
  if (databaseUrl !== undefined || (await exists(path.join(dataDir, 'postgres')))) return
  throw new StartError(
    `DATABASE_URL is not set, and there is no database in ${dataDir}: run the command with the service’s settings.`,
  )
}

/** `shop-name` → `shop_name`; missing options stay absent. */
const fieldsOf = (values: Record<string, string | boolean | undefined>) =>
  Object.fromEntries(
    Object.entries(values).map(([option, value]) => [option.replaceAll('-', '_'), value]),
  )

/** Validates the input against the schema of the operator API. @throws StartError */
function refuseInvalid(schema: object, input: object): void {
  const messages = messagesOf(schema)(input)
  if (Object.keys(messages).length > 0) throw refusal(messages)
}

/** "The shop_name field is required." → "--shop-name is required." */
function refusal(fields: FieldMessages, fallback = ''): StartError {
  const lines = Object.entries(fields).flatMap(([field, messages]) =>
    messages.map((message) => {
      const option = `--${field.replace(/\..*$/, '').replaceAll('_', '-')}`
      return message.replace(/^The (selected )?\S+( field)?/, option)
    }),
  )
  return new StartError([...new Set(lines)].join('\n') || fallback)
}

function idIn(parameter: string, text: string | undefined): number {
  const id = pathId(text)
  if (id === undefined) throw new StartError(`${parameter} must be an id, not "${text}".`)
  return id
}

function print(result: object): number {
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`)
  return 0
}
