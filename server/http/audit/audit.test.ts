import { beforeAll, expect, it } from 'vitest'
import { recordInterrupted } from '../../audit/record.ts'
import { CarrierError } from '../../carriers/carrier.ts'
import { runSchedule } from '../../schedule.ts'
import { type Client, startTestApp, type TestApp } from '../../test/app.ts'
import { cardItem, changeAccount, list } from '../../test/fixtures/listings.ts'
import { act, buy, insertSlice, openShop, ship } from '../../test/fixtures/orders.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { whileReplaced } from '../../test/while-replaced.ts'

let app: TestApp
let shop: Awaited<ReturnType<typeof openShop>>
let support: Client & { id: number }
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture' })
  shop = await openShop(app)
  const payload = { name: 'Anna', role: 'support' }
  const { body } = await app.operator.post('/operator/v1/staff', { payload })
  support = { ...app.withKey(body.token), id: body.data.id }
})

const entries = async (filter: string) =>
  (await app.operator.get(`/operator/v1/audit?${filter}`)).body.data
const account = () => `/operator/v1/accounts/${shop.accountId}`

const PERIOD = { from: '2026-03-01T09:30:00Z', to: '2026-03-02' }

it('an entry has actor, role, action, record, the changed fields, request id and time', async () => {
  const [id] = await list(shop, cardItem())
  const { orderIds } = await buy(app, [[id!, 1]])
  const payload = { cancelled_by: 'buyer' }
  const { headers } = await support.post(`/operator/v1/orders/${orderIds[0]}/cancel`, { payload })
  const [entry, ...others] = await entries(`record=order:${orderIds[0]}`)
  expect(others).toEqual([])
  expect(entry).toEqual({
    id: expect.any(Number),
    actor: `staff:${support.id}`,
    actor_name: 'Anna',
    role: 'support',
    action: 'cancelOrder',
    record: `order:${orderIds[0]}`,
    before: { status: 'pending', cancelled_at: null, financial: expect.anything() },
    after: { status: 'cancelled', cancelled_at: expect.any(String), financial: expect.anything() },
    request_id: headers['x-request-id'],
    created_at: expect.any(String),
  })
  expect(await entries('actor=operator&action=createCheckout')).toMatchObject([
    { role: 'root', before: null, after: { slices: [{ order_ids: orderIds }] } },
  ])
})

it('the entries of a review name the review, and have its changes and the reason of its removal', async () => {
  const [id] = await list(shop, cardItem())
  const { orderIds } = await buy(app, [[id!, 1]])
  const [order] = orderIds as [number]
  await ship(shop, order, { tracking_code: 'CODE' })
  await act(app, order, 'receive')
  const review = (await act(app, order, 'review', { stars: 5 })).body.data
  const url = `/operator/v1/orders/${order}/review`
  await app.operator.patch(url, { payload: { stars: 4 } })
  const { status } = await support.delete(url, { payload: { reason: 'It has an address.' } })
  expect(status).toBe(204)
  expect(await entries(`record=review:${review.id}`)).toMatchObject([
    {
      action: 'removeReview',
      before: { removed: null },
      after: { removed: { reason: 'It has an address.' } },
    },
    { action: 'changeReview', before: { stars: 5 }, after: { stars: 4 } },
    { action: 'addReview', before: null, after: { id: review.id, stars: 5 } },
  ])
})

it('the entry of reported tracking has the fields that it changed', async () => {
  const [id] = await list(shop, cardItem())
  const { sliceKey } = await buy(app, [[id!, 1]])
  const payload = { tracking_code: '3SAB' }
  await app.operator.post(`/operator/v1/slices/${sliceKey}/tracking`, { payload })
  expect(await entries(`record=slice:${sliceKey}`)).toEqual([
    expect.objectContaining({
      before: { tracking_code: null, updated_at: null },
      after: { tracking_code: '3SAB', updated_at: expect.any(String) },
    }),
  ])
})

it('the entries of an invitation and of a removal name the member, and have the member’s data', async () => {
  const email = 'brock@shops.example'
  const { body } = await app.operator.post(`${account()}/invitations`, { payload: { email } })
  await app.operator.delete(`${account()}/members/${body.data.id}`)
  expect(await entries(`record=member:${body.data.id}`)).toMatchObject([
    { action: 'removeMember', before: { email, status: 'invited' }, after: null },
    { action: 'inviteMember', before: null, after: { email, status: 'invited' } },
  ])
})

it('a write that fails leaves no entry, and no effect', async () => {
  const { data: all, meta } = (await app.operator.get('/operator/v1/audit')).body
  expect((await app.operator.patch(account(), { payload: { slug: '' } })).status).toBe(422)
  expect((await support.patch(account(), { payload: { slug: 'mine' } })).status).toBe(403)
  expect((await app.operator.post('/operator/v1/orders/99/receive')).status).toBe(404)
  const payload = { lines: [{ listing_id: 999999, quantity: 1 }], address: null }
  const buyer = { name: 'Ash', email: 'ash@buyers.example' }
  const refused = await app.operator.post('/operator/v1/checkouts', {
    payload: { ...payload, buyer },
  })
  expect(refused.status).toBe(409)
  const after = (await app.operator.get('/operator/v1/audit')).body
  expect([after.meta.total, after.data[0].id]).toEqual([meta.total, all[0].id])
})

it('an entry that cannot be written rolls the change back', async () => {
  const { db } = app.ctx
  await db`alter table audit_entries add constraint refuses check (action <> 'changeAccount') not valid`
  const { body } = await app.operator.get(account())
  const changed = await app.operator.patch(account(), { payload: { rating: 1.5 } })
  expect(changed.status).toBe(500)
  await db`alter table audit_entries drop constraint refuses`
  expect((await app.operator.get(account())).body.data.rating).toBe(body.data.rating)
  expect((await app.operator.patch(account(), { payload: { rating: 4.5 } })).status).toBe(200)
  expect(await entries('action=changeAccount')).toMatchObject([
    { before: { rating: body.data.rating }, after: { rating: 4.5 } },
  ])
})

it('a large cart and its entry are one transaction', async () => {
  const { db } = app.ctx
  const ids = await list(shop, ...Array.from({ length: 21 }, () => cardItem()))
  await db`alter table audit_entries add constraint refuses check (action <> 'createCheckout') not valid`
  const lines = ids.map((id) => [id, 1] as [number, number])
  await expect(buy(app, lines)).rejects.toThrow()
  await db`alter table audit_entries drop constraint refuses`
  const { id } = await buy(app, lines)
  expect(await entries(`record=checkout:${id}`)).toHaveLength(1)
})

it('a write of several transactions that ended without an entry has one an hour later', async () => {
  const { db } = app.ctx
  const advance = () =>
    app.operator.post('/operator/v1/sandbox/clock', { payload: { advance_seconds: 60 } })
  const left = () => db`select action, begun_at from unfinished_audit_entries`
  expect((await advance()).status).toBe(200)
  expect(await left()).toEqual([])
  const before = (await entries('action=advanceClock')).length
  await db`alter table audit_entries add constraint refuses check (action <> 'advanceClock') not valid`
  expect((await advance()).status).toBe(500)
  await db`alter table audit_entries drop constraint refuses`
  await db`alter table clock add constraint refuses check (false) not valid`
  expect((await advance()).status).toBe(500)
  await db`alter table clock drop constraint refuses`
  await runSchedule(app.ctx)
  expect(await left()).toMatchObject([{ action: 'advanceClock' }, { action: 'advanceClock' }])
  await db`update unfinished_audit_entries set begun_at = begun_at - interval '61 minutes'`
  await runSchedule(app.ctx)
  expect(await left()).toEqual([])
  const all = await entries('action=advanceClock')
  expect(all).toHaveLength(before + 2)
  expect(all[0]).toMatchObject({ actor: 'operator', role: 'root', after: { interrupted: true } })
})

/** Closes a seller's account, and does something while the removal of its listing waits for a lock. */
async function closeDuring(work: (accountId: number) => Promise<unknown>) {
  const { accountId, ...seller } = await app.seller()
  const [id] = await list(seller, cardItem())
  const { closing } = await app.ctx.begin(async (db) => {
    await db`select from listings where id = ${id!} for update`
    const closing = app.operator.post(`/operator/v1/accounts/${accountId}/close`)
    await untilLockWaiters(app.ctx.db)
    await work(accountId)
    return { closing }
  })
  return { accountId, status: (await closing).status }
}

it('an action that still runs after an hour has one entry, which its end writes', async () => {
  const { accountId, status } = await closeDuring(async () => {
    await app.ctx.db`
      update unfinished_audit_entries set begun_at = begun_at - interval '61 minutes'
    `
    await recordInterrupted(app.ctx)
  })
  expect(status).toBe(200)
  expect(await entries(`record=account:${accountId}`)).toMatchObject([
    { action: 'closeAccount', after: { api_access: 'disabled' } },
  ])
})

it('the closing of an account that is opened again meanwhile ends, and is recorded as interrupted', async () => {
  const { accountId, status } = await closeDuring((accountId) =>
    changeAccount(app, accountId, { api_access: 'enabled' }),
  )
  expect(status).toBe(409)
  expect(await entries(`record=account:${accountId}`)).toMatchObject([
    { action: 'closeAccount', after: { interrupted: true } },
    { action: 'changeAccount', after: { api_access: 'enabled', closed_at: null } },
  ])
})

it.each([
  ['refused by the carrier leaves no entry', 'refused', []],
  [
    'in doubt has an entry at once, as interrupted',
    'unknown',
    [{ action: 'POST /dashboard/api/orders/:order/label', after: { interrupted: true } }],
  ],
] as const)('the purchase of a label that is %s', async (_, outcome, expected) => {
  const member = await app.member(shop.accountId)
  const { orderIds } = await insertSlice(app.ctx.db, shop.accountId)
  const carrier = {
    ...app.ctx.carrier!,
    buy: () => Promise.reject(new CarrierError(outcome, 'The carrier failed.')),
  }
  const { status } = await whileReplaced(app.ctx, { carrier }, () =>
    member.post(`/dashboard/api/orders/${orderIds[0]}/label`),
  )
  expect(status).toBe(502)
  const isMatch = (entry: { record: string }) => entry.record === `order:${orderIds[0]}`
  const recorded = (await entries(`actor=member:${member.memberId}`)).filter(isMatch)
  expect(recorded).toHaveLength(expected.length)
  expect(recorded).toMatchObject(expected)
  const notes = await app.ctx
    .db`select from unfinished_audit_entries where actor = ${`member:${member.memberId}`}`
  expect(notes).toHaveLength(0)
})

it('a browser gets the page of the error that refuses the purchase of a label', async () => {
  const member = await app.member(shop.accountId)
  const { orderIds } = await insertSlice(app.ctx.db, shop.accountId)
  const carrier = {
    ...app.ctx.carrier!,
    buy: () => Promise.reject(new CarrierError('refused', 'The carrier failed.')),
  }
  const { status, headers } = await whileReplaced(app.ctx, { carrier }, () =>
    member.post(`/dashboard/api/orders/${orderIds[0]}/label`, { headers: { accept: 'text/html' } }),
  )
  expect(status).toBe(502)
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
})

it('a request that is repeated with its Idempotency-Key has one entry', async () => {
  const [id] = await list(shop, cardItem())
  const headers = { 'idempotency-key': 'once' }
  const payload = { listing_id: id, quantity: 1, cart_id: 'audited' }
  const reserve = () => app.operator.post('/operator/v1/reservations', { payload, headers })
  const { body } = await reserve()
  expect((await reserve()).body).toEqual(body)
  expect(await entries('action=createReservation')).toMatchObject([
    { record: `reservation:${body.data.id}` },
  ])
})

it('the entries of a reservation have the reservation without the cart, whose id can name its buyer', async () => {
  const [id] = await list(shop, cardItem())
  const payload = { listing_id: id, quantity: 1, cart_id: 'ash@buyers.example' }
  const { body } = await app.operator.post('/operator/v1/reservations', { payload })
  await app.operator.delete(`/operator/v1/reservations/${body.data.id}`)
  const recorded = await entries(`record=reservation:${body.data.id}`)
  expect(recorded).toMatchObject([
    { action: 'deleteReservation', before: { listing_id: id, quantity: 1 }, after: null },
    { action: 'createReservation', before: null, after: { listing_id: id, quantity: 1 } },
  ])
  expect(JSON.stringify(recorded)).not.toContain('ash@')
})

it('concurrent checkouts share transactions, and each has an entry', async () => {
  const [id] = await list(shop, cardItem({ quantity: 9 }))
  const ids = (await Promise.all([1, 2, 3, 4].map(() => buy(app, [[id!, 1]])))).map(({ id }) => id)
  const recorded = await entries('action=createCheckout&per_page=100')
  for (const id of ids) {
    expect(
      recorded.filter(({ record }: { record: string }) => record === `checkout:${id}`),
    ).toHaveLength(1)
  }
})

it('the entry of a write in the dashboard has its effect, also if its path names no record', async () => {
  const member = await app.member(shop.accountId)
  const { body } = await member.post('/dashboard/api/listings', {
    payload: { items: [cardItem()] },
  })
  const { listing } = body.results[0]
  const bulk = { ids: [listing.id], action: 'status', status: 'hidden' }
  expect((await member.post('/dashboard/api/listings/bulk', { payload: bulk })).status).toBe(200)
  await member.put('/dashboard/api/settings/holiday', { payload: { on: true } })
  await member.patch('/dashboard/api/settings/shop', { payload: { time_zone: 'Europe/Berlin' } })
  await member.put('/dashboard/api/settings/holiday', { payload: { on: false } })
  await member.post('/dashboard/api/orders/labels', { payload: { orders: [900_000] } })
  const all = await entries(`actor=member:${member.memberId}`)
  expect(all.map(({ record }: { record: string }) => record)).toEqual(
    Array(6).fill(`account:${shop.accountId}`),
  )
  expect(all).toMatchObject([
    { action: 'POST /dashboard/api/orders/labels', after: { data: [{ order: 900_000 }] } },
    { before: { on_holiday: true }, after: { on_holiday: false } },
    { after: { time_zone: 'Europe/Berlin' } },
    { before: { on_holiday: false }, after: { on_holiday: true } },
    { action: 'POST /dashboard/api/listings/bulk', after: { changed: 1, failed: 0 } },
    { action: 'POST /dashboard/api/listings', after: { results: [{ listing }], created: 1 } },
  ])
})

it('the entry of a bulk edit has what was asked for: the action with its value, and the search or the first 100 ids', async () => {
  const member = await app.member(shop.accountId)
  const ids = Array.from({ length: 101 }, (_, i) => 900_000 + i)
  const search = { q: 'charizard', status: 'active' }
  const edits = [
    { search, before: null, action: 'price', percent: -10 },
    { ids, action: 'delete' },
    { ids: [900_000], action: 'status', status: 'hidden' },
  ]
  for (const payload of edits) {
    const sent = { ...payload, note: 'unknown' }
    const { status } = await member.post('/dashboard/api/listings/bulk', { payload: sent })
    expect(status).toBe(200)
  }
  const all = await entries(`actor=member:${member.memberId}`)
  expect(all.map(({ after }: { after: { request: object } }) => after.request)).toEqual([
    edits[2],
    { ...edits[1], ids: ids.slice(0, 100) },
    edits[0],
  ])
  expect(all[1]).toMatchObject({ after: { changed: 0, failed: 101 } })
})

it.each([
  [
    'the operator',
    (endpoint: number) =>
      app.operator.post(`${account()}/webhooks/${endpoint}/resend`, { payload: PERIOD }),
  ],
  [
    'a member',
    async (endpoint: number) => {
      const member = await app.member(shop.accountId)
      return member.post(`/dashboard/api/webhooks/${endpoint}/resend`, { payload: PERIOD })
    },
  ],
] as const)(
  'the entry of a resend by %s has its period and the number of deliveries',
  async (_, resend) => {
    const payload = { url: 'https://receiver.example/audited', events: ['order.created'] }
    const { id } = (await shop.post('/v1/webhooks', { payload })).body.data
    expect((await resend(id)).status).toBe(202)
    expect((await entries(`record=endpoint:${id}`))[0]).toMatchObject({
      before: {},
      after: { request: PERIOD, deliveries: 0 },
    })
  },
)

it('the log says that the operator has set or removed a password', async () => {
  for (const [password, isSet] of [
    ['starmie-starmie', true],
    [null, false],
  ] as const) {
    await app.operator.patch(account(), { payload: { password } })
    expect((await entries(`record=account:${shop.accountId}`))[0]).toMatchObject({
      action: 'changeAccount',
      before: {},
      after: { password_set: isSet },
    })
  }
})

it('the log holds no secret, whatever is created or changed', async () => {
  const secrets: string[] = ['a-password-of-the-owner', 'NL02ABNA0123456789', 'user:hush@']
  const post = async (client: Client, url: string, payload?: object) => {
    const { status, body, text } = await client.post(url, { payload })
    expect(status, text).toBeLessThan(300)
    secrets.push(body.key ?? body.token ?? body.secret ?? secrets[0])
    return body.data
  }
  await app.operator.patch(account(), { payload: { password: secrets[0] } })
  await post(app.operator, `${account()}/keys`, { scopes: ['orders:read'] })
  await post(app.operator, '/operator/v1/staff', { name: 'Ben', role: 'finance' })
  const member = await app.member(shop.accountId)
  const key = await post(member, '/dashboard/api/keys', { scopes: ['orders:read'], name: 'Till' })
  await post(member, `/dashboard/api/keys/${key.id}/rotate`)
  const endpoint = { url: 'https://user:hush@shop.example/hook', events: ['order.created'] }
  await post(member, '/dashboard/api/webhooks', endpoint)
  const { orderIds } = await insertSlice(app.ctx.db, shop.accountId)
  const [{ label }] = await post(member, '/dashboard/api/orders/labels', { orders: orderIds })
  expect(label.label_url).toContain('/labels/')
  secrets.push(label.label_url)
  const setup = { holder: 'Misty', iban: secrets[1]! }
  expect((await member.put('/dashboard/api/payouts/setup', { payload: setup })).status).toBe(200)
  const { text } = await app.operator.get('/operator/v1/audit?per_page=100')
  for (const secret of secrets) expect(text).not.toContain(secret)
  expect(await entries(`actor=member:${member.memberId}`)).toMatchObject([
    {
      role: 'seller',
      record: `account:${shop.accountId}`,
      after: { payout_setup: { iban_last4: '6789' } },
    },
    { action: 'POST /dashboard/api/orders/labels', after: { data: [{ order: orderIds[0] }] } },
    { record: expect.stringMatching(/^endpoint:/), after: { url: 'https://shop.example/hook' } },
    { record: `key:${key.id}`, action: 'POST /dashboard/api/keys/:key/rotate' },
    { record: `key:${key.id}`, actor_name: member.email, after: { name: 'Till' } },
  ])
})

it.each([
  'https://ash:pa@hush@shop.example/hook',
  'https:ash:hush@shop.example/hook',
  ' https:\\\\ash:hush@shop.example/hook',
  'HTTPS:///ash ketchum:hush@shop.example/hook',
])('the entry of the endpoint %j has neither its user nor its password', async (url) => {
  const member = await app.member(shop.accountId)
  const payload = { url, events: ['order.created'] }
  const { body } = await member.post('/dashboard/api/webhooks', { payload })
  expect(body.data.url).toBe(url)
  const [{ after }] = await entries(`record=endpoint:${body.data.id}`)
  expect(new URL(after.url).href).toBe('https://shop.example/hook')
})

it('entries never change, and only the job deletes them, after AUDIT_RETENTION_DAYS', async () => {
  const { db } = app.ctx
  await expect(db`update audit_entries set actor = 'nobody'`).rejects.toThrow('never change')
  await expect(db`delete from audit_entries`).rejects.toThrow('never change')
  await expect(db`truncate audit_entries`).rejects.toThrow('never change')
  const { meta } = (await app.operator.get('/operator/v1/audit')).body
  await runSchedule(app.ctx)
  expect((await app.operator.get('/operator/v1/audit')).body.meta.total).toBe(meta.total)
  const clock = '/operator/v1/sandbox/clock'
  await app.operator.post(clock, { payload: { advance_seconds: 731 * 24 * 3600 } })
  await runSchedule(app.ctx)
  const left = (await app.operator.get('/operator/v1/audit')).body.data
  expect(left.map(({ action }: { action: string }) => action)).toEqual(['advanceClock'])
})

it('a change to a text that looks like an escape sequence is recorded as it is', async () => {
  const shop_name = 'Cards \\u0000'
  const { status } = await app.operator.patch(account(), { payload: { shop_name } })
  expect(status).toBe(200)
  expect((await entries('action=changeAccount'))[0].after).toEqual({ shop_name })
})
