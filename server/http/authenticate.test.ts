import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../test/app.ts'

const DAY = 24 * 60 * 60

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ rateLimitTime: () => 0 })
})

const advance = (seconds: number) =>
  app.operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds: seconds } })

const keyPath = ({ accountId, keyId }: { accountId: number; keyId: number }) =>
  `/operator/v1/accounts/${accountId}/keys/${keyId}`

/** Rotates the seller's key and gives a client for the new one. */
async function rotate(seller: { accountId: number; keyId: number }): Promise<Client> {
  const { body } = await app.operator.post(`${keyPath(seller)}/rotate`)
  return app.withKey(body.key)
}

describe('a key', () => {
  it('opens the API in the Bearer scheme, whatever the casing of the word', async () => {
    const { key } = await app.seller()
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${key}` }
      expect((await app.anyone.get('/v1/me', { headers })).status).toBe(200)
    }
  })

  it('is asked for with 401 and WWW-Authenticate when none is sent', async () => {
    const answer = await app.anyone.get('/v1/me')
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(answer.body).toEqual({
      error: {
        type: 'authentication_error',
        message: 'No API key was sent. Send it as "Authorization: Bearer <key>".',
      },
    })
  })

  it.each([
    ['of the right form that nobody has', `svc_live_${'x'.repeat(40)}`],
    ['one character short', `svc_live_${'x'.repeat(39)}`],
    ['of another form', 'letmein'],
  ])('%s is unknown: 401', async (_, key) => {
    const answer = await app.withKey(key).get('/v1/me')
    expect(answer.status).toBe(401)
    expect(answer.body.error).toEqual({
      type: 'authentication_error',
      message: 'The API key is unknown.',
    })
  })

  it('counts only in the header: another scheme or a query parameter is no key', async () => {
    const { key } = await app.seller()
    const basic = { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` }
    expect((await app.anyone.get('/v1/me', { headers: basic })).status).toBe(401)
    expect((await app.anyone.get(`/v1/me?api_key=${key}`)).status).toBe(401)
  })

  it('stops working at once when it is revoked, and says so', async () => {
    const seller = await app.seller()
    expect((await seller.get('/v1/me')).status).toBe(200)
    expect((await app.operator.delete(keyPath(seller))).status).toBe(204)
    const answer = await seller.get('/v1/me')
    expect(answer.status).toBe(401)
    expect(answer.body.error.message).toBe('The API key has been revoked.')
  })

  it('is stored as a hash alone', async () => {
    const { key, keyId } = await app.seller()
    const rows = await app.ctx.db`select * from api_keys where id = ${keyId}`
    expect(JSON.stringify(rows)).not.toContain(key)
    expect(JSON.stringify(rows)).toContain(key.slice(0, 13))
  })
})

describe('a rotated key', () => {
  it('has a new secret, while the former one works 24 hours more and then has expired', async () => {
    const seller = await app.seller()
    const renewed = await rotate(seller)
    expect((await renewed.get('/v1/me')).status).toBe(200)
    expect((await seller.get('/v1/me')).status).toBe(200)

    await advance(DAY - 60)
    expect((await seller.get('/v1/me')).status).toBe(200)

    await advance(60)
    const answer = await seller.get('/v1/me')
    expect(answer.status).toBe(401)
    expect(answer.body.error.message).toContain('expired')
    expect((await renewed.get('/v1/me')).status).toBe(200)
  })

  it('gives up the grace of an earlier rotation', async () => {
    const seller = await app.seller()
    const second = await rotate(seller)
    const third = await rotate(seller)
    expect((await seller.get('/v1/me')).status).toBe(401)
    expect((await second.get('/v1/me')).status).toBe(200)
    expect((await third.get('/v1/me')).status).toBe(200)
  })

  it('is revoked with both of its secrets', async () => {
    const seller = await app.seller()
    const renewed = await rotate(seller)
    await app.operator.delete(keyPath(seller))
    expect((await seller.get('/v1/me')).status).toBe(401)
    expect((await renewed.get('/v1/me')).status).toBe(401)
  })

  it('shares its limits between both secrets', async () => {
    const seller = await app.seller()
    const renewed = await rotate(seller)
    const before = await seller.get('/v1/me')
    const after = await renewed.get('/v1/me')
    expect(Number(after.headers['x-ratelimit-remaining'])).toBe(
      Number(before.headers['x-ratelimit-remaining']) - 1,
    )
  })

  it('shows the prefix of the secret in use', async () => {
    const seller = await app.seller()
    await rotate(seller)
    const { body } = await seller.get('/v1/me')
    expect(body.data.key_prefix).toBe(seller.key.slice(0, 'svc_live_'.length + 4))
  })
})

describe('an account', () => {
  it.each([
    ['disabled', 'API access is not enabled for this account.'],
    ['suspended', 'API access of this account is suspended.'],
  ])('whose API access is %s gets 403 from the next request on', async (access, message) => {
    const seller = await app.seller()
    expect((await seller.get('/v1/me')).status).toBe(200)
    const change = { payload: { api_access: access } }
    await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, change)
    const answer = await seller.get('/v1/me')
    expect(answer.status).toBe(403)
    expect(answer.body.error).toEqual({ type: 'authorization_error', message })
  })
})

describe('a scope', () => {
  it('that the key lacks is named in a 403', async () => {
    const seller = await app.seller({ scopes: ['orders:read'] })
    const answer = await seller.get('/v1/series')
    expect(answer.status).toBe(403)
    expect(answer.body.error).toEqual({
      type: 'authorization_error',
      message: 'The API key lacks the scope catalog:read.',
    })
  })

  it('is asked for before anything is looked up', async () => {
    const seller = await app.seller({ scopes: ['orders:read'] })
    expect((await seller.get('/v1/cards/no-such-card')).status).toBe(403)
    expect((await seller.get('/v1/cards?page=0')).status).toBe(403)
  })

  it('is not needed for /me', async () => {
    const seller = await app.seller({ scopes: ['webhooks:manage'] })
    expect((await seller.get('/v1/me')).status).toBe(200)
  })
})

describe('checks run in this order:', () => {
  it('unknown path, then key, then account, then scope', async () => {
    const seller = await app.seller({ scopes: ['orders:read'], account: { apiAccess: 'disabled' } })
    expect((await app.anyone.get('/v1/nothing')).status).toBe(404)
    expect((await app.anyone.put('/v1/cards')).status).toBe(405)
    expect((await app.anyone.get('/v1/cards')).status).toBe(401)
    expect((await seller.get('/v1/cards')).body.error.message).toContain('not enabled')
  })
})

describe('GET /v1/me', () => {
  it('shows the account, the key and the limits', async () => {
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

  it('shows when the key was used, from the first call on, and no finer than a minute', async () => {
    const seller = await app.seller()
    const { body: first } = await seller.get('/v1/me')
    const listed = async () => {
      const { body } = await app.operator.get(`/operator/v1/accounts/${seller.accountId}/keys`)
      return body.data[0].last_used_at
    }
    expect(await listed()).toBe(first.data.last_used_at)

    await advance(30)
    expect((await seller.get('/v1/me')).body.data.last_used_at).toBe(first.data.last_used_at)

    await advance(30)
    const later = (await seller.get('/v1/me')).body.data.last_used_at
    expect(Date.parse(later)).toBeGreaterThanOrEqual(Date.parse(first.data.last_used_at) + 59_000)
    expect(await listed()).toBe(later)
  })
})

describe('the operator API', () => {
  it('opens with the operator token alone', async () => {
    expect((await app.operator.get('/operator/v1/accounts')).status).toBe(200)
    const without = await app.anyone.get('/operator/v1/accounts')
    expect(without.status).toBe(401)
    expect(without.headers['www-authenticate']).toBe('Bearer')
    const seller = await app.seller()
    expect((await seller.get('/operator/v1/accounts')).status).toBe(401)
    const longer = app.withKey('operator-token-for-tests-and-more-of-it')
    expect((await longer.get('/operator/v1/accounts')).status).toBe(401)
  })

  it('is not there without a token: every path of it is 404', async () => {
    const closed = await startTestApp({
      settings: { SANDBOX: 'false', OPERATOR_TOKEN: '' },
    })
    for (const path of ['/operator/v1/accounts', '/operator/openapi.json', '/metrics']) {
      expect((await closed.operator.get(path)).status).toBe(404)
    }
  })
})
