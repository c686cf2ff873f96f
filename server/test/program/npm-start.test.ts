import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { newHome } from '../embedded-homes.ts'
import { freePort } from '../free-port.ts'
import { embedded, isOff, newDataDir } from '../process.ts'
import { until } from '../until.ts'

const PROJECT = fileURLToPath(new URL('../../../', import.meta.url))

const started: ChildProcess[] = []
afterAll(() => {
  for (const { pid } of started) {
    try {
      process.kill(-pid!, 'SIGKILL')
    } catch {
      // The whole process group has ended, as it should.
    }
  }
})

it('SIGTERM to npm alone, as `npm start & kill $!` sends it, ends node and the embedded PostgreSQL', async () => {
  const dataDir = newDataDir()
  // A developer's .env is not there.
  const folder = newHome()
  for (const name of ['package.json', 'cardstall.js']) {
    symlinkSync(join(PROJECT, name), join(folder, name))
  }
  const npm = spawn('npm', ['start'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: homedir(),
      PORT: String(await freePort()),
      DATA_DIR: dataDir,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  started.push(npm)
  let output = ''
  npm.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  await until('the service listens', () => output.includes('Importing the bundled'), 100_000)
  const { pid } = embedded(dataDir)

  npm.kill('SIGTERM')
  await once(npm, 'close')
  await until('PostgreSQL is off', () => isOff(dataDir, pid))
  expect(groupIsEmpty(npm)).toBe(true)
})

function groupIsEmpty({ pid }: ChildProcess): boolean {
  try {
    process.kill(-pid!, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
