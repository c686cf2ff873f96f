import { hostname } from 'node:os'
import { text as readAll } from 'node:stream/consumers'
import { type Account, AuthenticationError } from '@cardstall/sdk'
import { cancel, password, text } from '@clack/prompts'
import type { Command } from 'commander'
import { deviceLogin } from '../device-login.ts'
import { type Output, openOutput, printable } from '../output.ts'
import {
  type ChosenProfile,
  chosenProfile,
  deleteProfile,
  type Profile,
  readProfiles,
  saveProfile,
} from '../profiles.ts'
import {
  apiUrl,
  CommandError,
  clientOf,
  EXIT,
  type GlobalOptions,
  openSession,
  optionsOf,
} from '../session.ts'

/** `login`, `logout`, `whoami`, `profiles`. */
export function accountCommands(program: Command): void {
  program
    .command('login')
    .description('sign in to a marketplace in a browser, or renew the key of a profile')
    .option('--with-key', 'read an API key from stdin instead')
    .option('--scopes <scopes>', 'scopes of the key, separated by commas (default: all)')
    .option('--no-browser', 'show the address, and open no browser')
    .action(async (options: LoginOptions, command: Command) => {
      const given = optionsOf(command)
      const chosen = await chosenProfile(given.profile)
      const url = addressOf(given, chosen)
      const out = openOutput(given)
      const entered = await enter(url, options)
      const { shop_name } = await storeKey(chosen.name, entered, out)
      out.json({ profile: chosen.name, url: apiUrl(entered.url), shop_name })
      out.note(`Signed in to ${shop_name} on ${hostname()}, as profile "${chosen.name}".`)
    })

  program
    .command('logout')
    .description('forget the key of a profile; revokes one that login created')
    .action(async (_options, command: Command) => {
      const { profile, ...options } = optionsOf(command)
      const { name, stored } = await chosenProfile(profile)
      if (!stored)
        throw new CommandError(
          `There is no profile "${name}": "cardstall profiles" lists them.`,
          EXIT.notSignedIn,
        )
      const isRevoked = stored.isOwn === true && (await revoke(stored))
      const next = await deleteProfile(name)
      const out = openOutput(options)
      out.json({ profile: name, key_revoked: isRevoked, current_profile: next ?? null })
      out.note(
        isRevoked
          ? `Profile "${name}" is deleted, and its key is revoked.`
          : `Profile "${name}" is deleted. Its key may still work: revoke it at ${keysPage(stored)}`,
      )
      if (next !== undefined) out.note(`The current profile is "${next}".`)
    })

  program
    .command('whoami')
    .description('show the shop and the key in use')
    .action(async (_options, command: Command) => {
      const { client, out, profile } = await openSession(command)
      const account = await client.me()
      out.record(account, [
        ['Shop', account.shop_name],
        ['Marketplace', profile.url],
        ['Tier', account.seller_tier],
        ['Key', `${account.key_prefix}…`],
        ['Scopes', account.scopes.join(' ')],
        ['Limits', `${account.rate_limit.read} reads, ${account.rate_limit.write} writes a minute`],
      ])
    })

  program
    .command('profiles')
    .description('list the stored profiles')
    .action(async (_options, command: Command) => {
      const { current, profiles } = await readProfiles()
      const records = Object.entries(profiles).map(([name, { url }]) => ({
        name,
        url,
        current: name === current,
      }))
      openOutput(optionsOf(command)).records(records, [
        ['PROFILE', ({ name }) => name],
        ['MARKETPLACE', ({ url }) => url],
        ['', ({ current }) => (current ? 'current' : '')],
      ])
    })
}

type LoginOptions = { withKey?: boolean; scopes?: string; browser: boolean }

/**
 * The address of a login.
 *
 * @throws CommandError (exit code 2) if it would replace the key of another marketplace, whose profile was not named
 */
function addressOf(
  given: GlobalOptions,
  { name, stored, environment }: ChosenProfile,
): string | undefined {
  const url = given.url ?? (environment.CARDSTALL_URL || stored?.url)
  if (given.profile === undefined && stored && apiUrl(url!) !== apiUrl(stored.url)) {
    throw new CommandError(
      `The profile "${name}" is for ${stored.url}, not ${url}: add --url ${url} --profile ${name} to replace its key, or --profile with a new name.`,
      EXIT.usage,
    )
  }
  return url
}

/** Stores a key that the service accepts in a profile. Revokes the key that it replaces, if `login` created that one. */
async function storeKey(name: string, entered: Profile, out: Output): Promise<Account> {
  let account: Account
  let former: Profile | undefined
  try {
    account = await clientOf(entered).me()
    former = await saveProfile(name, { ...entered, url: apiUrl(entered.url) })
  } catch (error) {
    if (entered.isOwn && !(await revoke(entered))) {
      out.note(`The key that was created may still work: revoke it at ${keysPage(entered)}`)
    }
    throw error
  }
  // A key that login created belongs to its profile only.
  if (former?.isOwn && former.key !== entered.key && !(await revoke(former))) {
    out.note(`The key of the former login may still work: revoke it at ${keysPage(former)}`)
  }
  return account
}

/** The address and the key: from a browser, or from stdin. */
async function enter(
  url: string | undefined,
  { withKey, scopes, browser }: LoginOptions,
): Promise<Profile> {
  if (withKey) {
    if (url === undefined) throw new CommandError('Add --url with the address.', EXIT.usage)
    const key = process.stdin.isTTY
      ? answered(await password({ message: 'API key', output: process.stderr }))
      : (await readAll(process.stdin)).trim()
    if (!key) throw new CommandError('No key was sent to stdin.', EXIT.usage)
    return { url, key }
  }
  if (url === undefined && !process.stdin.isTTY) {
    throw new CommandError('Without a terminal, add --url with the address.', EXIT.usage)
  }
  const output = process.stderr
  const address = url ?? answered(await text({ message: 'Address of the marketplace', output }))
  const key = await deviceLogin(address, {
    scopes,
    opensBrowser: browser,
    show: (line) => output.write(`${printable(line)}\n`),
  })
  return { url: address, key, isOwn: true }
}

/** Revokes a key. Returns false if the service can't be reached; an unknown key is revoked already. */
const revoke = (profile: Profile) =>
  clientOf(profile)
    .tools.key.revoke()
    .then(
      () => true,
      (error) => error instanceof AuthenticationError,
    )

const keysPage = ({ url }: Profile) => apiUrl(url).replace(/v1$/, 'dashboard/keys')

function answered(value: string | symbol): string {
  if (typeof value === 'string') return value
  cancel('Nothing was changed.', { output: process.stderr })
  process.exit(EXIT.interrupted)
}
