import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { LABEL } from '../server/test/fixtures/orders.ts'
import { csvOf, file, sold, startShop, succeed } from './test/packed.ts'

const LIBRARIES = path.join(import.meta.dirname, '../node_modules')

beforeAll(startShop)

it('the packed program contains its build, its documents and the licences, and no sources or tests', async () => {
  const entries = await readdir(file('package'), { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(file('package'), path.join(parentPath, name)))
  expect(files.sort()).toEqual([
    'COMMANDS.md',
    'LICENSE',
    'README.md',
    'dist/cardstall.js',
    'dist/third-party-licenses.md',
    'package.json',
  ])
  const license = path.join(import.meta.dirname, '../LICENSE')
  expect(await readFile(file('package/LICENSE'), 'utf8')).toBe(await readFile(license, 'utf8'))
})

it('the packed program has the licence of each library that it contains', async () => {
  const licenses = await readFile(file('package/dist/third-party-licenses.md'), 'utf8')
  const sections = licenses.split(/^## /m).slice(1)
  const { '@cardstall/sdk': _, ...libraries } = (await manifestOf(import.meta.dirname))
    .devDependencies
  const contained = await withDependencies(Object.keys(libraries))
  expect(contained).toContain('commander')
  expect(sections.map((section) => section.split(' ')[0])).toEqual(contained)
  for (const section of sections) expect(section).toMatch(/copyright[\s\S]*permission/i)
})

const manifestOf = async (folder: string) =>
  JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'))

/** These packages, and all that they need. */
async function withDependencies(packages: string[]): Promise<string[]> {
  const all = new Set(packages)
  // The loop also reaches the names that it adds.
  for (const name of all) {
    const { dependencies = {} } = await manifestOf(path.join(LIBRARIES, name))
    for (const dependency of Object.keys(dependencies)) all.add(dependency)
  }
  return [...all].sort()
}

describe('the README', () => {
  it('every command of the first example works', async () => {
    const readme = await readFile(path.join(import.meta.dirname, 'README.md'), 'utf8')
    const [, block] = /^```sh\n(.*?)^```$/ms.exec(readme)!
    await writeFile(file('stock.csv'), csvOf(2))
    const order = await sold(LABEL)
    const commands = block!.matchAll(/^cardstall (.+?)(?: +#.*)?$/gm)
    const ended: string[] = []
    for (const [, command] of commands) {
      // Another test signs in. Here nobody answers questions.
      if (command === 'login') continue
      await succeed(command!.replace('501', String(order)).replace('--failed', '--yes --failed'))
      ended.push(command!.split(' ')[0]!)
    }
    expect(ended).toEqual(['cards', 'listings', 'listings', 'orders', 'labels'])
  })
})
