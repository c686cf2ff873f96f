import { hostname } from 'node:os'
import { text as readAll } from 'node:stream/consumers'
import { cancel, password, text } from '@clack/prompts'
import type { Command } from 'commander'
import { openOutput } from '../output.ts'
import { DEFAULT_PROFILE, deleteProfile, readProfiles, saveProfile } from '../profiles.ts'
import { apiUrl, CommandError, clientOf, EXIT, openSession, optionsOf } from '../session.ts'

/** `login`, `logout`, `whoami`, `profiles`. */
export function accountCommands(program: Command): void {
  program
    .command('login')
    .description('store an API key for a marketplace')
    .option('--with-key', 'read the key from stdin')
    .action(async ({ withKey }: { withKey?: boolean }, command: Command) => {
      const { url, profile = DEFAULT_PROFILE, ...options } = optionsOf(command)
      const out = openOutput(options)
      const entered = await enter(url ?? (process.env.CARDSTALL_URL || undefined), withKey === true)
      const account = await clientOf(entered).me()
      await saveProfile(profile, { key: entered.key, url: apiUrl(entered.url) })
      out.note(`Signed in to ${account.shop_name} on ${hostname()}, as profile "${profile}".`)
    })

  program
    .command('logout')
    .description('forget the key of a profile')
    .action(async (_options, command: Command) => {
      const { profile, ...options } = optionsOf(command)
      const name = profile ?? (await readProfiles()).current ?? DEFAULT_PROFILE
      if (!(await deleteProfile(name))) {
        throw new CommandError(`There is no profile "${name}".`, EXIT.notSignedIn)
      }
      openOutput(options).note(
        `Profile "${name}" is deleted. Its key still works: revoke it in the dashboard under Keys.`,
      )
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

/** The address and the key, from options, stdin or questions. */
async function enter(url: string | undefined, fromStdin: boolean) {
  if (fromStdin) {
    if (url === undefined) throw new CommandError('Add --url with the address.', EXIT.usage)
    const key = (await readAll(process.stdin)).trim()
    if (!key) throw new CommandError('No key was sent to stdin.', EXIT.usage)
    return { url, key }
  }
  if (!process.stdin.isTTY) {
    throw new CommandError('Without a terminal, send the key to stdin with --with-key.', EXIT.usage)
  }
  const output = process.stderr
  const address = url ?? answered(await text({ message: 'Address of the marketplace', output }))
  const dashboard = apiUrl(address).replace(/v1$/, 'dashboard/keys')
  const message = `API key (create one at ${dashboard})`
  return { url: address, key: answered(await password({ message, output })).trim() }
}

function answered(value: string | symbol): string {
  if (typeof value === 'string') return value
  cancel('Nothing was changed.', { output: process.stderr })
  process.exit(EXIT.interrupted)
}
