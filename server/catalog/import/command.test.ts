import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Sql } from '../../database/sql.ts'
import { createLog } from '../../log.ts'
import { StartError } from '../../start-error.ts'
import { testDatabase } from '../../test/database.ts'
import { emptyCatalog } from '../../test/empty-catalog.ts'
import { newDirectory } from '../../test/new-directory.ts'
import { openSources, runImportCommand } from './command.ts'

let folder: string
let db: Sql
let run: (...paths: string[]) => Promise<{ exitCode: number; out: string; err: string }>
let terminal: boolean
/** Milliseconds that pass between two readings of the clock. */
let clockStepMs: number
/** Interrupts the command when it prints this progress. */
let interruptedAt: string | undefined

beforeAll(async () => {
  folder = await newDirectory()
  const database = await testDatabase()
  db = database.db
  const ctx = {
    db,
    begin: database.begin,
    databaseUrl: database.url,
    log: createLog('silent').log,
  }
  run = async (...paths) => {
    const output = { out: '', err: '' }
    let time = 0
    const now = () => (time += clockStepMs)
    const interrupt = new AbortController()
    const sources = await openSources(paths)
    const exitCode = await runImportCommand(ctx, sources, interrupt.signal, {
      stdout: { write: (text) => (output.out += text) },
      stderr: {
        isTTY: terminal,
        write(text) {
          output.err += text
          if (interruptedAt !== undefined && text.includes(interruptedAt)) interrupt.abort()
        },
      },
      now,
    })
    // Replace the duration and the folder, which vary.
    output.out = output.out.replace(/in \d+\.\d s/g, 'in 0.0 s').replaceAll(`${folder}/`, '')
    return { exitCode, ...output }
  }
})

beforeEach(async () => {
  terminal = false
  clockStepMs = 0
  interruptedAt = undefined
  await emptyCatalog(db)
})

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

const SET = '{"type":"set","id":"a","name":"A","series":"Other","language":"EN","region":"int"}'
const card = (number: number) =>
  `{"type":"card","id":"a-${number}","set_id":"a","name":"A","number":"${number}"}`

describe('the import command', () => {
  it('catalog:import summarizes each path in one line', async () => {
    const sets = await file('sets.ndjson', SET)
    const cards = await file('cards.ndjson.gz', gzipSync([card(1), card(2)].join('\n')))
    expect(await run(sets, cards, cards)).toEqual({
      exitCode: 0,
      out: `sets.ndjson: 1 created, 0 updated, 0 unchanged, 0 rejected in 0.0 s
cards.ndjson.gz: 2 created, 0 updated, 0 unchanged, 0 rejected in 0.0 s
cards.ndjson.gz: 0 created, 0 updated, 2 unchanged, 0 rejected in 0.0 s
`,
      err: '',
    })
  })

  it('catalog:import prints the first hundred rejected lines and exits with 1', async () => {
    const path = await file('bad.ndjson', [SET, ...Array(1_234).fill('bad')].join('\n'))
    const { exitCode, out } = await run(path)
    expect(exitCode).toBe(1)
    const lines = out.split('\n')
    expect(lines[0]).toBe('bad.ndjson: 1 created, 0 updated, 0 unchanged, 1,234 rejected in 0.0 s')
    expect(lines[1]).toBe('  line 2: not a JSON object')
    expect(lines[100]).toBe('  line 101: not a JSON object')
    expect(lines.slice(101)).toEqual(['  and 1,134 more', ''])
  })

  it('catalog:import lists repeated keys with both lines and exits with 0', async () => {
    const path = await file('twice.ndjson', [SET, SET, ...Array(150).fill(card(1))].join('\n'))
    const { exitCode, out } = await run(path)
    expect(exitCode).toBe(0)
    const lines = out.split('\n')
    expect(lines[0]).toBe('twice.ndjson: 2 created, 0 updated, 150 unchanged, 0 rejected in 0.0 s')
    expect(lines[1]).toBe('  warning: set a: line 1 is superseded by line 2')
    expect(lines[2]).toBe('  warning: card a-1: line 3 is superseded by line 4')
    expect(lines.slice(101)).toEqual(['  and 50 more', ''])
  })

  it('catalog:import reports a damaged file, continues with the next and exits with 1', async () => {
    const cutOff = await file('cut-off.ndjson.gz', gzipSync(`${SET}\n${card(1)}\n`).subarray(0, -8))
    const cards = await file('cards.ndjson', card(2))
    expect(await run(cutOff, cards)).toEqual({
      exitCode: 1,
      out: `cut-off.ndjson.gz: 2 created, 0 updated, 0 unchanged, 0 rejected in 0.0 s
  The import broke off after line 2: the gzip data is damaged or cut off (unexpected end of file)
cards.ndjson: 1 created, 0 updated, 0 unchanged, 0 rejected in 0.0 s
`,
      err: '',
    })
  })

  it('catalog:import exits with 1 when it is interrupted between two paths, and names the skipped ones', async () => {
    clockStepMs = 10_000
    interruptedAt = '100%'
    const sets = await file('sets.ndjson', SET)
    const cards = await file('cards.ndjson', card(1))
    expect(await run(sets, cards)).toMatchObject({
      exitCode: 1,
      out: `sets.ndjson: 1 created, 0 updated, 0 unchanged, 0 rejected in 0.0 s
cards.ndjson: skipped, because the import was interrupted
`,
    })
  })

  it('catalog:import imports nothing when one of the paths is invalid', async () => {
    const sets = await file('sets.ndjson', SET)
    await expect(run(sets, join(folder, 'missing.ndjson'))).rejects.toBeInstanceOf(StartError)
    expect(await db`select from sets`).toHaveLength(0)
  })

  it('catalog:import requires a path', async () => {
    await expect(run()).rejects.toEqual(
      new StartError('No path was given. Usage: npm run catalog:import -- PATH [PATH…]'),
    )
  })

  it('catalog:import draws a progress bar on a terminal and removes it', async () => {
    terminal = true
    clockStepMs = 100
    const cards = Array.from({ length: 20_000 }, (_, number) => card(number))
    const { err } = await run(await file('many.ndjson', [SET, ...cards].join('\n')))
    expect(err).toMatch(/^(\r\x1b\[K\[#*\.*\] +\d+% {2}[\d,]+ lines)+\r\x1b\[K$/)
  })

  it('catalog:import prints occasional progress lines without a terminal', async () => {
    clockStepMs = 3_000
    const cards = Array.from({ length: 2_000 }, (_, number) => card(number))
    const { err } = await run(await file('many.ndjson', [SET, ...cards].join('\n')))
    expect(err.replaceAll(`${folder}/`, '')).toMatch(/^(many\.ndjson: \d+%, [\d,]+ lines\n)+$/)
  })

  it('catalog:import prints no control characters from files', async () => {
    const path = await file('evil\u001b[2J.ndjson', SET.replace('"a"', '"\\u001b[2J"'))
    const { out } = await run(path)
    expect(out).toContain('  line 1: set ?[2J: id must not contain control characters\n')
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })
})
