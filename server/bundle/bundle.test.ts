import { execSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { makeImage } from '../test/image.ts'
import { runToEnd, startService } from '../test/process.ts'
import { copySmallProgram, writeSmallCatalog } from '../test/small-program.ts'
import type { Bundle } from './bundle.ts'

/** The bundle of `cardstall.js`, on copies of the program. */

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))

let program: string
let root: string
beforeEach(() => {
  program = copySmallProgram()
  root = dirname(program)
})

const file = (name: string) => join(root, name)
const readBundle = (): Bundle => JSON.parse(readFileSync(file('server/dist/bundle.json'), 'utf8'))
const filesOfBundle = () => readdirSync(file('server/dist')).sort()

/** The output of a command that doesn't exist: main.ts writes it. */
const runUnknown = async () => (await runToEnd(['sing'], {}, { program })).stderr

const edit = (name: string, from: string, to: string) =>
  writeFileSync(file(name), readFileSync(file(name), 'utf8').replace(from, to))

describe('cardstall.js', () => {
  it('bundles the program once, and again after a change of its sources or the loss of a file', async () => {
    rmSync(file('server/dist'), { recursive: true })
    expect(await runUnknown()).toMatch(/^Unknown command "sing"/)
    const first = readBundle()
    expect(filesOfBundle()).toEqual([...first.files, 'bundle.json'].sort())

    edit(`server/dist/${first.files.find((name) => isMain(name))}`, 'Unknown', 'Bundled')
    expect(await runUnknown()).toMatch(/^Bundled command "sing"/)

    edit('server/main.ts', 'Unknown', 'Strange')
    expect(await runUnknown()).toMatch(/^Strange command "sing"/)
    expect(readBundle().main).not.toBe(first.main)

    rmSync(file(`server/dist/${readBundle().main}`))
    expect(await runUnknown()).toMatch(/^Strange command "sing"/)
  })

  it('files that a running service may load stay for a day after their bundle was replaced, however old they are', async () => {
    const first = readBundle()
    const old = file('server/dist/old.js')
    writeFileSync(old, '')
    const age = () => execSync(`touch -d '2 days ago' server/dist/*.js`, { cwd: root })
    age()
    edit('server/main.ts', 'Unknown', 'Strange')
    await runUnknown()
    expect(existsSync(old)).toBe(false)
    edit('server/main.ts', 'Strange', 'Curious')
    await runUnknown()
    expect(filesOfBundle()).toEqual(expect.arrayContaining(first.files))

    age()
    edit('server/main.ts', 'Curious', 'Peculiar')
    await runUnknown()
    expect(filesOfBundle()).not.toContain(first.main)
  })

  it('two programs that start at the same time both bundle it and run', async () => {
    edit('server/main.ts', 'Unknown', 'Strange')
    const outputs = await Promise.all([runUnknown(), runUnknown()])
    for (const output of outputs) expect(output).toMatch(/^Strange command "sing"/)
    expect(filesOfBundle().filter((name) => !/\.js(on)?$/.test(name))).toEqual([])
  })

  it('runs the sources if they cannot be bundled, and says why', async () => {
    rmSync(file('server/dist'), { recursive: true })
    writeFileSync(file('server/dist'), '')
    expect(await runUnknown()).toMatch(
      /^The program could not be bundled, and runs from its sources: .*server\/dist.*\nUnknown command "sing"/,
    )
  })

  it('runs the sources without the bundler', async () => {
    rmSync(file('server/dist'), { recursive: true })
    const packages = readdirSync(file('node_modules'))
    unlinkSync(file('node_modules'))
    const links = packages
      .filter((name) => name !== 'rolldown')
      .map((name) => join(REPOSITORY, 'node_modules', name))
      .join(' ')
    execSync(`mkdir node_modules && cd node_modules && ln -s ${links} .`, { cwd: root })
    expect(await runUnknown()).toMatch(/^Unknown command "sing"/)
    expect(existsSync(file('server/dist'))).toBe(false)
  })

  it('the image is built from the files that its Dockerfile copies, and is a complete service without sources', async () => {
    const image = makeImage()
    writeSmallCatalog(dirname(image))
    expect(existsSync(join(dirname(image), 'server/main.ts'))).toBe(false)
    const service = await startService({}, { program: image }).then((started) => started.ready())
    const { key } = service.printed()
    for (const path of [
      '/v1/cards?q=charizard',
      '/docs',
      '/docs/guides/webhooks',
      '/openapi.json',
      '/dashboard',
      '/console',
    ]) {
      expect([path, (await service.get(path, key)).status]).toEqual([path, 200])
    }
    expect(await service.stop()).toMatchObject({ code: 0 })
  })
})

const isMain = (name: string) =>
  readFileSync(file(`server/dist/${name}`), 'utf8').includes('Unknown command')
