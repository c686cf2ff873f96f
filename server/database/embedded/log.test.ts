import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { cleanUp, emptyDatabase, logOf, query, start } from '../../test/embedded-homes.ts'
import { until } from '../../test/until.ts'
import { failureLine, rotateLog } from './log.ts'

afterAll(cleanUp)

const FIVE_MIB = 5 * 1024 * 1024

test('the log of a running PostgreSQL is rotated when it is too large, and PostgreSQL continues to write it', async () => {
  const dataDir = await emptyDatabase()
  const { url } = await start(dataDir)
  const log = join(dataDir, 'postgres.log')
  const say = (word: string) => query(url, `do $$ begin raise log '${word}'; end $$`)

  await say('before')
  await until('PostgreSQL has logged the word', () => logOf(dataDir).includes('before'))
  await rotateLog(log)
  expect(logOf(dataDir)).toContain('before')

  for (const filling of ['first', 'second']) {
    appendFileSync(log, `${filling}\n${'x'.repeat(FIVE_MIB)}\n`)
    await rotateLog(log)
    expect(statSync(log).size).toBeLessThan(FIVE_MIB)
    expect(readFileSync(`${log}.1`, 'utf8')).toContain(filling)
    await say(`after the ${filling}`)
    await until('PostgreSQL has logged the word', () =>
      logOf(dataDir).includes(`after the ${filling}`),
    )
    // PostgreSQL continues at the beginning of the truncated file, without a gap of zeros.
    expect(logOf(dataDir)).not.toContain('\0')
  }
  expect(statSync(`${log}.1`).mode & 0o777).toBe(0o600)
})

test('the reason of a start that lacks shared memory names /dev/shm and how to enlarge it', () => {
  const size = 'could not resize shared memory segment "/PostgreSQL.1" to 1048576 bytes'
  const log = `LOG:  starting PostgreSQL\nFATAL:  ${size}: No space left on device\nLOG:  shut down\n`
  expect(failureLine(log)).toMatch(/No space left on device; .*\/dev\/shm.*--shm-size/)
})
