import { expect, inject, it } from 'vitest'
import { StartError } from '../start-error.ts'
import { testDatabase } from '../test/database.ts'
import { openDatabase } from './open.ts'

/** The message of a start on a database of the test server whose URL is changed. */
async function refusalOf(change: (url: URL) => void): Promise<string> {
  const url = new URL(inject('databaseServer'))
  url.search = ''
  url.password = 'geheim'
  change(url)
  const opening = openDatabase({ databaseUrl: url.href, dataDir: '/unused' })
  const error = await opening.catch((error) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(error.message).not.toMatch(/\n|geheim/)
  return error.message
}

it('a start that asks a server without TLS for encryption names the missing setting', async () => {
  const url = new URL((await testDatabase('empty')).url)
  const { host } = url
  url.search = 'sslmode=require'
  const opening = openDatabase({ databaseUrl: url.href, dataDir: '/unused' })
  await expect(opening).rejects.toThrow(
    `DATABASE_URL: ${host} closed the connection instead of encrypting it: turn on ssl in the settings of the server.`,
  )
})

it('a start with an unknown database host names it', async () => {
  const refusal = await refusalOf((url) => {
    url.hostname = 'db.invalid'
  })
  expect(refusal).toMatch(/^DATABASE_URL: the host name of db\.invalid:\d+ cannot be resolved\.$/)
})

it('a start on a database that does not exist names it', async () => {
  const { password } = new URL(inject('databaseServer'))
  const refusal = await refusalOf((url) => {
    url.password = password
    url.pathname = '/atlantis'
  })
  expect(refusal).toMatch(/^DATABASE_URL: .* database "atlantis" does not exist/)
})
