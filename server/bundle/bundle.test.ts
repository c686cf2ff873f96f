import { execSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { newHome } from '../test/embedded-homes.ts'
import { makeImage } from '../test/image.ts'
import { runToEnd, startService } from '../test/process.ts'
import { SMALL_CATALOG_PRELOAD } from '../test/small-catalog.ts'
import type { Bundle } from './bundle.ts'

/** The bundle of `cardstall.js`, on copies of the program. */

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))

/** Sources with a package and a part that is loaded later. They are bundled in a fraction of the program's time. */
const SOURCES = {
  'server/main.ts': `
    import { parse } from 'postgres-array'
    export async function run([name]: string[]): Promise<void> {
      const { print } = await import('./print.ts')
      print(\`Unknown command "\${parse(\`{\${name}}\`)}"\\n\`)
    }
  `,
  'server/print.ts': 'export const print = (text: string) => process.stderr.write(text)',
}

let program: string
let root: string
beforeEach(() => {
  root = newHome()
  for (const name of ['cardstall.js', 'package.json']) copy(name)
  for (const name of ['bundle', 'text', 'time']) copy(`server/${name}`)
  for (const [name, text] of Object.entries(SOURCES)) writeFileSync(file(name), text)
  symlinkSync(join(REPOSITORY, 'node_modules'), file('node_modules'))
  program = file('cardstall.js')
})

const file = (name: string) => join(root, name)
const copy = (name: string) => cpSync(join(REPOSITORY, name), file(name), { recursive: true })
const readBundle = (): Bundle => JSON.parse(readFileSync(file('server/dist/bundle.json'), 'utf8'))
const filesOfBundle = () => readdirSync(file('server/dist')).sort()

/** The output of a command that doesn't exist: main.ts writes it. */
const runUnknown = async () => (await runToEnd(['sing'], {}, { program })).stderr

const edit = (name: string, from: string, to: string) =>
  writeFileSync(file(name), readFileSync(file(name), 'utf8').replace(from, to))

describe('cardstall.js', () => {
  it('the program is bundled once, and again after a change or removal of its sources or the loss of a file', async () => {
    expect(await runUnknown()).toMatch(/^Unknown command "sing"/)
    const first = readBundle()
    expect(first.files.length).toBeGreaterThan(1)
    expect(filesOfBundle()).toEqual([...first.files, 'bundle.json'].sort())

    edit(`server/dist/${first.files.find((name) => isMain(name))}`, 'Unknown', 'Bundled')
    expect(await runUnknown()).toMatch(/^Bundled command "sing"/)

    edit('server/main.ts', 'Unknown', 'Strange')
    expect(await runUnknown()).toMatch(/^Strange command "sing"/)
    expect(readBundle().main).not.toBe(first.main)

    rmSync(file(`server/dist/${readBundle().main}`))
    expect(await runUnknown()).toMatch(/^Strange command "sing"/)

    // The other source keeps its size and date, as in an archive whose files all have one date.
    const { atime, mtime } = statSync(file('server/main.ts'))
    edit('server/main.ts', './print.ts', './write.ts')
    utimesSync(file('server/main.ts'), atime, mtime)
    renameSync(file('server/print.ts'), file('server/write.ts'))
    expect(await runUnknown()).toMatch(/^Strange command "sing"/)
    expect(readBundle().inputs.flat()).toContain('server/write.ts')
  })

  it('files that a running service may load stay for a day after their bundle was replaced, however old they are', async () => {
    await runUnknown()
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
    await runUnknown()
    edit('server/main.ts', 'Unknown', 'Strange')
    const outputs = await Promise.all([runUnknown(), runUnknown()])
    for (const output of outputs) expect(output).toMatch(/^Strange command "sing"/)
    expect(filesOfBundle().filter((name) => !/\.js(on)?$/.test(name))).toEqual([])
  })

  it('runs the sources if they cannot be bundled, and says why', async () => {
    writeFileSync(file('server/dist'), '')
    expect(await runUnknown()).toMatch(
      /^The program could not be bundled, and runs from its sources: .*server\/dist.*\nUnknown command "sing"/,
    )
  })

  it('runs the sources if the system kills the bundler, and names the likely cause and the remedy', async () => {
    writeFileSync(file('server/bundle/build.ts'), 'process.kill(process.pid, "SIGKILL")')
    expect(await runUnknown()).toMatch(
      /^The program could not be bundled, and runs from its sources: it was killed \(SIGKILL\).*memory.*npm run build.*\nUnknown command "sing"/,
    )
  })

  it('runs the sources without the bundler', async () => {
    copy('server')
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
    expect(existsSync(join(dirname(image), 'server/main.ts'))).toBe(false)
    const options = { program: image, preload: SMALL_CATALOG_PRELOAD }
    const service = await (await startService({}, options)).ready()
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
