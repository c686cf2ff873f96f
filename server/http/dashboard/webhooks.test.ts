import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { WEBHOOK_EVENTS } from '../../enums.ts'
import { type SignedInClient, startTestApp, type TestApp } from '../../test/app.ts'
import { isSignedWith, type Receiver, startReceiver } from '../../test/fakes/receiver.ts'
import { NO_LIMITS } from '../../test/fixtures/listings.ts'
import { DISABLED_AFTER } from '../../webhooks/endpoint.ts'

const PATH = '/dashboard/api/webhooks'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: { ...NO_LIMITS, WEBHOOK_ALLOW_PRIVATE: 'true' } })
})

type Endpoint = { id: number; secret: string; receiver: Receiver }

async function addEndpoint(member: SignedInClient): Promise<Endpoint> {
  const receiver = await startReceiver()
  const { status, body } = await member.post(PATH, {
    payload: { url: receiver.url, events: ['order.created'] },
  })
  expect(status).toBe(201)
  return { id: body.data.id, secret: body.secret, receiver }
}

const sendTest = (member: SignedInClient, { id }: Endpoint) =>
  member.post(`${PATH}/${id}/test`, { payload: { event: 'order.created' } })

/** Fails deliveries until the endpoint is disabled: the receiver refuses the last attempt of each. */
async function disable(member: SignedInClient, endpoint: Endpoint) {
  endpoint.receiver.respondWith(500)
  for (let i = 0; i < DISABLED_AFTER; i++) await sendTest(member, endpoint)
  await app.ctx.db`
    update delivery_queue
    set tries = 4, first_attempt_at = next_attempt_at - interval '6 hours'
    where endpoint_id = ${endpoint.id}
  `
  await app.runDeliveries()
}

const noticesOf = async (member: SignedInClient) =>
  (await member.get('/dashboard/api/notices')).body.data

describe('webhooks in the dashboard', () => {
  it('a repeated registration and rotation have their first secrets', async () => {
    const member = await app.member()
    const { url } = await startReceiver()
    const headers = { 'idempotency-key': 'one dialog' }
    const payload = { url, events: ['order.created'] }
    const added = await member.post(PATH, { payload, headers })
    expect((await member.post(PATH, { payload, headers })).body).toEqual(added.body)
    expect((await member.get(PATH)).body.data).toHaveLength(1)
    const rotation = `${PATH}/${added.body.data.id}/rotate-secret`
    const rotated = await member.post(rotation, { headers })
    expect(rotated.body.secret).not.toBe(added.body.secret)
    expect((await member.post(rotation, { headers })).body).toEqual(rotated.body)
  })

  it('a test event reaches the endpoint that was chosen and no other, signed, about an order that does not exist', async () => {
    const member = await app.member()
    const chosen = await addEndpoint(member)
    const other = await addEndpoint(member)
    for (const event of WEBHOOK_EVENTS) {
      const { status } = await member.post(`${PATH}/${chosen.id}/test`, { payload: { event } })
      expect(status).toBe(202)
    }
    await app.runDeliveries()
    expect(other.receiver.arrived).toEqual([])
    const { arrived } = chosen.receiver
    expect(arrived.map(({ json }) => json.event).sort()).toEqual([...WEBHOOK_EVENTS].sort())
    for (const delivery of arrived) {
      expect(isSignedWith(chosen.secret, delivery)).toBe(true)
      const { id, order_id: orderId } = delivery.json.data
      expect(id ?? orderId).toBe(0)
    }
  })

  it('a disabled endpoint shows its reason and a notice; enabling it withdraws the notice, and the missed deliveries arrive', async () => {
    const member = await app.member()
    const endpoint = await addEndpoint(member)
    await disable(member, endpoint)
    const [seen] = (await member.get(PATH)).body.data
    expect(seen).toMatchObject({
      active: false,
      consecutive_failures: DISABLED_AFTER,
      failure_reason: expect.stringContaining('500'),
    })
    expect(await noticesOf(member)).toMatchObject([
      {
        kind: 'endpoint_disabled',
        subject_id: endpoint.id,
        data: { url: endpoint.receiver.url, reason: seen.failure_reason },
      },
    ])
    expect((await sendTest(member, endpoint)).status).toBe(409)

    endpoint.receiver.respondWith(204)
    const enabled = await member.post(`${PATH}/${endpoint.id}/enable`)
    expect(enabled.body.data).toMatchObject({ active: true, consecutive_failures: 0 })
    expect(await noticesOf(member)).toEqual([])
    const { body } = await member.post(`${PATH}/${endpoint.id}/resend`, {
      payload: { from: '2020-01-01', to: '2100-01-01' },
    })
    expect(body.data.deliveries).toBe(DISABLED_AFTER)
    endpoint.receiver.arrived.length = 0
    await app.runDeliveries()
    expect(endpoint.receiver.arrived.length).toBe(DISABLED_AFTER)
  })

  it('a date in a filter of deliveries or a period to resend is a whole day of the shop’s time zone', async () => {
    const member = await app.member()
    const endpoint = await addEndpoint(member)
    await disable(member, endpoint)
    await member.post(`${PATH}/${endpoint.id}/enable`)
    const { db } = app.ctx
    const moment = app.ctx.now()
    // Tomorrow at 23:30 in UTC, after all other events, which is the next day in Auckland.
    moment.setUTCHours(24 + 23, 30, 0, 0)
    await db`update deliveries set created_at = ${moment} where endpoint_id = ${endpoint.id}`
    const dayOf = (days: number) =>
      new Date(moment.getTime() + days * 86_400_000).toISOString().slice(0, 10)
    const found = async (from: string, to: string) =>
      (await member.get(`${PATH}/deliveries?from=${from}&to=${to}`)).body.meta.total
    const resent = async (from: string, to: string) => {
      const { body } = await member.post(`${PATH}/${endpoint.id}/resend`, { payload: { from, to } })
      return body.data.deliveries
    }
    for (const [zone, days] of [
      ['UTC', 0],
      ['Pacific/Auckland', 1],
    ] as const) {
      await db`update accounts set time_zone = ${zone} where id = ${member.accountId}`
      for (const other of [-1, 1]) {
        expect(await found(dayOf(days + other), dayOf(days + other)), zone).toBe(0)
        expect(await resent(dayOf(days + other), dayOf(days + other)), zone).toBe(0)
      }
      expect(await found(dayOf(days), dayOf(days)), zone).toBe(DISABLED_AFTER)
      expect(await resent(dayOf(days), dayOf(days)), zone).toBe(DISABLED_AFTER)
    }
    const exact = moment.toISOString()
    expect(await found(exact, exact)).toBe(DISABLED_AFTER)
  })

  it('a member of another shop finds no endpoint, delivery or notice', async () => {
    const member = await app.member()
    const endpoint = await addEndpoint(member)
    await disable(member, endpoint)
    const [delivery] = (await member.get(`${PATH}/deliveries`)).body.data
    const [notice] = await noticesOf(member)
    const stranger = await app.member()
    expect((await stranger.get(PATH)).body.data).toEqual([])
    expect((await stranger.get(`${PATH}/deliveries`)).body.data).toEqual([])
    const own = `${PATH}/deliveries?endpoint_id=${endpoint.id}`
    expect((await stranger.get(own)).body.data).toEqual([])
    expect(await noticesOf(stranger)).toEqual([])
    const period = { payload: { from: '2020-01-01', to: '2100-01-01' } }
    const event = { payload: { event: 'order.created' } }
    for (const refused of [
      stranger.delete(`${PATH}/${endpoint.id}`),
      stranger.post(`${PATH}/${endpoint.id}/enable`),
      stranger.post(`${PATH}/${endpoint.id}/rotate-secret`),
      stranger.post(`${PATH}/${endpoint.id}/test`, event),
      stranger.post(`${PATH}/${endpoint.id}/resend`, period),
      stranger.get(`${PATH}/deliveries/${delivery.id}`),
      stranger.post(`${PATH}/deliveries/${delivery.id}/resend`),
      stranger.delete(`/dashboard/api/notices/${notice.id}`),
    ]) {
      expect((await refused).status).toBe(404)
    }
    expect(await noticesOf(member)).toHaveLength(1)
  })

  it('a dismissed notice stays away until it happens again, and repetitions are one notice with a count', async () => {
    const seller = await app.seller()
    const member = await app.member(seller.accountId)
    const rotate = () =>
      app.operator.post(`/operator/v1/accounts/${seller.accountId}/keys/${seller.keyId}/rotate`)
    expect((await rotate()).status).toBeLessThan(300)
    await rotate()
    const [notice] = await noticesOf(member)
    expect(notice).toMatchObject({ kind: 'key_rotated', subject_id: seller.keyId, count: 2 })
    expect((await member.delete(`/dashboard/api/notices/${notice.id}`)).status).toBe(204)
    expect(await noticesOf(member)).toEqual([])
    await rotate()
    expect(await noticesOf(member)).toMatchObject([{ kind: 'key_rotated', count: 1 }])
  })

  it('dismissing a notice that has happened again since it was listed keeps the later one', async () => {
    const seller = await app.seller()
    const member = await app.member(seller.accountId)
    const rotate = () =>
      app.operator.post(`/operator/v1/accounts/${seller.accountId}/keys/${seller.keyId}/rotate`)
    await rotate()
    const [listed] = await noticesOf(member)
    await rotate()
    expect((await member.delete(`/dashboard/api/notices/${listed.id}`)).status).toBe(404)
    const [later] = await noticesOf(member)
    expect(later).toMatchObject({ kind: 'key_rotated', count: 2 })
    expect((await member.delete(`/dashboard/api/notices/${later.id}`)).status).toBe(204)
  })

  it('the notice of a rotated key ends when the key is revoked, because its former secret works no longer', async () => {
    const seller = await app.seller()
    const member = await app.member(seller.accountId)
    const key = `/operator/v1/accounts/${seller.accountId}/keys/${seller.keyId}`
    await app.operator.post(`${key}/rotate`)
    expect(await noticesOf(member)).toHaveLength(1)
    await app.operator.delete(key)
    expect(await noticesOf(member)).toEqual([])
  })
})

describe('the signature checker', () => {
  const secret = 'svc_whsec_0123456789abcdefghijABCDEFGHIJ0123456789'
  const body = '{"event":"order.created","data":{"price":4.5}}'
  const timestamp = () => Math.floor(app.ctx.now().getTime() / 1000)
  const sign = (seconds: number, text = body) =>
    createHmac('sha256', secret).update(`${seconds}.${text}`).digest('hex')
  const check = async (changes: object) => {
    const member = await app.member()
    const seconds = timestamp()
    const payload = { body, timestamp: `${seconds}`, signature: sign(seconds), secret, ...changes }
    return (await member.post(`${PATH}/signature`, { payload })).body.data
  }

  it('the signature checker accepts a correct signature, and says when its timestamp is old', async () => {
    expect(await check({})).toEqual({ valid: true, findings: [] })
    const old = timestamp() - 1_000
    const { valid, findings } = await check({ timestamp: `${old}`, signature: sign(old) })
    expect(valid).toBe(true)
    expect(findings.join()).toContain('seconds old')
  })

  it('the signature checker names the usual mistake behind a wrong signature', async () => {
    for (const [changes, finding] of [
      [{ body: `${body}\n` }, 'white space'],
      [{ body: JSON.stringify(JSON.parse(body), null, 2) }, 'formatted again'],
      [{ secret: secret.replace('svc_whsec_', '') }, 'including svc_whsec_'],
      [{ secret: secret.replace('0', '1') }, 'compare the secret'],
      [{ timestamp: '2026-03-01' }, 'Unix seconds'],
      [{ signature: 'abc' }, '64 hexadecimal digits'],
      [{ body: '' }, 'body is complete'],
    ] as const) {
      const { valid, findings } = await check(changes)
      expect(valid).toBe(false)
      expect(findings.join(' ')).toContain(finding)
    }
  })
})
