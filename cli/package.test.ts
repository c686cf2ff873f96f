import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { LABEL } from '../server/test/fixtures/orders.ts'
import { csvOf, file, sold, startShop, succeed } from './test/packed.ts'

beforeAll(startShop)

it('the packed program contains its build, its README and its list of commands, and no sources or tests', async () => {
  const entries = await readdir(file('package'), { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(file('package'), path.join(parentPath, name)))
  expect(files.sort()).toEqual(['COMMANDS.md', 'README.md', 'dist/cardstall.js', 'package.json'])
})

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
