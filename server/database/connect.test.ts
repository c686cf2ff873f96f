import { expect, it } from 'vitest'
import { testDatabase } from '../test/database.ts'
import { connect } from './connect.ts'

it('a queue pool commits asynchronously and uses no sequential scans', async () => {
  const { url } = await testDatabase('empty')
  const settingsWith = async (options: { forQueue?: boolean }) => {
    const sql = connect(url, { max: 1, ...options })
    try {
      return await sql`
        select current_setting('synchronous_commit') as commit, current_setting('enable_seqscan') as scan
      `
    } finally {
      await sql.end()
    }
  }
  expect(await settingsWith({ forQueue: true })).toEqual([{ commit: 'off', scan: 'off' }])
  // The test server never waits for the disk, so its `synchronous_commit` is not compared.
  expect(await settingsWith({})).toMatchObject([{ scan: 'on' }])
})
