import { execFile, spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { mismatchesOf } from '../server/test/described-responses.ts'
import { cardItem, list } from '../server/test/fixtures/listings.ts'
import { app, file, folder, run, seller, sold, startShop, succeed, url } from './test/packed.ts'

const execute = promisify(execFile)

const isThere = (shell: string) => spawnSync(shell, ['--version']).status === 0
for (const shell of ['fish', 'zsh']) {
  if (!isThere(shell)) console.warn(`SKIPPED: completion in ${shell}. It is not on PATH.`)
}

beforeAll(startShop)

describe('the shop', () => {
  it('payouts, the statement, disputes and shipping options are listed; a holiday begins and ends', async () => {
    expect(await succeed('shipping')).toContain(
      'parcel\tTracked parcel\t6.95\town\tyes\tyes\tall\tany value\n',
    )
    expect(await succeed('shipping set parcel --price 7,25')).toContain('\t7.25\t')
    expect(await succeed('shipping set letter --price 0')).toContain('\t0.00\t')
    expect((await run('shipping set parcl --price 1')).stderr).toContain('There is no option')
    expect(JSON.parse(await succeed('payouts --state paid --json'))).toEqual([])
    const month = app.ctx.now().toISOString().slice(0, 7)
    expect(await succeed(`statement ${month}`)).toMatch(/^Closing balance\t-?\d+\.\d\d$/m)
    expect(await succeed(`statement ${month} --csv`)).toContain(month)
    expect((await run('statement 2026-13')).code).toBe(2)
    for (const state of ['on', 'off']) {
      expect(await succeed(`holiday ${state}`)).toBe(`Holiday\t${state}\n`)
      expect(await succeed('holiday --json')).toBe(`{"on":${state === 'on'}}\n`)
    }
  })

  it('a command that changes something or writes a file has its result as JSON', async () => {
    const [first, second] = await list(seller, cardItem(), cardItem())
    const json = async (args: string, options?: object) =>
      JSON.parse(await succeed(`${args} --json`, options))
    expect(await json(`listings delete ${first} --yes`)).toEqual([{ id: first }])
    const partly = await run(`listings delete ${first} ${second} --yes --json`)
    expect([partly.code, JSON.parse(partly.stdout)]).toEqual([1, [{ id: second }]])
    const others = await list(seller, cardItem(), cardItem())
    expect(await succeed(`listings delete ${others.join(' ')} --yes --ndjson`)).toBe(
      others.map((id) => `{"id":${id}}\n`).join(''),
    )
    const { id } = await json('webhooks create https://hooks.example/ order.created')
    const delivery = await json(`webhooks test ${id} order.created`)
    expect(await json(`webhooks resend ${delivery[0].id}`)).toEqual([{ id: delivery[0].id }])
    expect(await json(`webhooks delete ${id}`)).toEqual([{ id }])
    expect(await json('orders pick --html json.html')).toEqual({ file: 'json.html' })
    const exported = await json('listings export json.csv --status hidden')
    expect(exported).toEqual({ file: 'json.csv', listings: expect.any(Number) })
    const env = { XDG_CONFIG_HOME: file('json') }
    expect(await json('login --with-key', { env, input: seller.key })).toMatchObject({
      profile: 'default',
      url: `${url}/v1`,
    })
    expect(await json('logout', { env })).toEqual({
      profile: 'default',
      key_revoked: false,
      current_profile: null,
    })
  })

  it('a command that prints CSV refuses --json and --ndjson', async () => {
    for (const args of ['statement 2026-03 --csv --json', 'listings export --ndjson']) {
      const { code, stdout, stderr } = await run(args)
      const message = expect.stringMatching(/^The output is CSV, not JSON: [^\n]+\n$/)
      expect([code, stdout, stderr]).toEqual([2, '', message])
    }
  })

  it('JSON is what the description of the API says', async () => {
    await sold()
    const month = app.ctx.now().toISOString().slice(0, 7)
    for (const [api, schemas] of Object.entries({
      seller: {
        Account: 'whoami',
        Card: 'cards search charizard',
        CardSet: 'sets',
        SealedProduct: 'products',
        Order: 'orders list',
        WebhookEndpoint: 'webhooks list',
      },
      tools: {
        OwnListing: 'listings list --limit 5',
        OwnShippingOption: 'shipping',
        Statement: `statement ${month}`,
      },
    })) {
      const description = await readFile(
        path.join(import.meta.dirname, `../openapi/${api}.json`),
        'utf8',
      )
      const mismatch = mismatchesOf(JSON.parse(description))
      for (const [schema, command] of Object.entries(schemas)) {
        const records = [JSON.parse(await succeed(`${command} --json`))].flat()
        if (schema !== 'WebhookEndpoint') expect(records.length, command).toBeGreaterThan(0)
        for (const record of records) {
          expect(mismatch(`#/components/schemas/${schema}`, record), command).toBeNull()
        }
      }
    }
  })

  it('open prints the address of a page, and bash completes commands and options', async () => {
    expect(await succeed('open orders')).toBe(`Dashboard\t${url}/dashboard/orders\n`)
    await writeFile(file('completion.bash'), await succeed('completion bash'))
    const complete = async (...words: string[]) => {
      const typed = words.map((word) => `'${word}'`).join(' ')
      const script = `. ./completion.bash; COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _cardstall; echo "\${COMPREPLY[@]}"`
      return (await execute('bash', ['-c', script], { cwd: folder })).stdout.trim()
    }
    expect(await complete('cardstall', 'list')).toBe('listings')
    expect(await complete('cardstall', 'webhooks', 're')).toBe('resend')
    expect(await complete('cardstall', 'listings', 'import', '--dry')).toBe('--dry-run')
    expect(await complete('cardstall', 'holiday', 'of')).toBe('off')
    expect(await complete('cardstall', 'listings', 'list', '--status', '')).toBe(
      'active sold hidden',
    )
    expect(await complete('cardstall', 'listings', 'list', '--js')).toBe('--json')
    const ids = Array.from({ length: 10 }, () => '7')
    expect(await complete('cardstall', 'listings', 'delete', ...ids, '--js')).toBe('--json')
    expect(await complete('cardstall', 'sets', ...ids, '--lim')).toBe('--limit')
    expect(await complete('cardstall', '--json', '--profile', 'orders', 'list')).toBe('listings')
    expect(await complete('cardstall', '--key', '7', 'webhooks', '--quiet', 're')).toBe('resend')
    // bash splits words at : and =.
    const address = ['http', ':', '//localhost', ':', '4131']
    expect(await complete('cardstall', '--url', ...address, 'listings', 'im')).toBe('import')
    expect(await complete('cardstall', '--url', '=', ...address, 'listings', 'im')).toBe('import')
    const option = ['cardstall', 'listings', 'list', '--status', '=']
    expect(await complete(...option)).toBe('active sold hidden')
    expect(await complete(...option, 'a')).toBe('active')
    expect(await complete('cardstall', 'disputes', '--state', '')).toBe('open answered resolved')
    expect(await complete('cardstall', 'disputes', '--sta')).toBe('--state')
    const toEndpoint = ['cardstall', 'webhooks', 'create', 'https', ':', '//shop.example']
    expect(await complete(...toEndpoint, 'listing')).toBe('listing.sold')
    expect(await complete('cardstall', 'webhooks', 'test', '1', 'listing')).toBe('listing.sold')
    expect(await complete('cardstall', '--he')).toBe('--help')
    expect(await complete('cardstall', 'listings', 'list', '--he')).toBe('--help')
  })

  it.skipIf(!isThere('fish'))('fish completes commands, options and their values', async () => {
    await writeFile(file('completion.fish'), await succeed('completion fish'))
    const complete = async (line: string) => {
      const script = `source completion.fish; complete -C '${line}'`
      const { stdout } = await execute('fish', ['--no-config', '-c', script], { cwd: folder })
      return stdout.split('\n').flatMap((each) => each.split('\t')[0] || [])
    }
    expect(await complete('cardstall list')).toEqual(['listings'])
    expect(await complete('cardstall webhooks re')).toEqual(['resend'])
    expect(await complete('cardstall listings import --dry')).toEqual(['--dry-run'])
    expect(await complete('cardstall holiday of')).toEqual(['off'])
    expect(await complete('cardstall listings list --status ')).toEqual([
      'active',
      'hidden',
      'sold',
    ])
    expect(await complete('cardstall listings list --js')).toEqual(['--json'])
    expect(await complete('cardstall --json --profile orders list')).toEqual(['listings'])
    expect(await complete('cardstall --key 7 webhooks --quiet re')).toEqual(['resend'])
    expect(await complete('cardstall disputes --state ')).toEqual(['answered', 'open', 'resolved'])
    expect(await complete('cardstall webhooks create https://x listing')).toEqual(['listing.sold'])
    expect(await complete('cardstall webhooks test 1 listing')).toEqual(['listing.sold'])
    expect(await complete('cardstall listings list --he')).toEqual(['--help'])
  })

  it.skipIf(!isThere('zsh'))('zsh completes commands, options and their values', async () => {
    await writeFile(file('completion.zsh'), await succeed('completion zsh'))
    // The shell prints the line that it has completed.
    await writeFile(
      file('set-up.zsh'),
      `PROMPT= HOME=$PWD
       source ./completion.zsh
       cardstall() { print -r -- "<$*>" }`,
    )
    await writeFile(
      file('type.zsh'),
      `zmodload zsh/zpty
       zpty shell zsh -f -i
       zpty -w shell 'source ./set-up.zsh'
       for line; do
         zpty -w shell "$line"$'\\t'
         zpty -r shell output '*<*>*' && print -r -- "\${\${output##*<}%%>*}"
       done
       zpty -d shell`,
    )
    const lines = {
      'cardstall listi': 'listings',
      'cardstall webhooks re': 'webhooks resend',
      'cardstall listings import --dry': 'listings import --dry-run',
      'cardstall holiday of': 'holiday off',
      'cardstall listings list --status hid': 'listings list --status hidden',
      'cardstall listings list --js': 'listings list --json',
      'cardstall --json --profile orders listi': '--json --profile orders listings',
      'cardstall --key 7 webhooks --quiet re': '--key 7 webhooks --quiet resend',
      'cardstall --url http://localhost:4131 listings im':
        '--url http://localhost:4131 listings import',
      'cardstall listings list --status=a': 'listings list --status=active',
      'cardstall disputes --state ans': 'disputes --state answered',
      'cardstall webhooks create https://x listing': 'webhooks create https://x listing.sold',
      'cardstall webhooks test 1 listing': 'webhooks test 1 listing.sold',
      'cardstall listings list --he': 'listings list --help',
    }
    const { stdout } = await execute('zsh', ['-f', 'type.zsh', ...Object.keys(lines)], {
      cwd: folder,
      timeout: 30_000,
    })
    expect(stdout.trimEnd().split('\n')).toEqual(Object.values(lines))
  })
})
