import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../test/app.ts'
import { advance } from '../test/fixtures/listings.ts'

const DAY_SECONDS = 24 * 60 * 60

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => 0 })
})

const keyPath = ({ accountId, keyId }: { accountId: number; keyId: number }) =>
  `/operator/v1/accounts/${accountId}/keys/${keyId}`

/** Rotates the seller's key; returns a client with the new secret. */
async function rotate(seller: { accountId: number; keyId: number }): Promise<Client> {
  const { body } = await app.operator.post(`${keyPath(seller)}/rotate`)
  return app.withKey(body.key)
}

describe('API keys', () => {
  it('a key authenticates in the Bearer scheme, whatever its case', async () => {
    const { key } = await app.seller()
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${key}` }
      expect((await app.anyone.get('/v1/me', { headers })).status).toBe(200)
    }
  })

  it('a request without a key gets a 401 with WWW-Authenticate', async () => {
    const response = await app.anyone.get('/v1/me')
    expect(response.status).toBe(401)
    expect(response.headers['www-authenticate']).toBe('Bearer')
    expect(response.body).toEqual({
      error: {
        type: 'authentication_error',
        message: 'No API key was sent. Send it as "Authorization: Bearer <key>".',
      },
    })
  })

  it.each([
    ['of the right format that does not exist', `svc_live_${'x'.repeat(40)}`],
    ['one character short', `svc_live_${'x'.repeat(39)}`],
    ['of another format', 'letmein'],
  ])('a key %s gets a 401', async (_, key) => {
    const response = await app.withKey(key).get('/v1/me')
    expect(response.status).toBe(401)
    expect(response.body.error).toEqual({
      type: 'authentication_error',
      message: 'The API key is unknown.',
    })
  })

  it('a key in another scheme or in a query parameter does not count', async () => {
    const { key } = await app.seller()
    const basic = { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
    expect((await app.anyone.get('/v1/me', { headers: basic })).status).toBe(401)
    expect((await app.anyone.get(`/v1/me?api_key=${key}`)).status).toBe(401)
  })

  it('a revoked key stops working at once, and the 401 says why', async () => {
    const seller = await app.seller()
    expect((await seller.get('/v1/me')).status).toBe(200)
    expect((await app.operator.delete(keyPath(seller))).status).toBe(204)
    const response = await seller.get('/v1/me')
    expect(response.status).toBe(401)
    expect(response.body.error.message).toBe('The API key has been revoked.')
  })

  it('only the hash of a key is stored', async () => {
    const { key, keyId } = await app.seller()
    const rows = await app.ctx.db`select * from api_keys where id = ${keyId}`
    expect(JSON.stringify(rows)).not.toContain(key)
    expect(JSON.stringify(rows)).toContain(key.slice(0, 13))
  })
})

describe('rotated keys', () => {
  it('the former secret of a rotated key works for another 24 hours', async () => {
    const seller = await app.seller()
    const renewed = await rotate(seller)
    expect((await renewed.get('/v1/me')).status).toBe(200)
    expect((await seller.get('/v1/me')).status).toBe(200)

    await advance(app.operator, DAY_SECONDS - 60)
    expect((await seller.get('/v1/me')).status).toBe(200)

    await advance(app.operator, 60)
    const response = await seller.get('/v1/me')
    expect(response.status).toBe(401)
    expect(response.body.error.message).toContain('expired')
    expect((await renewed.get('/v1/me')).status).toBe(200)
  })

  it('a second rotation ends the grace period of the first', async () => {
    const seller = await app.seller()
    const second = await rotate(seller)
    const third = await rotate(seller)
    expect((await seller.get('/v1/me')).status).toBe(401)
    expect((await second.get('/v1/me')).status).toBe(200)
    expect((await third.get('/v1/me')).status).toBe(200)
  })

  it('revoking a rotated key revokes both secrets', async () => {
    const seller = await app.seller()
    const renewed = await rotate(seller)
    await app.operator.delete(keyPath(seller))
    expect((await seller.get('/v1/me')).status).toBe(401)
    expect((await renewed.get('/v1/me')).status).toBe(401)
  })

  it('both secrets of a rotated key share their rate limits', async () => {
    const seller = await app.seller()
    const renewed = await rotate(seller)
    const before = await seller.get('/v1/me')
    const after = await renewed.get('/v1/me')
    expect(Number(after.headers['x-ratelimit-remaining'])).toBe(
      Number(before.headers['x-ratelimit-remaining']) - 1,
    )
  })

  it('GET /v1/me shows the prefix of the secret in use', async () => {
    const seller = await app.seller()
    await rotate(seller)
    const { body } = await seller.get('/v1/me')
    expect(body.data.key_prefix).toBe(seller.key.slice(0, 'svc_live_'.length + 4))
  })
})

describe('accounts', () => {
  it.each([
    ['disabled', 'API access is not enabled for this account.'],
    [
      'suspended',
      'API access of this account is suspended. Orders can still be shipped in the dashboard. Ask the marketplace for the reason.',
    ],
  ])(
    'an account whose API access is %s gets a 403 from the next request on',
    async (access, message) => {
      const seller = await app.seller()
      expect((await seller.get('/v1/me')).status).toBe(200)
      const change = { payload: { api_access: access } }
      await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, change)
      const response = await seller.get('/v1/me')
      expect(response.status).toBe(403)
      expect(response.body.error).toEqual({ type: 'authorization_error', message })
    },
  )
})

describe('scopes', () => {
  it('a 403 names the scope that the key lacks', async () => {
    const seller = await app.seller({ scopes: ['orders:read'] })
    const response = await seller.get('/v1/series')
    expect(response.status).toBe(403)
    expect(response.body.error).toEqual({
      type: 'authorization_error',
      message: 'The API key lacks the scope catalog:read.',
    })
  })

  it('the scope is checked before parameters and records', async () => {
    const seller = await app.seller({ scopes: ['orders:read'] })
    expect((await seller.get('/v1/cards/no-such-card')).status).toBe(403)
    expect((await seller.get('/v1/cards?page=0')).status).toBe(403)
  })

  it('GET /v1/me needs no scope', async () => {
    const seller = await app.seller({ scopes: ['webhooks:manage'] })
    expect((await seller.get('/v1/me')).status).toBe(200)
  })
})

describe('order of checks', () => {
  it('a request is checked for its path, its key, its account and its scope, in this order', async () => {
    const seller = await app.seller({ scopes: ['orders:read'], account: { apiAccess: 'disabled' } })
    expect((await app.anyone.get('/v1/nothing')).status).toBe(404)
    expect((await app.anyone.put('/v1/cards')).status).toBe(405)
    expect((await app.anyone.get('/v1/cards')).status).toBe(401)
    expect((await seller.get('/v1/cards')).body.error.message).toContain('not enabled')
  })
})

describe('GET /v1/me', () => {
  it('GET /v1/me shows the account, the key and the limits', async () => {
    const seller = await app.seller({
      scopes: ['catalog:read', 'orders:read'],
      account: { shopName: 'Kanto Cards', sellerTier: 'Gold', business: true },
    })
    const { status, body } = await seller.get('/v1/me')
    expect(status).toBe(200)
    expect(body).toEqual({
      data: {
        id: seller.accountId,
        shop_name: 'Kanto Cards',
        slug: 'kanto-cards',
        seller_tier: 'Gold',
        business: true,
        scopes: ['catalog:read', 'orders:read'],
        key_prefix: seller.key.slice(0, 13),
        last_used_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        rate_limit: { read: 600, write: 120 },
      },
    })
  })

  it('last_used_at is set by the first request and updated at most once a minute', async () => {
    const seller = await app.seller()
    const { body: first } = await seller.get('/v1/me')
    const listed = async () => {
      const { body } = await app.operator.get(`/operator/v1/accounts/${seller.accountId}/keys`)
      return body.data[0].last_used_at
    }
    expect(await listed()).toBe(first.data.last_used_at)

    await advance(app.operator, 30)
    expect((await seller.get('/v1/me')).body.data.last_used_at).toBe(first.data.last_used_at)

    await advance(app.operator, 30)
    const later = (await seller.get('/v1/me')).body.data.last_used_at
    expect(Date.parse(later)).toBeGreaterThanOrEqual(Date.parse(first.data.last_used_at) + 59_000)
    expect(await listed()).toBe(later)
  })
})

describe('the operator API', () => {
  it('the operator API accepts the operator token only', async () => {
    expect((await app.operator.get('/operator/v1/accounts')).status).toBe(200)
    const without = await app.anyone.get('/operator/v1/accounts')
    expect(without.status).toBe(401)
    expect(without.headers['www-authenticate']).toBe('Bearer')
    const seller = await app.seller()
    expect((await seller.get('/operator/v1/accounts')).status).toBe(401)
    const longer = app.withKey('operator-token-for-tests-and-more-of-it')
    expect((await longer.get('/operator/v1/accounts')).status).toBe(401)
  })

  it('the operator API returns 404 when no token is set', async () => {
    const closed = await startTestApp({
      settings: { SANDBOX: 'false', OPERATOR_TOKEN: '' },
    })
    for (const path of ['/operator/v1/accounts', '/operator/openapi.json', '/metrics']) {
      expect((await closed.operator.get(path)).status).toBe(404)
    }
  })
})
