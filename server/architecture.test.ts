import { readdir, readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { ERROR_TYPES } from './errors.ts'

/** The rules of the house that no compiler checks. */

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

describe('the house', () => {
  it('keeps the web out of the domain: only http/, commands/, app, routes and serve know it', () => {
    const web = (name: string) =>
      /^(http\/|commands\/|app\.ts|routes\.ts|schedule\.ts|serve\.ts)/.test(name)
    expect(offenders(/from 'fastify'|from '\.\.?\/.*http\//, web)).toEqual([])
  })

  it('reads settings in one place: main hands the environment to config', () => {
    // A program started with another identity inherits the environment; that reads no setting.
    const allowed = (name: string) => name === 'main.ts' || name === 'database/embedded/os-user.ts'
    expect(offenders(/process\.env(?!`)/, allowed)).toEqual([])
  })

  it('asks one place for the time that users see', () => {
    const clock = (name: string) => name === 'sandbox/clock.ts'
    expect(offenders(/\bDate\.now\(|new Date\(\)/, clock)).toEqual([])
    expect(offenders(/\bnow\(\)(?=[^`]*`)(?<=\b(select|values|=)\s*now\(\))/, () => false)).toEqual(
      [],
    )
  })

  it('bounds every transaction that writes, except migrations and the first import of the bundled catalog', () => {
    const plumbing = (name: string) =>
      ['database/in-transaction.ts', 'database/transactions.ts'].includes(name)
    expect(offenders(/unboundedWrite|inUnboundedTransaction/, plumbing)).toEqual([
      'catalog/import/bundled.ts',
      'database/migrate.ts',
    ])
  })

  it('has an entry for every error in docs/errors.md, with its status', async () => {
    const text = await readFile(new URL('../docs/errors.md', import.meta.url), 'utf8')
    const documented = [...text.matchAll(/^\| *(\d{3}) *\| `([a-z_]+)` *\|/gm)]
    expect(
      Object.fromEntries(documented.map(([, status, type]) => [type, Number(status)])),
    ).toEqual(ERROR_TYPES)
  })
})
