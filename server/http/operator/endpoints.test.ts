import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
import { type FakeNetwork, fakeNetwork } from '../../test/fakes/network.ts'
import { type PublicReceiver, startPublicReceiver } from '../../test/fakes/public-receiver.ts'
import { deliveriesIn, endpointOf, sendSampleEvent, subscribe } from '../../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../../test/fixtures/listings.ts'

let app: TestApp
let internet: FakeNetwork
let seller: Awaited<ReturnType<TestApp['seller']>>
let hook: PublicReceiver
let id: number
beforeAll(async () => {
  internet = fakeNetwork()
  app = await startTestApp({ network: internet, settings: NO_LIMITS })
})
beforeEach(async () => {
  seller = await app.seller()
  hook = await startPublicReceiver(internet)
  id = (await subscribe(seller, hook.url)).id
})

/** Numbers that are nobody's, nor any record's. */
const NOWHERE = ['999999', '0', '-1', '1.5', 'x', '9007199254740992', '99999999999999999999']

const addressOf = (endpoint: number | string = id, account: number | string = seller.accountId) =>
  `/operator/v1/accounts/${account}/webhooks/${endpoint}`
const enable = (...of: Parameters<typeof addressOf>) =>
  app.operator.post(`${addressOf(...of)}/enable`)
const resend = (payload: object, ...of: Parameters<typeof addressOf>) =>
  app.operator.post(`${addressOf(...of)}/resend`, { payload })
const BACKWARDS = 'The to field must not be before the from field.'
const garbage = (field: string) =>
  `The ${field} field must be an ISO 8601 date or date-time, as 2026-03-01T09:30:00Z.`
const EVER = { from: '2000-01-01', to: '2999-01-01' }

const logOf = (endpoint = id) => deliveriesIn(app, `endpoint_id=${endpoint}`)
const sampleMany = async (count: number) => {
  for (let i = 0; i < count; i++) await sendSampleEvent(app, seller.accountId)
}
/** Makes so many deliveries fail, each with its first attempt. */
const fail = async (count: number) => {
  hook.hide()
  await sampleMany(count)
  await app.runDeliveries()
  hook.show()
}

describe('GET /operator/v1/accounts/{id}/webhooks', () => {
  const list = (account: number | string = seller.accountId) =>
    app.operator.get(`/operator/v1/accounts/${account}/webhooks`)

  it('shows an account’s endpoints as the seller sees them', async () => {
    await subscribe(seller, `${hook.url}/2`)
    const { status, body } = await list()
    expect(status).toBe(200)
    expect(body).toEqual((await seller.get('/v1/webhooks')).body)
    expect(body.data).toHaveLength(2)
  })

  it('shows disabled ones, and none that was deleted', async () => {
    const gone = await subscribe(seller, `${hook.url}/2`)
    await seller.delete(`/v1/webhooks/${gone.id}`)
    await fail(10)
    expect((await list()).body.data).toMatchObject([{ id, active: false }])
    expect((await list((await app.seller()).accountId)).body).toEqual({ data: [] })
  })

  it.each(NOWHERE)('answers 404 for the account %s, which there is not', async (account) => {
    const { status, body } = await list(account)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('is nobody’s but the operator’s', async () => {
    expect((await seller.get(`/operator/v1/accounts/${seller.accountId}/webhooks`)).status).toBe(
      401,
    )
    for (const action of ['enable', 'resend']) {
      expect((await seller.post(`${addressOf()}/${action}`)).status).toBe(401)
    }
  })
})

describe('POST /operator/v1/accounts/{id}/webhooks/{endpoint}/enable', () => {
  it('makes a disabled endpoint active, with no failures counted', async () => {
    await fail(10)
    expect(await endpointOf(seller, id)).toMatchObject({ active: false, consecutive_failures: 10 })
    const { status, body } = await enable()
    expect(status).toBe(200)
    expect(body.data).toMatchObject({
      id,
      active: true,
      disabled_at: null,
      consecutive_failures: 0,
    })
    expect(await endpointOf(seller, id)).toEqual(body.data)
  })

  it('lets events through again, and leaves what was skipped as it is', async () => {
    await fail(10)
    await sampleMany(2)
    await enable()
    await sampleMany(1)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(1)
    const [sent, ...skipped] = (await logOf()).slice(0, 3)
    expect(sent.status).toBe('delivered')
    expect(skipped).toMatchObject([{ status: 'skipped' }, { status: 'skipped' }])
  })

  it('takes ten more failures to disable it again', async () => {
    await fail(10)
    await enable()
    await fail(9)
    expect(await endpointOf(seller, id)).toMatchObject({ active: true, consecutive_failures: 9 })
    await fail(1)
    expect(await endpointOf(seller, id)).toMatchObject({ active: false, consecutive_failures: 10 })
  })

  it('can be asked for again, and has one that is active count anew', async () => {
    const { body } = await enable()
    expect(body.data).toMatchObject({ active: true, consecutive_failures: 0 })
    await fail(3)
    expect((await endpointOf(seller, id)).consecutive_failures).toBe(3)
    const again = await enable()
    expect([again.status, again.body]).toEqual([200, body])
    expect((await enable()).body).toEqual(body)
  })

  it('leaves others alone', async () => {
    const other = (await subscribe(seller, hook.url)).id
    await fail(10)
    await enable()
    expect(await endpointOf(seller, other)).toMatchObject({ active: false })
  })

  it('answers 404 for another account’s endpoint, and one that was deleted', async () => {
    await fail(10)
    const stranger = await app.seller()
    const foreign = await enable(id, stranger.accountId)
    expect([foreign.status, foreign.body.error.type]).toEqual([404, 'not_found'])
    expect(await endpointOf(seller, id)).toMatchObject({ active: false })
    await seller.delete(`/v1/webhooks/${id}`)
    expect((await enable()).status).toBe(404)
  })

  it.each(NOWHERE)('answers 404 for %s, which is no number of one', async (nowhere) => {
    expect((await enable(nowhere)).status).toBe(404)
    expect((await enable(id, nowhere)).status).toBe(404)
  })
})

describe('POST /operator/v1/accounts/{id}/webhooks/{endpoint}/resend', () => {
  it('sends everything that was skipped or has failed once more, and says how much that is', async () => {
    await sampleMany(2)
    await app.runDeliveries()
    await fail(10)
    await sampleMany(3)
    await enable()
    hook.respondWith(500)
    await sampleMany(1)
    await app.runDeliveries()
    hook.respondWith(204)
    hook.arrived.length = 0
    const wanted = (await logOf()).filter(({ status }: { status: string }) =>
      ['failed', 'skipped'].includes(status),
    )
    const { status, body } = await resend(EVER)
    expect([status, body]).toEqual([202, { data: { deliveries: 13 } }])
    await app.runDeliveries()
    const sent = hook.arrived.map(({ json }) => json.delivery_id).toSorted((a, b) => b - a)
    expect(sent).toEqual(wanted.map((delivery: { id: number }) => delivery.id))
    const after = await logOf()
    expect(after.filter(({ status }: { status: string }) => status === 'delivered')).toHaveLength(
      15,
    )
    expect(after[0]).toMatchObject({ status: 'pending', attempts: { length: 1 } })
    expect((await resend(EVER)).body.data.deliveries).toBe(0)
  })

  it('leaves what fails as it was, and counts nothing', async () => {
    await fail(10)
    await sampleMany(2)
    await enable()
    const before = await logOf()
    hook.respondWith(500)
    expect((await resend(EVER)).body.data.deliveries).toBe(12)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(12)
    expect(await logOf()).toEqual(
      before.map((delivery: { attempts: object[] }) => ({
        ...delivery,
        attempts: [...delivery.attempts, expect.objectContaining({ status_code: 500 })],
      })),
    )
    expect(await endpointOf(seller, id)).toMatchObject({ active: true, consecutive_failures: 0 })
  })

  it('makes one attempt of each, however often it is asked for before', async () => {
    await fail(3)
    const answers = await Promise.all([resend(EVER), resend(EVER), resend(EVER)])
    const counts = answers.map(({ body }) => body.data.deliveries)
    expect(Math.max(...counts)).toBe(3)
    await Promise.all([app.runDeliveries(), app.runDeliveries()])
    expect(hook.arrived).toHaveLength(3)
  })

  it('is for that endpoint alone', async () => {
    const other = (await subscribe(seller, hook.url)).id
    const stranger = await app.seller()
    const theirs = (await subscribe(stranger, hook.url)).id
    await fail(2)
    hook.hide()
    await sendSampleEvent(app, stranger.accountId)
    await app.runDeliveries()
    hook.show()
    expect((await resend(EVER)).body.data.deliveries).toBe(2)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(2)
    expect((await logOf()).map(({ status }: { status: string }) => status)).toEqual([
      'delivered',
      'delivered',
    ])
    for (const untouched of [other, theirs]) {
      for (const one of await logOf(untouched)) {
        expect(one).toMatchObject({ status: 'failed', attempts: { length: 1 } })
      }
    }
  })

  describe('takes the events of a time', () => {
    /** Three failed deliveries, a minute apart; when their events happened, oldest first. */
    const threeMoments = async () => {
      for (let i = 0; i < 3; i++) {
        await fail(1)
        await advance(app.operator, 60)
      }
      return (await logOf())
        .map(({ created_at }: { created_at: string }) => created_at)
        .toReversed() as [string, string, string]
    }
    const second = (moment: string, by: number) =>
      new Date(Date.parse(moment) + by * 1000).toISOString().replace('.000', '')
    const count = async (from: string, to: string) =>
      (await resend({ from, to })).body.data?.deliveries

    it('in which both ends count, to the second', async () => {
      const [first, middle, last] = await threeMoments()
      expect(await count(first, last)).toBe(3)
      expect(await count(middle, middle)).toBe(1)
      expect(await count(second(first, 1), second(last, -1))).toBe(1)
      expect(await count(second(first, 1), last)).toBe(2)
      expect(await count(first, second(middle, -1))).toBe(1)
      expect(await count(second(last, 1), second(last, 60))).toBe(0)
      await app.runDeliveries()
      expect(hook.arrived).toHaveLength(3)
    })

    it('given with offsets, or none, which is UTC', async () => {
      const [, middle] = await threeMoments()
      const local = (hours: number, offset: string) =>
        second(middle, hours * 3_600).replace('Z', offset)
      for (const [hours, offset] of [
        [2, '+02:00'],
        [-5, '-05:00'],
        [5.5, '+0530'],
        [0, ''],
      ] as const) {
        expect(await count(local(hours, offset), local(hours, offset)), offset).toBe(1)
        expect(await count(local(hours, offset), second(middle, 0)), offset).toBe(1)
      }
    })

    it('given as dates, each of which is its first second', async () => {
      const toMidnight = 86_400 - (Math.floor(app.ctx.now().getTime() / 1000) % 86_400)
      await advance(app.operator, toMidnight + 3_600)
      const today = app.ctx.now().toISOString().slice(0, 10)
      await fail(1)
      await advance(app.operator, 86_400)
      const tomorrow = app.ctx.now().toISOString().slice(0, 10)
      await fail(1)
      await advance(app.operator, 86_400)
      const after = app.ctx.now().toISOString().slice(0, 10)
      expect(await count(today, today)).toBe(0)
      expect(await count(today, tomorrow)).toBe(1)
      expect(await count(tomorrow, after)).toBe(1)
      expect(await count(today, after)).toBe(2)
    })
  })

  it.each([
    [{ to: '2026-03-01' }, { from: ['The from field is required.'] }],
    [{ from: '2026-03-01' }, { to: ['The to field is required.'] }],
    [{}, { from: ['The from field is required.'], to: ['The to field is required.'] }],
    [
      { from: null, to: 5 },
      { from: ['The from field must be a string.'], to: ['The to field must be a string.'] },
    ],
    [{ from: '', to: '2026-03-01' }, { from: [garbage('from')] }],
    [{ from: '2026-02-30', to: '2026-03-01' }, { from: [garbage('from')] }],
    [{ from: '2026-03-01', to: 'tomorrow' }, { to: [garbage('to')] }],
    [
      { from: 'x', to: '2026-03-01T25:00:00Z' },
      { from: [garbage('from')], to: [garbage('to')] },
    ],
    [
      { from: '2026-03-01', to: '2026-03-01\0' },
      { to: ['The to field contains characters that cannot be stored.'] },
    ],
    [{ from: '2026-03-02', to: '2026-03-01' }, { to: [BACKWARDS] }],
    [{ from: '2026-03-01T00:00:01Z', to: '2026-03-01' }, { to: [BACKWARDS] }],
    [{ from: '2026-03-01T12:00:00Z', to: '2026-03-01T12:00:00+01:00' }, { to: [BACKWARDS] }],
  ])('refuses %j with 422 on what is wrong with it', async (payload, fields) => {
    await fail(1)
    const { status, body } = await resend(payload)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(body.error.fields).toEqual(fields)
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
  })

  it('answers 409 while the endpoint is disabled, and sends nothing then or later', async () => {
    await fail(10)
    const { status, body } = await resend(EVER)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    await enable()
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
    expect((await resend(EVER)).body.data.deliveries).toBe(10)
  })

  it('comes to nothing for what is left when the endpoint is disabled or deleted', async () => {
    await fail(3)
    await resend(EVER)
    await seller.delete(`/v1/webhooks/${id}`)
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
    for (const one of await logOf()) {
      expect(one).toMatchObject({
        status: 'failed',
        attempts: { length: 1 },
        next_attempt_at: null,
      })
    }
  })

  it('answers 404 for another account’s endpoint and one that was deleted, before it looks at the body', async () => {
    await fail(1)
    const stranger = await app.seller()
    for (const payload of [EVER, {}, { from: 'x' }]) {
      const { status, body } = await resend(payload, id, stranger.accountId)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
    }
    await seller.delete(`/v1/webhooks/${id}`)
    expect((await resend(EVER)).status).toBe(404)
    expect((await resend({})).status).toBe(404)
  })

  it.each(NOWHERE)('answers 404 for %s, which is no number of one', async (nowhere) => {
    expect((await resend({}, nowhere)).status).toBe(404)
    expect((await resend({}, id, nowhere)).status).toBe(404)
  })

  it('looks at the order in which things are wrong: broken body, validity, then state', async () => {
    await fail(10)
    const headers = { 'content-type': 'application/json' }
    const broken = await app.operator.post(`${addressOf('x')}/resend`, { payload: '{', headers })
    expect([broken.status, Object.keys(broken.body.error.fields)]).toEqual([422, ['body']])
    expect((await resend({ from: 'x', to: 'y' })).status).toBe(422)
    expect((await resend({ from: '2026-03-02', to: '2026-03-01' })).status).toBe(422)
    expect((await resend(EVER)).status).toBe(409)
  })
})
