import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../server/test/app.ts'
import { startReceiver, subscribe } from '../../server/test/fakes/receiver.ts'
import { SignatureError, sign, verify } from './webhooks.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
})

const SECRET = `svc_whsec_${'s'.repeat(40)}`
const BODY = '{"event":"listing.sold","delivery_id":1,"data":{"name":"Pokémon"}}'

describe('verify', () => {
  it('a delivery of the service is genuine, and its event is returned', async () => {
    const receiver = await startReceiver()
    const seller = await app.seller()
    const { secret } = await subscribe(seller, receiver.url)
    await app.operator.post('/operator/v1/sandbox/events', {
      payload: { account_id: seller.accountId, event: 'order.created' },
    })
    await app.runDeliveries()
    const [arrived] = receiver.arrived
    const event = await verify(arrived!.body, arrived!.headers, secret)
    expect(event.event).toBe('order.created')
    expect(event).toEqual(JSON.parse(arrived!.body.toString()))
  })

  it('the body may be text, bytes or a buffer, and the headers an object or Headers in any case', async () => {
    const headers = await sign(BODY, SECRET)
    const bytes = new TextEncoder().encode(BODY)
    const cased = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]),
    )
    for (const body of [BODY, bytes, bytes.buffer]) {
      for (const sent of [headers, new Headers(headers), cased]) {
        expect((await verify(body, sent, SECRET)).event).toBe('listing.sold')
      }
    }
  })

  it('bytes that are not UTF-8 are checked as they are', async () => {
    const body = Uint8Array.from([0x22, 0xff, 0xfe, 0x22])
    expect(await verify(body, await sign(body, SECRET), SECRET)).toBe('\ufffd\ufffd')
    const replaced = new TextDecoder().decode(body)
    await expect(verify(replaced, await sign(body, SECRET), SECRET)).rejects.toThrow(SignatureError)
  })

  it('one of several secrets is enough, and an empty secret never is', async () => {
    const headers = await sign(BODY, SECRET)
    await verify(BODY, headers, ['svc_whsec_new', SECRET])
    for (const secret of ['', [''], [], undefined as unknown as string]) {
      const call = verify(BODY, headers, secret)
      await expect(call).rejects.toThrow(SignatureError)
      await expect(call).rejects.toThrow(/^The secret is missing/)
    }
  })

  it('headers of another library are read as well', async () => {
    const headers = new Map(Object.entries(await sign(BODY, SECRET)))
    await verify(BODY, headers as unknown as Headers, SECRET)
  })

  it('one of several signatures is enough, as after a rotation of the secret', async () => {
    // A signature belongs to its timestamp.
    const now = Math.floor(Date.now() / 1000)
    const headers = await sign(BODY, SECRET, now)
    const other = await sign(BODY, 'svc_whsec_old', now)
    const name = 'x-service-signature'
    for (const separator of [' ', ',', ', ']) {
      const both = { ...headers, [name]: [other[name], headers[name]].join(separator) }
      await verify(BODY, both, SECRET)
    }
    await verify(BODY, { ...other, [`${name}-previous`]: headers[name] }, SECRET)
    await expect(
      verify(BODY, { ...other, [`${name}-old`]: headers[name] }, SECRET),
    ).rejects.toThrow()
  })

  it.each([
    ['another body', { body: `${BODY} ` }],
    ['another secret', { secret: 'svc_whsec_other' }],
    ['no timestamp', { headers: { 'x-service-timestamp': undefined } }],
    ['a malformed timestamp', { headers: { 'x-service-timestamp': '1e9' } }],
    ['another timestamp', { headers: { 'x-service-timestamp': '1700000001' } }],
    ['no signature', { headers: { 'x-service-signature': undefined } }],
    ['a malformed signature', { headers: { 'x-service-signature': 'g'.repeat(64) } }],
    ['an upper-case signature', { headers: { 'x-service-signature': 'A'.repeat(64) } }],
    ['an old timestamp', { now: () => (1_700_000_000 + 301) * 1000 }],
    ['a timestamp ahead of the clock', { now: () => (1_700_000_000 - 301) * 1000 }],
  ] as const)('%s is refused', async (_, change: object) => {
    const { body, secret, headers, now } = {
      body: BODY,
      secret: SECRET,
      headers: {},
      now: () => 1_700_000_000_000,
      ...change,
    }
    const genuine = await sign(BODY, SECRET, 1_700_000_000)
    await verify(BODY, genuine, SECRET, { now: () => 1_700_000_000_000 })
    await expect(verify(body, { ...genuine, ...headers }, secret, { now })).rejects.toThrow(
      SignatureError,
    )
  })

  it('a receiver of a sandbox whose clock is ahead passes its time or a larger tolerance', async () => {
    const timestamp = Math.floor(Date.now() / 1000) + 86_400
    const headers = await sign(BODY, SECRET, timestamp)
    await expect(verify(BODY, headers, SECRET)).rejects.toThrow(
      /864\d\d s ahead.*sandbox.*`now`.*`toleranceSeconds`/,
    )
    await verify(BODY, headers, SECRET, { now: () => timestamp * 1000 })
    await verify(BODY, headers, SECRET, { toleranceSeconds: 90_000 })
  })

  it('a timestamp is accepted until it differs by more than the tolerance', async () => {
    const headers = await sign(BODY, SECRET, 1_700_000_000)
    for (const seconds of [-300, 300]) {
      await verify(BODY, headers, SECRET, { now: () => (1_700_000_000 + seconds) * 1000 })
    }
  })

  it('a parsed body is refused with the way to get the raw one', async () => {
    const headers = await sign(BODY, SECRET)
    const parsed = JSON.parse(BODY)
    await expect(verify(parsed, headers, SECRET)).rejects.toThrow(/raw body.*Fastify.*Express/)
  })

  it('a tolerance or a time that is not a number is a TypeError, because it would accept a delivery of any age', async () => {
    const old = await sign(BODY, SECRET, 1)
    const setting = 'five minutes' as unknown as number
    for (const options of [
      { toleranceSeconds: Number.NaN },
      { toleranceSeconds: setting },
      { now: () => Number.NaN },
    ]) {
      await expect(verify(BODY, old, SECRET, options)).rejects.toThrow(TypeError)
    }
    await verify(BODY, old, SECRET, { toleranceSeconds: Infinity })
  })

  it('missing headers are a TypeError, and a genuine body that is not JSON is a SyntaxError', async () => {
    for (const headers of [null, undefined]) {
      const call = verify(BODY, headers as unknown as Headers, SECRET)
      await expect(call).rejects.toThrow(/^Pass the headers/)
    }
    await expect(verify('x', await sign('x', SECRET), SECRET)).rejects.toThrow(SyntaxError)
    await expect(verify('x', await sign('y', SECRET), SECRET)).rejects.toThrow(SignatureError)
  })
})
