import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: { RATE_LIMIT_READ: '3', RATE_LIMIT_WRITE: '2' } })
  // Windows are whole minutes: begin in a fresh one, so that no test sees its end by chance.
  await advance(60 - (Math.floor(app.ctx.now().getTime() / 1000) % 60))
})

const advance = (seconds: number) =>
  app.operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds: seconds } })

const nowSeconds = () => Math.floor(app.ctx.now().getTime() / 1000)

describe('the read limit', () => {
  it('tells on every answer how many requests are left, and until when', async () => {
    const seller = await app.seller()
    const { headers } = await seller.get('/v1/me')
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' })
    expect(Number(headers['x-ratelimit-reset'])).toBe((Math.floor(nowSeconds() / 60) + 1) * 60)
    expect((await seller.get('/v1/cards/nothing')).headers['x-ratelimit-remaining']).toBe('1')
    expect((await seller.get('/v1/cards?page=0')).headers['x-ratelimit-remaining']).toBe('0')
  })

  it('answers the request after the last one with 429, Retry-After and the reset', async () => {
    const seller = await app.seller()
    for (let i = 0; i < 3; i++) expect((await seller.get('/v1/me')).status).toBe(200)
    const answer = await seller.get('/v1/me')
    expect(answer.status).toBe(429)
    expect(answer.body.error.type).toBe('rate_limited')
    const { 'retry-after': retryAfter, 'x-ratelimit-reset': reset } = answer.headers
    expect(retryAfter).toMatch(/^[1-9]\d?$/)
    expect(Number(reset) - nowSeconds()).toBeGreaterThanOrEqual(Number(retryAfter) - 1)
    expect(answer.headers['x-ratelimit-remaining']).toBe('0')
  })

  it('begins anew with the next minute of the service’s clock', async () => {
    const seller = await app.seller()
    for (let i = 0; i < 4; i++) await seller.get('/v1/me')
    const { headers } = await seller.get('/v1/me')
    await advance(Number(headers['retry-after']))
    expect((await seller.get('/v1/me')).status).toBe(200)
  })

  it('counts HEAD as reading, and each key apart', async () => {
    const [one, other] = [await app.seller(), await app.seller()]
    await one.head('/v1/me')
    expect((await one.get('/v1/me')).headers['x-ratelimit-remaining']).toBe('1')
    expect((await other.get('/v1/me')).headers['x-ratelimit-remaining']).toBe('2')
  })

  it('stands behind the account’s access and before the scope', async () => {
    const narrow = await app.seller({ scopes: ['orders:read'] })
    for (let i = 0; i < 3; i++) expect((await narrow.get('/v1/series')).status).toBe(403)
    expect((await narrow.get('/v1/series')).status).toBe(429)

    const disabled = await app.seller({ account: { apiAccess: 'disabled' } })
    for (let i = 0; i < 5; i++) {
      const answer = await disabled.get('/v1/me')
      expect(answer.status).toBe(403)
      expect(answer.headers['x-ratelimit-limit']).toBe('3')
    }
  })

  it('is what /me reports', async () => {
    const seller = await app.seller()
    expect((await seller.get('/v1/me')).body.data.rate_limit).toEqual({ read: 3, write: 2 })
  })
})

describe('wrong credentials', () => {
  it('are refused with 429 after 600 in a minute from one address, which leaves valid keys alone', async () => {
    const seller = await app.seller()
    const remoteAddress = '203.0.113.7'
    for (let i = 0; i < 600; i++) {
      const answer = await app.anyone.get('/v1/me', { remoteAddress })
      if (answer.status !== 401) throw new Error(`attempt ${i + 1} answered ${answer.status}`)
    }
    const refused = await app.anyone.get('/v1/me', { remoteAddress })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect((await seller.get('/v1/me', { remoteAddress })).status).toBe(200)
    expect((await app.anyone.get('/v1/me', { remoteAddress: '203.0.113.8' })).status).toBe(401)
  })
})
