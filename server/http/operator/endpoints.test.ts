import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { recordEvents } from '../../events/record.ts'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { type FakeNetwork, fakeNetwork } from '../../test/fakes/network.ts'
import { type PublicReceiver, startPublicReceiver } from '../../test/fakes/public-receiver.ts'
import { deliveriesIn, endpointOf, sendSampleEvent, subscribe } from '../../test/fakes/receiver.ts'
import { advance, NO_LIMITS } from '../../test/fixtures/listings.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { resendDeliveries } from '../../webhooks/resend.ts'

let app: TestApp
let internet: FakeNetwork
let seller: Seller
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

const UNKNOWN = 999_999

const pathOf = (endpoint: number | string = id, account: number | string = seller.accountId) =>
  `/operator/v1/accounts/${account}/webhooks/${endpoint}`
const enable = (...of: Parameters<typeof pathOf>) => app.operator.post(`${pathOf(...of)}/enable`)
const resend = (payload: object, ...of: Parameters<typeof pathOf>) =>
  app.operator.post(`${pathOf(...of)}/resend`, { payload })
const TO_BEFORE_FROM = 'The to field must not be before the from field.'
const invalidDate = (field: string) =>
  `The ${field} field must be an ISO 8601 date or date-time, such as 2026-03-01T09:30:00Z.`
const ALL_TIME = { from: '2000-01-01', to: '2999-01-01' }

const deliveriesOf = (endpoint = id) => deliveriesIn(app, `endpoint_id=${endpoint}`)
const sampleMany = async (count: number) => {
  for (let i = 0; i < count; i++) await sendSampleEvent(app, seller.accountId)
}
/** Makes `count` deliveries fail at their first attempt. */
const makeFail = async (count: number) => {
  hook.hide()
  await sampleMany(count)
  await app.runDeliveries()
  hook.show()
}

describe('GET /operator/v1/accounts/{id}/webhooks', () => {
  const list = (account: number | string = seller.accountId) =>
    app.operator.get(`/operator/v1/accounts/${account}/webhooks`)

  it('GET /operator/v1/accounts/{id}/webhooks shows an account’s endpoints as the seller sees them', async () => {
    await subscribe(seller, `${hook.url}/2`)
    const { status, body } = await list()
    expect(status).toBe(200)
    expect(body).toEqual((await seller.get('/v1/webhooks')).body)
    expect(body.data).toHaveLength(2)
  })

  it('staff see the URL of an endpoint without its user and password', async () => {
    const { id } = await subscribe(seller, hook.url.replace('//', '//shop:s3cret@'))
    const shown = (await list()).body.data.at(-1)
    expect(shown).toMatchObject({ id, url: hook.url })
    expect((await enable(id)).body.data).toEqual(shown)
  })

  it('GET /operator/v1/accounts/{id}/webhooks shows disabled endpoints, but no deleted ones', async () => {
    const gone = await subscribe(seller, `${hook.url}/2`)
    await seller.delete(`/v1/webhooks/${gone.id}`)
    await makeFail(10)
    expect((await list()).body.data).toMatchObject([{ id, active: false }])
    expect((await list((await app.seller()).accountId)).body).toEqual({ data: [] })
  })

  it('GET /operator/v1/accounts/{id}/webhooks returns 404 for an unknown account', async () => {
    const { status, body } = await list(UNKNOWN)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('only the operator can list, enable, delete and resend to endpoints', async () => {
    expect((await seller.get(`/operator/v1/accounts/${seller.accountId}/webhooks`)).status).toBe(
      401,
    )
    for (const action of ['enable', 'resend']) {
      expect((await seller.post(`${pathOf()}/${action}`)).status).toBe(401)
    }
    expect((await seller.delete(pathOf())).status).toBe(401)
  })
})

describe('POST /operator/v1/accounts/{id}/webhooks/{endpoint}/enable', () => {
  it('enabling a disabled endpoint makes it active and resets its failure count', async () => {
    await makeFail(10)
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

  it('an enabled endpoint receives new events; skipped deliveries stay skipped', async () => {
    await makeFail(10)
    await sampleMany(2)
    await enable()
    await sampleMany(1)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(1)
    const [sent, ...skipped] = (await deliveriesOf()).slice(0, 3)
    expect(sent.status).toBe('delivered')
    expect(skipped).toMatchObject([{ status: 'skipped' }, { status: 'skipped' }])
  })

  it('an enabled endpoint is disabled again after ten more failures', async () => {
    await makeFail(10)
    await enable()
    await makeFail(9)
    expect(await endpointOf(seller, id)).toMatchObject({ active: true, consecutive_failures: 9 })
    await makeFail(1)
    expect(await endpointOf(seller, id)).toMatchObject({ active: false, consecutive_failures: 10 })
  })

  it('enabling an active endpoint resets its failure count', async () => {
    const { body } = await enable()
    expect(body.data).toMatchObject({ active: true, consecutive_failures: 0 })
    await makeFail(3)
    expect((await endpointOf(seller, id)).consecutive_failures).toBe(3)
    const again = await enable()
    expect([again.status, again.body]).toEqual([200, body])
    expect((await enable()).body).toEqual(body)
  })

  it('enabling an endpoint does not affect other endpoints', async () => {
    const other = (await subscribe(seller, hook.url)).id
    await makeFail(10)
    await enable()
    expect(await endpointOf(seller, other)).toMatchObject({ active: false })
  })

  it('enabling another account’s or a deleted endpoint returns 404', async () => {
    await makeFail(10)
    const stranger = await app.seller()
    const foreign = await enable(id, stranger.accountId)
    expect([foreign.status, foreign.body.error.type]).toEqual([404, 'not_found'])
    expect(await endpointOf(seller, id)).toMatchObject({ active: false })
    await seller.delete(`/v1/webhooks/${id}`)
    expect((await enable()).status).toBe(404)
  })

  it('enabling an endpoint with an unknown endpoint or account id returns 404', async () => {
    expect((await enable(UNKNOWN)).status).toBe(404)
    expect((await enable(id, UNKNOWN)).status).toBe(404)
  })
})

describe('DELETE /operator/v1/accounts/{id}/webhooks/{endpoint}', () => {
  const remove = (...of: Parameters<typeof pathOf>) => app.operator.delete(pathOf(...of))

  it('an endpoint that the operator deletes gets no event any more, not even one that waits, and the audit log has it', async () => {
    const other = (await subscribe(seller, hook.url)).id
    await sampleMany(1)
    expect(await remove()).toMatchObject({ status: 204, text: '' })
    await sampleMany(1)
    await app.runDeliveries()
    expect(await deliveriesOf()).toMatchObject([{ status: 'skipped', endpoint_deleted: true }])
    expect(await deliveriesOf(other)).toMatchObject(Array(2).fill({ status: 'delivered' }))
    expect(await app.ctx.db`select secret from webhook_endpoints where id = ${id}`).toEqual([
      { secret: null },
    ])
    const { body } = await app.operator.get(`/operator/v1/audit?record=endpoint:${id}`)
    expect(body.data).toMatchObject([
      { action: 'deleteEndpoint', role: 'root', before: { id, url: hook.url }, after: null },
    ])
  })

  it('deleting another account’s or a deleted endpoint returns 404', async () => {
    const stranger = await app.seller()
    const foreign = await remove(id, stranger.accountId)
    expect([foreign.status, foreign.body.error.type]).toEqual([404, 'not_found'])
    expect(await endpointOf(seller, id)).toMatchObject({ active: true })
    await remove()
    expect((await remove()).status).toBe(404)
  })

  it('deleting an endpoint with an unknown endpoint or account id returns 404', async () => {
    expect((await remove(UNKNOWN)).status).toBe(404)
    expect((await remove(id, UNKNOWN)).status).toBe(404)
  })
})

describe('POST /operator/v1/accounts/{id}/webhooks/{endpoint}/resend', () => {
  it('a bulk resend sends every skipped or failed delivery again and returns their number', async () => {
    await sampleMany(2)
    await app.runDeliveries()
    await makeFail(10)
    await sampleMany(3)
    await enable()
    hook.respondWith(500)
    await sampleMany(1)
    await app.runDeliveries()
    hook.respondWith(204)
    hook.arrived.length = 0
    const wanted = (await deliveriesOf()).filter(({ status }: { status: string }) =>
      ['failed', 'skipped'].includes(status),
    )
    const { status, body } = await resend(ALL_TIME)
    expect([status, body]).toEqual([202, { data: { deliveries: 13 } }])
    await app.runDeliveries()
    const sent = hook.arrived.map(({ json }) => json.delivery_id).toSorted((a, b) => b - a)
    expect(sent).toEqual(wanted.map((delivery: { id: number }) => delivery.id))
    const after = await deliveriesOf()
    expect(after.filter(({ status }: { status: string }) => status === 'delivered')).toHaveLength(
      15,
    )
    expect(after[0]).toMatchObject({ status: 'pending', attempts: { length: 1 } })
    expect((await resend(ALL_TIME)).body.data.deliveries).toBe(0)
  })

  it('a failed bulk resend changes no status and no failure count', async () => {
    await makeFail(10)
    await sampleMany(2)
    await enable()
    const before = await deliveriesOf()
    hook.respondWith(500)
    expect((await resend(ALL_TIME)).body.data.deliveries).toBe(12)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(12)
    expect(await deliveriesOf()).toEqual(
      before.map((delivery: { attempts: object[] }) => ({
        ...delivery,
        attempts: [...delivery.attempts, expect.objectContaining({ status_code: 500 })],
      })),
    )
    expect(await endpointOf(seller, id)).toMatchObject({ active: true, consecutive_failures: 0 })
  })

  it('repeated bulk resends make one attempt per delivery', async () => {
    await makeFail(3)
    const responses = await Promise.all([resend(ALL_TIME), resend(ALL_TIME), resend(ALL_TIME)])
    const counts = responses.map(({ body }) => body.data.deliveries)
    expect(Math.max(...counts)).toBe(3)
    await Promise.all([app.runDeliveries(), app.runDeliveries()])
    expect(hook.arrived).toHaveLength(3)
  })

  const everything = { from: new Date('2000-01-01'), to: new Date('2999-01-01') }
  const transactionsOfResends = async () => {
    const [row] = await app.ctx.db<{ count: number }[]>`
      select count(distinct resent_in)::int as count from deliveries where endpoint_id = ${id}
    `
    return row!.count
  }

  it('a bulk resend of many deliveries is several transactions, and returns the number of all', async () => {
    await makeFail(5)
    expect(await resendDeliveries(app.ctx, seller.accountId, id, everything, 2)).toBe(5)
    expect(await transactionsOfResends()).toBe(3)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(5)
  })

  it('a bulk resend ends with a 409 when its endpoint is disabled meanwhile, and sends nothing later', async () => {
    await makeFail(9)
    const fifth = (await deliveriesOf()).toReversed()[4].id
    await sampleMany(1)
    const { resending } = await app.ctx.begin(async (db) => {
      // The second batch waits for this row, which is rolled back in the end.
      await db`
        insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
        select id, event_id, endpoint_id, now() from deliveries where id = ${fifth}
      `
      const resending = resendDeliveries(app.ctx, seller.accountId, id, everything, 3)
      resending.catch(() => {})
      await untilLockWaiters(app.ctx.db)
      hook.hide()
      await app.runDeliveries()
      hook.show()
      await db`delete from delivery_queue where delivery_id = ${fifth}`
      return { resending }
    })
    expect(await endpointOf(seller, id)).toMatchObject({ active: false })
    await expect(resending).rejects.toMatchObject({ type: 'conflict' })
    expect(await transactionsOfResends()).toBe(2)
    await app.runDeliveries()
    await enable()
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
  })

  it('deliveries can be resent while a bulk resend of their endpoint has locked them', async () => {
    await makeFail(3)
    const [last, middle, first] = await deliveriesOf()
    const { bulk, singles } = await app.ctx.begin(async (tx) => {
      // The bulk resend waits for this row, which is deleted in the end, with all deliveries locked.
      await tx`
        insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
        select id, event_id, endpoint_id, now() from deliveries where id = ${middle.id}
      `
      const bulk = resend(ALL_TIME)
      await untilLockWaiters(app.ctx.db)
      const singles = [first, last].map(({ id }) =>
        app.operator.post(`/operator/v1/deliveries/${id}/resend`),
      )
      await untilLockWaiters(app.ctx.db, 3)
      await tx`delete from delivery_queue where delivery_id = ${middle.id}`
      return { bulk, singles }
    })
    const responses = await Promise.all([bulk, ...singles])
    expect(responses.map(({ status }) => status)).toEqual([202, 202, 202])
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(3)
  })

  /** Two batches of a bulk resend. */
  const missMany = async () => {
    const data = { order_id: 1, cancelled_by: 'buyer' as const }
    const event = { accountId: seller.accountId, event: 'order.cancelled' as const, data }
    await recordEvents(app.ctx, Array(1_001).fill(event))
    const { db } = app.ctx
    await db`delete from delivery_queue where endpoint_id = ${id}`
    await db`update deliveries set status = 'failed' where endpoint_id = ${id}`
  }

  it('a request to resend commits each thousand deliveries, and is in the audit log once', async () => {
    const { db } = app.ctx
    await missMany()
    expect((await resend(ALL_TIME)).body.data.deliveries).toBe(1_001)
    expect(await transactionsOfResends()).toBe(2)
    const { body } = await app.operator.get(`/operator/v1/audit?record=endpoint:${id}`)
    expect(body.data).toMatchObject([{ action: 'resendDeliveries', record: `endpoint:${id}` }])
    expect(await db`select from unfinished_audit_entries`).toHaveLength(0)
    await db`delete from delivery_queue where endpoint_id = ${id}`
  })

  it('a bulk resend that ends with a 409 after its first batch is in the audit log as interrupted, one that is refused at once is not', async () => {
    const { db } = app.ctx
    await missMany()
    const interrupted = await app.ctx.begin(async (tx) => {
      // The first batch waits for this row.
      await tx`
        insert into delivery_queue (delivery_id, event_id, endpoint_id, resend_at)
        select id, event_id, endpoint_id, now()
        from deliveries
        where endpoint_id = ${id}
        order by id
        limit 1
      `
      const resending = resend(ALL_TIME)
      await untilLockWaiters(db)
      await db`update webhook_endpoints set disabled_at = now() where id = ${id}`
      await tx`delete from delivery_queue where endpoint_id = ${id}`
      return { resending }
    })
    expect((await interrupted.resending).status).toBe(409)
    expect((await resend(ALL_TIME)).status).toBe(409)
    const { body } = await app.operator.get(`/operator/v1/audit?record=endpoint:${id}`)
    expect(body.data).toMatchObject([{ action: 'resendDeliveries', after: { interrupted: true } }])
    expect(await db`select from unfinished_audit_entries`).toHaveLength(0)
  })

  it('a bulk resend affects its endpoint only', async () => {
    const other = (await subscribe(seller, hook.url)).id
    const stranger = await app.seller()
    const theirs = (await subscribe(stranger, hook.url)).id
    await makeFail(2)
    hook.hide()
    await sendSampleEvent(app, stranger.accountId)
    await app.runDeliveries()
    hook.show()
    expect((await resend(ALL_TIME)).body.data.deliveries).toBe(2)
    await app.runDeliveries()
    expect(hook.arrived).toHaveLength(2)
    expect((await deliveriesOf()).map(({ status }: { status: string }) => status)).toEqual([
      'delivered',
      'delivered',
    ])
    for (const untouched of [other, theirs]) {
      for (const delivery of await deliveriesOf(untouched)) {
        expect(delivery).toMatchObject({ status: 'failed', attempts: { length: 1 } })
      }
    }
  })

  describe('the time range of a bulk resend', () => {
    /** Makes three deliveries fail, a minute apart; returns the times of their events, oldest first. */
    const threeMoments = async () => {
      for (let i = 0; i < 3; i++) {
        await makeFail(1)
        await advance(app.operator, 60)
      }
      return (await deliveriesOf())
        .map(({ created_at }: { created_at: string }) => created_at)
        .toReversed() as [string, string, string]
    }
    const second = (moment: string, by: number) =>
      new Date(Date.parse(moment) + by * 1000).toISOString().replace('.000', '')
    const count = async (from: string, to: string) =>
      (await resend({ from, to })).body.data?.deliveries

    it('the range of a bulk resend includes both ends, to the second', async () => {
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

    it('the range of a bulk resend can begin within the second of a delivery', async () => {
      await makeFail(1)
      const [delivery] = await app.ctx.db<{ createdAt: Date }[]>`
        update deliveries
        set created_at = date_trunc('second', created_at) + interval '700 ms'
        where endpoint_id = ${id}
        returning created_at as "createdAt"
      `
      const moment = (ms: number) => new Date(delivery!.createdAt.getTime() + ms).toISOString()
      expect(await count(moment(100), moment(1_000))).toBe(0)
      expect(await count(moment(-100), moment(-50))).toBe(1)
    })

    it('the range of a bulk resend accepts UTC offsets; a time without one is UTC', async () => {
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

    it('a date in the range of a bulk resend means its first second', async () => {
      const toMidnight = 86_400 - (Math.floor(app.ctx.now().getTime() / 1000) % 86_400)
      await advance(app.operator, toMidnight + 3_600)
      const today = app.ctx.now().toISOString().slice(0, 10)
      await makeFail(1)
      await advance(app.operator, 86_400)
      const tomorrow = app.ctx.now().toISOString().slice(0, 10)
      await makeFail(1)
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
    [{ from: '', to: '2026-03-01' }, { from: [invalidDate('from')] }],
    [{ from: '2026-02-30', to: '2026-03-01' }, { from: [invalidDate('from')] }],
    [{ from: '2026-03-01', to: 'tomorrow' }, { to: [invalidDate('to')] }],
    [
      { from: 'x', to: '2026-03-01T25:00:00Z' },
      { from: [invalidDate('from')], to: [invalidDate('to')] },
    ],
    [
      { from: '2026-03-01', to: '2026-03-01\0' },
      { to: ['The to field contains characters that cannot be stored.'] },
    ],
    [{ from: '2026-03-02', to: '2026-03-01' }, { to: [TO_BEFORE_FROM] }],
    [{ from: '2026-03-01T00:00:01Z', to: '2026-03-01' }, { to: [TO_BEFORE_FROM] }],
    [{ from: '2026-03-01T12:00:00Z', to: '2026-03-01T12:00:00+01:00' }, { to: [TO_BEFORE_FROM] }],
  ])('a bulk resend with the range %j gets a 422 on its fields', async (payload, fields) => {
    await makeFail(1)
    const { status, body } = await resend(payload)
    expect([status, body.error.type]).toEqual([422, 'validation_error'])
    expect(body.error.fields).toEqual(fields)
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
  })

  it('a bulk resend to a disabled endpoint gets a 409 and sends nothing, even later', async () => {
    await makeFail(10)
    const { status, body } = await resend(ALL_TIME)
    expect([status, body.error.type]).toEqual([409, 'conflict'])
    await enable()
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
    expect((await resend(ALL_TIME)).body.data.deliveries).toBe(10)
  })

  it('deleting an endpoint drops the rest of its bulk resend', async () => {
    await makeFail(3)
    await resend(ALL_TIME)
    await seller.delete(`/v1/webhooks/${id}`)
    await app.runDeliveries()
    expect(hook.arrived).toEqual([])
    for (const delivery of await deliveriesOf()) {
      expect(delivery).toMatchObject({
        status: 'failed',
        attempts: { length: 1 },
        next_attempt_at: null,
      })
    }
  })

  it('a bulk resend to another account’s or a deleted endpoint returns 404 before the body is validated', async () => {
    await makeFail(1)
    const stranger = await app.seller()
    for (const payload of [ALL_TIME, {}, { from: 'x' }]) {
      const { status, body } = await resend(payload, id, stranger.accountId)
      expect([status, body.error.type]).toEqual([404, 'not_found'])
    }
    await seller.delete(`/v1/webhooks/${id}`)
    expect((await resend(ALL_TIME)).status).toBe(404)
    expect((await resend({})).status).toBe(404)
  })

  it('a bulk resend with an unknown endpoint or account id returns 404', async () => {
    expect((await resend({}, UNKNOWN)).status).toBe(404)
    expect((await resend({}, id, UNKNOWN)).status).toBe(404)
  })

  it('a bulk resend checks the JSON, then the range, then the endpoint’s state', async () => {
    await makeFail(10)
    const headers = { 'content-type': 'application/json' }
    const broken = await app.operator.post(`${pathOf('x')}/resend`, { payload: '{', headers })
    expect([broken.status, Object.keys(broken.body.error.fields)]).toEqual([422, ['body']])
    expect((await resend({ from: 'x', to: 'y' })).status).toBe(422)
    expect((await resend({ from: '2026-03-02', to: '2026-03-01' })).status).toBe(422)
    expect((await resend(ALL_TIME)).status).toBe(409)
  })
})
