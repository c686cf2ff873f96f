import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { openDatabase } from './open.ts'

it('a start that asks a server without TLS for encryption names the missing setting', async () => {
  const url = new URL((await testDatabase('empty')).url)
  const { host } = url
  url.search = 'sslmode=require'
  const opening = openDatabase({ databaseUrl: url.href, dataDir: '/unused' })
  await expect(opening).rejects.toThrow(
    `DATABASE_URL: ${host} closed the connection instead of encrypting it: turn on ssl in the settings of the server.`,
  )
})
