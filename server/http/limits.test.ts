import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { until } from '../test/until.ts'

const SETTINGS = { RATE_LIMIT_READ: '3', RATE_LIMIT_WRITE: '2' }
const NOON = Date.UTC(2026, 7, 1, 12)

let app: TestApp
let time = NOON + 18_000
beforeAll(async () => {
  app = await startTestApp({ settings: SETTINGS, rateLimitTime: () => time })
})

describe('rate limits', () => {
  it('every response states the remaining requests and the time of the reset', async () => {
    const seller = await app.seller()
    const { headers } = await seller.get('/v1/me')
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' })
    expect(headers['x-ratelimit-reset']).toBe(String(NOON / 1000 + 60))
    expect((await seller.get('/v1/cards/nothing')).headers['x-ratelimit-remaining']).toBe('1')
    expect((await seller.get('/v1/cards?page=0')).headers['x-ratelimit-remaining']).toBe('0')
  })

  it('the request over the limit gets a 429 with Retry-After and the reset', async () => {
    const seller = await app.seller()
    for (let i = 0; i < 3; i++) expect((await seller.get('/v1/me')).status).toBe(200)
    const response = await seller.get('/v1/me')
    expect(response.status).toBe(429)
    expect(response.body.error.type).toBe('rate_limited')
    expect(response.headers).toMatchObject({
      'retry-after': '42',
      'x-ratelimit-reset': String(NOON / 1000 + 60),
      'x-ratelimit-remaining': '0',
    })
  })

  it('requests are accepted again after exactly Retry-After seconds', async () => {
    const seller = await app.seller()
    for (let i = 0; i < 4; i++) await seller.get('/v1/me')
    const { headers } = await seller.get('/v1/me')
    const before = time
    time += Number(headers['retry-after']) * 1000 - 1
    expect((await seller.get('/v1/me')).status).toBe(429)
    time += 1
    expect((await seller.get('/v1/me')).headers['x-ratelimit-remaining']).toBe('2')
    time = before
  })

  it('HEAD counts as a read, and each key has its own limit', async () => {
    const [first, other] = [await app.seller(), await app.seller()]
    await first.head('/v1/me')
    expect((await first.get('/v1/me')).headers['x-ratelimit-remaining']).toBe('1')
    expect((await other.get('/v1/me')).headers['x-ratelimit-remaining']).toBe('2')
  })

  it('a request that is neither GET nor HEAD counts as a write, and used-up writes leave the reads', async () => {
    for (const [method, path] of [
      ['post', '/v1/webhooks'],
      ['patch', '/v1/listings/1'],
      ['delete', '/v1/listings/1'],
    ] as const) {
      const seller = await app.seller()
      const { headers } = await seller[method](path)
      expect(headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' })
      await seller[method](path)
      expect((await seller[method](path)).status).toBe(429)
      expect((await seller.get('/v1/me')).headers['x-ratelimit-remaining']).toBe('2')
    }
  })

  it('the rate limit is checked after the account’s access and before the scope', async () => {
    const narrow = await app.seller({ scopes: ['orders:read'] })
    for (let i = 0; i < 3; i++) expect((await narrow.get('/v1/series')).status).toBe(403)
    expect((await narrow.get('/v1/series')).status).toBe(429)

    const disabled = await app.seller({ account: { apiAccess: 'disabled' } })
    for (let i = 0; i < 5; i++) {
      const response = await disabled.get('/v1/me')
      expect(response.status).toBe(403)
      expect(response.headers['x-ratelimit-limit']).toBe('3')
    }
  })

  it('GET /v1/me reports the rate limits', async () => {
    const seller = await app.seller()
    expect((await seller.get('/v1/me')).body.data.rate_limit).toEqual({ read: 3, write: 2 })
  })
})

describe('wrong credentials', () => {
  it('an IP address gets a 429 after 600 wrong credentials in a minute; valid keys still work there', async () => {
    const seller = await app.seller()
    const remoteAddress = '203.0.113.7'
    for (let i = 0; i < 600; i++) {
      const response = await app.anyone.get('/v1/me', { remoteAddress })
      if (response.status !== 401) throw new Error(`attempt ${i + 1} answered ${response.status}`)
    }
    const refused = await app.anyone.get('/v1/me', { remoteAddress })
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers['retry-after'])
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(refused.body.error.message).toContain(`Try again in ${seconds} s.`)
    expect((await seller.get('/v1/me', { remoteAddress })).status).toBe(200)
    expect((await app.anyone.get('/v1/me', { remoteAddress: '203.0.113.8' })).status).toBe(401)
  })
})

describe('the sandbox clock', () => {
  const DAY = 24 * 60 * 60

  it('the sandbox clock does not affect rate-limit windows and X-RateLimit-Reset', async () => {
    const real = await startTestApp({ settings: SETTINGS })
    const remoteAddress = '203.0.113.9'
    const fail = () => real.anyone.get('/v1/me', { remoteAddress })
    // Retry in the next minute if this one ends during the check.
    await until('the check ran within one real minute', async () => {
      const seller = await real.seller()
      const minute = Math.floor(Date.now() / 60_000)
      for (let i = 0; i < 3; i++) await seller.get('/v1/me')
      for (let i = 0; i < 600; i++) await fail()
      await real.ctx.clock.advance(DAY)
      const [refused, failed] = [await seller.get('/v1/me'), await fail()]
      if (Math.floor(Date.now() / 60_000) !== minute) return false
      for (const { status, headers } of [refused, failed]) {
        expect([status, headers['x-ratelimit-reset']]).toEqual([429, String((minute + 1) * 60)])
        expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
      }
      return true
    })
  })
})
