import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { freePort } from '../free-port.ts'
import { startService } from '../process.ts'
import { until } from '../until.ts'

const REPOSITORY = path.join(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(path.join(REPOSITORY, file), 'utf8')

type Block = { language: string; text: string }

const blocksIn = (markdown: string): Block[] =>
  [...markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, text]) => ({
    language: language!,
    text: text!,
  }))

const PAGES = ['README.md', ...readdirSync(path.join(REPOSITORY, 'docs')).map((f) => `docs/${f}`)]
  .filter((file) => file.endsWith('.md'))
  .map((file) => ({ file, text: read(file) }))

describe('the curl commands of the README and the guides', () => {
  // A command ends at a line break outside of quotes without a backslash.
  const commands = PAGES.flatMap(({ file, text }) =>
    blocksIn(text)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => text.match(/\bcurl (?:'[^']*'|"[^"]*"|\\\n|[^'"\n])*/g) ?? [])
      .map((command) => ({ file, command })),
  )

  it('documented curl commands use only options of curl 7.68', () => {
    expect(commands.length).toBeGreaterThan(20)
    for (const { file, command } of commands) {
      const bare = command.replace(/'[^']*'|"[^"]*"/g, 'TEXT')
      const options = [...bare.matchAll(/ (-\S+)/g)].map(([, option]) => option!)
      const unknown = options.filter((option) => !/^-[sSiHXdoN]$/.test(option))
      expect(unknown, `${file}: ${command}`).toEqual([])
    }
  })

  it('documented curl commands send JSON with its content type', () => {
    for (const { file, command } of commands) {
      const [, body] = /-d '([^']*)'/.exec(command) ?? []
      if (body === undefined) continue
      expect(command, file).toContain("-H 'Content-Type: application/json'")
      expect(() => JSON.parse(body), `${file}: ${body}`).not.toThrow()
    }
  })
})

const children: ChildProcess[] = []
const endChildren = () => {
  for (const { pid } of children.splice(0)) {
    try {
      process.kill(-pid!, 'SIGTERM')
    } catch {
      // It has ended already.
    }
  }
}
process.once('exit', endChildren)
afterAll(endChildren)

const canRun = ['curl', 'npm'].every((program) => spawnSync(program, ['--version']).status === 0)
if (!canRun) console.warn('SKIPPED: the tour of the README. There is no curl or no npm on PATH.')

const TIMEOUT_MS = 60_000

/** A reader stores a program in TypeScript in a file; here it comes from stdin. */
const NODE = 'node --conditions=cardstall --input-type=module-typescript'
const EXPORTS = 'export CARDSTALL_URL=$API CARDSTALL_KEY=$KEY'

describe.skipIf(!canRun)('the tour of the README', () => {
  it('the README’s tour works as pasted and shows the real responses', {
    timeout: 180_000,
  }, async () => {
    const service = await (await startService()).ready()
    const receiverPort = await freePort()
    const here = (text: string) =>
      text
        .replaceAll('localhost:3000', `localhost:${service.port}`)
        .replaceAll('localhost:3001', `localhost:${receiverPort}`)
        .replaceAll('PORT=3001', `PORT=${receiverPort}`)
        .replaceAll('.cardstall/', `${service.dataDir}/`)
        .replaceAll('label.pdf', `${service.dataDir}/label.pdf`)
        .replaceAll(' stock.csv', ` ${service.dataDir}/stock.csv`)
    const options = {
      cwd: REPOSITORY,
      env: { ...process.env, PORT: String(service.port), DATA_DIR: service.dataDir },
    }

    const tour = read('README.md')
      .split(/^## /m)
      .find((part) => part.startsWith('A tour'))!
    const [variables, ...blocks] = blocksIn(here(tour))
    let receiver = () => ''
    for (const [i, { language, text }] of blocks.entries()) {
      if (language !== 'sh' && language !== 'ts') continue
      const next = blocks[i + 1]
      const shown = next && /^(json|text)$/.test(next.language) ? next.text : undefined
      if (/^npm run listen|verify-webhook/.test(text)) {
        // A reader runs this command in another terminal.
        const output = runOn(text, options)
        await until(text, () => /Listening to account|Receiving at/.test(output()), TIMEOUT_MS)
        receiver = output
        continue
      }
      const script = language === 'ts' ? `${EXPORTS}\n${NODE}` : text
      const run = () => {
        const { stdout, stderr, status } = spawnSync(
          'sh',
          ['-c', `set -e\n${variables!.text}\n${script}`],
          { ...options, encoding: 'utf8', input: language === 'ts' ? text : '' },
        )
        expect(status, `${text}\n${stderr}`).toBe(0)
        return stdout
      }
      let answered = run()
      // The service makes the attempt, and loads the imported sets, in the background.
      if (/\/deliveries|brs_18$/.test(text.trimEnd())) {
        await until(
          'the attempt is logged, or the sets are loaded',
          () => {
            answered = run()
            return missingFrom(answered, shown!) === undefined
          },
          TIMEOUT_MS,
        )
      }
      if (shown) expect(missingFrom(answered, shown), `${text}\n${answered}`).toBeUndefined()
    }

    await until(
      'the receiver has both events',
      () => /^order\.created 1\nlisting\.sold 2$/m.test(receiver()),
      TIMEOUT_MS,
    )
    expect(readFileSync(`${service.dataDir}/label.pdf`, 'latin1')).toMatch(/^%PDF-/)
    expect((await service.stop()).code).toBe(0)
  })
})

/** Starts a command that keeps running; returns a function that reads its output so far. */
function runOn(command: string, options: { cwd: string; env: NodeJS.ProcessEnv }): () => string {
  const child = spawn('sh', ['-c', command], { ...options, detached: true })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return () => output
}

/**
 * The first part of a documented response that the real one lacks; undefined if it has all parts in order. `…` stands
 * for anything. Whitespace, times, durations and DNS errors may differ.
 */
function missingFrom(answered: string, shown: string): string | undefined {
  const real = comparable(answered)
  const [start, ...rest] = comparable(shown).split('…')
  if (!real.startsWith(start!)) return start
  let at = start!.length
  for (const part of rest) {
    const found = real.indexOf(part, at)
    if (found < 0) return part
    at = found + part.length
  }
  return undefined
}

const comparable = (text: string) =>
  text
    .replace(/\s+/g, '')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'MOMENT')
    .replace(/"duration_ms":\d+/g, '"duration_ms":0')
    .replace(/"status_code":null,"error":"[^"]*"/g, '"status_code":null,"error":""')
