import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ERROR_TYPES } from './errors.ts'

/** Rules of the code base that no compiler checks. */

let sources: Map<string, string>
beforeAll(async () => {
  const names = await readdir(import.meta.dirname, { recursive: true })
  const ours = names.filter((name) => name.endsWith('.ts') && !/\.test\.ts$|^test\//.test(name))
  sources = new Map()
  for (const name of ours) {
    sources.set(name, await readFile(new URL(name, import.meta.url), 'utf8'))
  }
})

const offenders = (rule: RegExp, except: (name: string) => boolean) =>
  [...sources]
    .filter(([name, text]) => !except(name) && rule.test(text))
    .map(([name]) => name)
    .sort()

/** From the lowest to the highest. A folder or file imports only from its own entry and from those before it. */
const LAYERS = [
  ...['errors', 'start-error', 'enums', 'cents', 'text', 'time'],
  ...['settings', 'config', 'log', 'crypto', 'files', 'database', 'metrics', 'context'],
  'audit',
  ...['limits', 'dashboard', 'processes', 'outbound', 'queue'],
  ...['catalog', 'mail', 'members', 'staff', 'events', 'notices', 'accounts', 'keys', 'oauth'],
  ...['listings', 'photos', 'money'],
  ...['orders', 'reviews', 'changes', 'carriers', 'shipping', 'webhooks', 'sales', 'sandbox'],
  ...['back-office', 'service'],
  ...['http', 'http/shapes', 'http/listings', 'http/seller', 'http/tools', 'http/mcp'],
  ...['http/operator', 'http/public', 'http/audit', 'http/sign-in', 'http/oauth', 'http/dashboard'],
  ...['routes', 'app', 'schedule', 'listen', 'serve', 'commands', 'main', 'bundle'],
]

/** The most specific entry that contains a file. */
const layerOf = (file: string) =>
  LAYERS.filter((layer) => file === `${layer}.ts` || file.startsWith(`${layer}/`))
    .toSorted((a, b) => a.length - b.length)
    .at(-1)

const rankOf = (file: string) => {
  const layer = layerOf(file)
  if (!layer) throw new Error(`${file} is in no layer.`)
  return LAYERS.indexOf(layer)
}

const importsOf = (file: string, text: string) =>
  [...text.matchAll(/(?:from|import\()\s*'(\.[^']+\.ts)'/g)].map(([, target]) =>
    path.join(path.dirname(file), target!),
  )

describe('the architecture', () => {
  it('no file imports from a higher layer, not even a type', () => {
    const upward = [...sources].flatMap(([file, text]) =>
      importsOf(file, text)
        .filter((target) => rankOf(target) > rankOf(file))
        .map((target) => `${file} imports ${target}`),
    )
    expect(upward).toEqual([])
  })

  it('the APIs, the public pages, the sign-in pages and the dashboard import nothing from each other', () => {
    const apiOf = (file: string) =>
      /^http\/(seller|operator|public|sign-in|dashboard|tools|mcp)\//.exec(file)?.[1]
    const across = [...sources].flatMap(([file, text]) =>
      importsOf(file, text)
        .filter((target) => apiOf(file) && apiOf(target) && apiOf(file) !== apiOf(target))
        .map((target) => `${file} imports ${target}`),
    )
    expect(across).toEqual([])
  })

  it('no imports form a circle, not even those of types', () => {
    const imports = new Map([...sources].map(([file, text]) => [file, importsOf(file, text)]))
    const done = new Set<string>()
    const circleFrom = (file: string, trail: string[]): string[] | undefined => {
      if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file]
      if (done.has(file)) return undefined
      for (const target of imports.get(file) ?? []) {
        const circle = circleFrom(target, [...trail, file])
        if (circle) return circle
      }
      done.add(file)
      return undefined
    }
    for (const file of imports.keys()) expect(circleFrom(file, [])).toBeUndefined()
  })

  it("the start loads only the routes of the tool servers and of the sign-in of programs, and not Node's HTTP client", () => {
    const reached = new Set(['app.ts', 'serve.ts'])
    const packages = new Set<string>()
    for (const file of reached) {
      const imports = (sources.get(file) ?? '').matchAll(
        /^(?:import|export) (?!type )(?:[^']*? from )?'([^']+)'/gm,
      )
      for (const [, target] of imports) {
        if (target!.startsWith('.')) reached.add(path.join(path.dirname(file), target!))
        else packages.add(target!)
      }
    }
    expect(packages).toContain('fastify')
    expect(packages).not.toContain('@modelcontextprotocol/server')
    // http/node-http.ts says why.
    expect(packages).not.toContain('node:http')
    // The grants belong to the dashboard and to recurring jobs as well.
    expect([...reached].filter((file) => /^(http\/)?(mcp|oauth)\//.test(file)).toSorted()).toEqual([
      ...['http/mcp/routes.ts', 'http/oauth/routes.ts'],
      ...['oauth/grants.ts', 'oauth/offered.ts'],
    ])
  })

  it('at most 14 files are outside of folders', () => {
    expect([...sources.keys()].filter((file) => !file.includes('/')).length).toBeLessThanOrEqual(14)
  })

  it('only HTTP, its composition and the commands import Fastify', () => {
    const web = (name: string) => /^(http\/|app\.ts|routes\.ts|serve\.ts)/.test(name)
    expect(offenders(/from 'fastify'/, web)).toEqual([])
  })

  it('settings come from main alone, which passes the environment to config', () => {
    // A program started with another identity and a restarted process inherit the environment, and a bucket uses AWS's
    // own variables.
    const allowed = [
      ...['main.ts', 'database/embedded/os-user.ts', 'files/bucket.ts'],
      'processes/compiled-code.ts',
    ]
    expect(offenders(/process\.env(?!`)/, (name) => allowed.includes(name))).toEqual([])
  })

  it('the time that users see comes from one place', () => {
    const clock = (name: string) => name === 'time/real-time.ts'
    expect(offenders(/\bDate\.now\(|new Date\(\)/, clock)).toEqual([])
    expect(offenders(/\bnow\(\)(?=[^`]*`)(?<=\b(select|values|=)\s*now\(\))/, () => false)).toEqual(
      [],
    )
  })

  it('a statement that updates an order row sets a time, from which updated_at is derived', () => {
    const timeless =
      /\bupdate orders\b(?!`)(?![^`]*\b(shipped|received|cancelled|disputed|resolved|changed)_at =)/
    expect(offenders(timeless, () => false)).toEqual([])
  })

  it('every transaction that writes is bounded, except migrations and the first import of the bundled catalog', () => {
    const plumbing = (name: string) =>
      ['database/in-transaction.ts', 'database/transactions.ts'].includes(name)
    expect(offenders(/unboundedWrite|inUnboundedTransaction/, plumbing)).toEqual([
      'catalog/import/bundled.ts',
      'database/migrate.ts',
    ])
  })

  it('docs/errors.md has an entry for every error, with its status', async () => {
    const text = await readFile(new URL('../docs/errors.md', import.meta.url), 'utf8')
    const documented = [...text.matchAll(/^\| *(\d{3}) *\| `([a-z_]+)` *\|/gm)]
    expect(
      Object.fromEntries(documented.map(([, status, type]) => [type, Number(status)])),
    ).toEqual(ERROR_TYPES)
  })
})
