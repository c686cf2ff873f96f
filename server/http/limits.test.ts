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

describe('the read limit', () => {
  it('tells on every answer how many requests are left, and until when', async () => {
    const seller = await app.seller()
    const { headers } = await seller.get('/v1/me')
    expect(headers).toMatchObject({ 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' })
    expect(headers['x-ratelimit-reset']).toBe(String(NOON / 1000 + 60))
    expect((await seller.get('/v1/cards/nothing')).headers['x-ratelimit-remaining']).toBe('1')
    expect((await seller.get('/v1/cards?page=0')).headers['x-ratelimit-remaining']).toBe('0')
  })

  it('answers the request after the last one with 429, Retry-After and the reset', async () => {
    const seller = await app.seller()
    for (let i = 0; i < 3; i++) expect((await seller.get('/v1/me')).status).toBe(200)
    const answer = await seller.get('/v1/me')
    expect(answer.status).toBe(429)
    expect(answer.body.error.type).toBe('rate_limited')
    expect(answer.headers).toMatchObject({
      'retry-after': '42',
      'x-ratelimit-reset': String(NOON / 1000 + 60),
      'x-ratelimit-remaining': '0',
    })
  })

  it('starts again after Retry-After seconds, and not before', async () => {
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

describe('the sandbox’s clock', () => {
  const DAY = 24 * 60 * 60

  it('moves neither the windows nor X-RateLimit-Reset: they are of real time', async () => {
    const real = await startTestApp({ settings: SETTINGS })
    const remoteAddress = '203.0.113.9'
    const fail = () => real.anyone.get('/v1/me', { remoteAddress })
    // Tried again in the next minute if this one ends in the middle.
    await until('all of it was seen within one real minute', async () => {
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
