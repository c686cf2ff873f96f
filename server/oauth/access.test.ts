import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { ADDRESS, grantAccess } from '../test/fixtures/oauth.ts'
import { findAccess } from './access.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'empty' })
})

it('a token gives access to its account until it expires, except while API access is suspended', async () => {
  const { accountId } = await app.seller()
  const token = await grantAccess(app, accountId, { scopes: ['orders:read'] })
  expect(await findAccess(app.ctx, token, ADDRESS)).toEqual({
    grantId: expect.stringMatching(/^\d+$/),
    account: expect.objectContaining({ id: accountId, ships: false, timeZone: 'UTC' }),
    scopes: ['orders:read'],
    audience: 'https://cards.example/mcp/seller',
    clientName: 'Program of a test',
  })
  const account = `/operator/v1/accounts/${accountId}`
  await app.operator.patch(account, { payload: { api_access: 'suspended' } })
  await expect(findAccess(app.ctx, token, ADDRESS)).rejects.toThrow(
    'API access of this account is suspended.',
  )
  await app.operator.patch(account, { payload: { api_access: 'enabled' } })
  expect(await findAccess(app.ctx, token, ADDRESS)).toBeDefined()
  await app.ctx.db`update oauth_tokens set expires_at = clock_timestamp()`
  expect(await findAccess(app.ctx, token, ADDRESS)).toBeUndefined()
})
