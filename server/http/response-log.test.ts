import { expect, it } from 'vitest'
import { startTestApp } from '../test/app.ts'
import { send } from '../test/fixtures/mcp.ts'
import { grantAccess } from '../test/fixtures/oauth.ts'

it('the line of a response names the account whose key, session or access token sent the request, even if it is refused', async () => {
  const app = await startTestApp({ settings: { RATE_LIMIT_READ: '1' } })
  const seller = await app.seller({ scopes: ['orders:read'] })
  const { accountId } = seller
  const token = await grantAccess(app, accountId)
  const member = await app.member(accountId)
  const responses = [
    await seller.get('/v1/listings'),
    await seller.get('/v1/me'),
    await member.get('/dashboard/api/me'),
    await send(app, '/mcp/seller', 'tools/list', {}, { token }),
    await app.withKey('svc_live_unknown').get('/v1/me'),
    await app.operator.get('/operator/v1/accounts'),
    await app.anyone.get('/health/live'),
  ]
  const lines = responses.map(({ status, headers }) => {
    const line = app.logged.find(({ reqId }) => reqId === headers['x-request-id'])
    return [status, line!.account]
  })
  expect(lines).toEqual([
    [403, accountId],
    [429, accountId],
    [200, accountId],
    [200, accountId],
    [401, undefined],
    [200, undefined],
    [200, undefined],
  ])
})
