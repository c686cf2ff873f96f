import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import type { Db } from '../database/sql.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { send } from '../test/fixtures/mcp.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'
import { lockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { until } from '../test/until.ts'
import { addressSubject } from './address.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp()
})

const remoteAddress = '203.0.113.20'
const randomText = (length: number) => randomBytes(length).toString('hex').slice(0, length)

/** By kind of secret: its lookups, the status of a request with a secret, a wrong secret, and a new valid one. */
const KINDS = {
  'access tokens': {
    table: 'oauth_tokens',
    lookups: () => app.ctx.accessTokens,
    statusOf: async (token: string) => {
      const from = { ...app, anyone: { ...app.anyone, post: postFrom } }
      return (await send(from, '/mcp/seller', 'tools/list', {}, { token })).status
    },
    wrong: () => randomText(43),
    create: async () => grantAccess(app, (await app.seller()).accountId),
  },
  'staff tokens': {
    table: 'staff',
    lookups: () => app.ctx.staffTokens,
    statusOf: async (token: string) =>
      (await app.withKey(token).get('/operator/v1/staff/me', { remoteAddress })).status,
    wrong: () => `svc_staff_${randomText(40)}`,
    create: async () => {
      const payload = { name: 'Ada', role: 'support' }
      return (await app.operator.post('/operator/v1/staff', { payload })).body.token as string
    },
  },
}

const postFrom: TestApp['anyone']['post'] = (url, options) =>
  app.anyone.post(url, { ...options, remoteAddress })

it.each(Object.entries(KINDS))(
  'after 600 wrong %s in a minute an address causes no more queries, while valid ones work',
  async (_, { table, lookups, statusOf, wrong, create }) => {
    const valid = await create()
    // At the end of the minute, or after a late signal, the lookup must ask the database: then everything is tried again.
    await until('a wrong secret causes no query', async () => {
      for (let i = 0; i < 600; i++) {
        await lookups().lookUp(randomBytes(32), addressSubject(remoteAddress), async () => null)
      }
      expect(await statusOf(wrong())).toBe(401)
      // A query waits for the lock.
      const lock = (db: Db) => db`lock table ${db(table)} in access exclusive mode`
      return whileLocked(app.ctx, lock, async () => {
        let status: number | undefined
        statusOf(wrong()).then((responded) => {
          status = responded
        })
        await until(
          'the request is over, or its query waits',
          async () => status !== undefined || (await lockWaiters(app.ctx.db)) > 0,
        )
        return status === 401
      })
    })
    expect(await statusOf(valid)).toBe(200)
    expect(await statusOf(await create())).toBe(200)
    expect(await statusOf(wrong())).toBe(401)
  },
)
