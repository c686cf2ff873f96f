import postgres from 'postgres'
import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import type { Sql } from './sql.ts'
import { warnOfPooler } from './warn-of-pooler.ts'

it('sessions that did not get our settings cause a warning, and no others', async () => {
  const { db, url } = await testDatabase()
  const { username, password, port, pathname } = new URL(url)
  const plain = postgres({
    host: '127.0.0.1',
    port: Number(port),
    username,
    password,
    database: pathname.slice(1),
  })
  const warnings: unknown[] = []
  const log = { warn: (message: unknown) => void warnings.push(message) } as never
  try {
    await warnOfPooler({ db, log })
    expect(warnings).toEqual([])
    await warnOfPooler({ db: plain as unknown as Sql, log })
    expect(warnings).toEqual([expect.stringMatching(/^the database did not get the settings/)])
  } finally {
    await plain.end()
  }
})
