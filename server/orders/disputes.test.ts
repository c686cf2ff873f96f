import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, cancel, openShop, rowOf, sellEach, ship } from '../test/fixtures/orders.ts'

let app: TestApp
let other: TestApp
let shop: Awaited<ReturnType<typeof openShop>>
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
  shop = await openShop(app)
})

/** A disputed row of 10 euros. */
async function disputed(report: object = {}): Promise<number> {
  const [order] = (await sellEach(app, shop, cardItem({ price: 10 }))) as [number]
  await ship(shop, order, { tracking_code: 'CODE' })
  expect((await act(app, order, 'dispute', report)).status).toBe(200)
  return order
}

const answer = (order: number, payload: object = { message: 'It was fine.' }, client = shop) =>
  client.post(`/tools/v1/orders/${order}/dispute/answer`, { payload })
const disputesOf = async (order: number) =>
  (await shop.get(`/tools/v1/disputes?order_id=${order}`)).body.data
const lastMails = async (count: number) => {
  const { body } = await app.operator.get(`/operator/v1/sandbox/mail?per_page=${count}`)
  return body.data as { to: string; subject: string; text: string }[]
}

it('a dispute waits five days for the seller’s answer, then for the operator, who can end it with a partial refund', async () => {
  const order = await disputed({ reason: 'damaged', message: 'The corner is bent.' })
  const [opened] = await disputesOf(order)
  expect(opened).toMatchObject({
    order_id: order,
    state: 'open',
    reason: 'damaged',
    message: 'The corner is bent.',
    answer: null,
    resolution: null,
  })
  expect(Date.parse(opened.answer_by) - Date.parse(opened.opened_at)).toBe(5 * 24 * 3600 * 1000)
  const [mail] = await lastMails(1)
  expect(mail!.text).toMatch(/damaged.*The corner is bent\..*answer by.*dashboard\/orders\//s)
  const member = await app.member(shop.accountId)
  const overview = (await member.get('/dashboard/api/overview')).body.data
  expect(overview.to_answer).toEqual({ disputes: 1, answer_by: opened.answer_by, order })

  const stranger = await openShop(app)
  expect((await stranger.get(`/tools/v1/disputes`)).body.data).toEqual([])
  expect((await answer(order, { message: 'Not mine' }, stranger)).status).toBe(404)
  expect((await answer(order, {})).status).toBe(422)
  for (const url of ['javascript:alert(1)', 'http://127.0.0.1/1.jpg', 'file:///etc/passwd']) {
    const refused = await answer(order, { message: 'Look', photo_urls: [url] })
    expect(Object.keys(refused.body.error.fields), url).toEqual(['photo_urls.0'])
  }
  const photo_urls = ['https://photos.example/corner.jpg']
  const { body } = await answer(order, { message: 'It was straight.', photo_urls })
  expect(body.data).toMatchObject({
    state: 'answered',
    answer: { message: 'It was straight.', photo_urls },
  })
  expect((await lastMails(2)).map(({ to, text }) => [to, text.includes('straight')])).toEqual([
    [expect.stringMatching(/^seller-/), true],
    [expect.stringMatching(/^misty@/), true],
  ])
  expect((await answer(order)).status).toBe(409)

  const states = async (state: string) => {
    const path = `/operator/v1/disputes?account_id=${shop.accountId}&state=${state}`
    return (await app.operator.get(path)).body.data.map((one: { id: number }) => one.id)
  }
  expect(await states('answered')).toEqual([opened.id])
  expect(await states('open')).toEqual([])
  expect((await act(app, order, 'resolve', {})).status).toBe(422)
  expect((await act(app, order, 'resolve', { refund: 10.01 })).status).toBe(422)
  expect((await rowOf(shop, order)).status).toBe('disputed')
  const resolved = await act(app, order, 'resolve', { refund: 2.5 })
  expect(resolved.body.data).toMatchObject({
    status: 'received',
    financial: { refunded_amount: 2.5 },
  })
  expect((await disputesOf(order))[0]).toMatchObject({
    state: 'resolved',
    resolution: 'seller',
    refund: 2.5,
  })
  expect((await lastMails(2)).map(({ text }) => text.includes('2.50 EUR'))).toEqual([true, true])
  const path = `/operator/v1/ledger?account_id=${shop.accountId}&kind=refund`
  expect((await app.operator.get(path)).body.data).toMatchObject([
    { account: `seller:${shop.accountId}`, amount: -2.5 },
    { account: 'refunds', amount: 2.5 },
  ])
  expect((await answer(order)).status).toBe(409)
})

it('a row can be disputed again, and a cancellation ends its dispute in the buyer’s favour', async () => {
  const order = await disputed()
  await act(app, order, 'resolve', { in_favour_of: 'seller' })
  await act(app, order, 'dispute', { reason: 'not_received' })
  await cancel(app, order)
  expect(await disputesOf(order)).toMatchObject([
    { state: 'resolved', reason: 'not_received', resolution: 'buyer', refund: 10 },
    { state: 'resolved', reason: 'other', resolution: 'seller', refund: 0 },
  ])
})

it('an answer or a decision that names its dispute has no effect on a later one of the row', async () => {
  const order = await disputed()
  const [first] = await disputesOf(order)
  const late = { dispute_id: first.id }
  expect((await act(app, order, 'resolve', { in_favour_of: 'seller', ...late })).status).toBe(200)
  await act(app, order, 'dispute', { reason: 'not_received' })
  const member = await app.member(shop.accountId)
  const path = `/dashboard/api/orders/${order}/dispute/answer`
  for (const refused of [
    await act(app, order, 'resolve', { refund: 5, ...late }),
    await act(app, order, 'resolve', { in_favour_of: 'buyer', ...late }),
    await answer(order, { message: 'It was fine.', ...late }),
    await member.post(path, { payload: { message: 'It was fine.', ...late } }),
  ]) {
    expect(refused.status).toBe(409)
    expect(refused.body.error.message).toContain('another dispute')
  }
  const [second] = await disputesOf(order)
  expect(second).toMatchObject({ state: 'open', reason: 'not_received' })
  expect((await rowOf(shop, order)).financial.refunded_amount).toBe(0)
  const present = { dispute_id: second.id }
  expect((await answer(order, { message: 'It arrived.', ...present })).status).toBe(200)
  expect((await act(app, order, 'resolve', { refund: 5, ...present })).status).toBe(200)
})

it('a report that is repeated with its Idempotency-Key after the decision opens no second dispute', async () => {
  const [order] = (await sellEach(app, shop, cardItem({ price: 10 }))) as [number]
  await ship(shop, order, { tracking_code: 'CODE' })
  const report = () =>
    app.operator.post(`/operator/v1/orders/${order}/dispute`, {
      payload: { reason: 'damaged' },
      headers: { 'idempotency-key': `report ${order}` },
    })
  const first = await report()
  await act(app, order, 'resolve', { in_favour_of: 'seller' })
  expect((await report()).body).toEqual(first.body)
  expect(await disputesOf(order)).toMatchObject([{ state: 'resolved', reason: 'damaged' }])
})

it('a cancellation, a receipt and a decision that are repeated with their Idempotency-Key get their first response', async () => {
  const payloads = {
    cancel: { cancelled_by: 'admin' },
    receive: undefined,
    resolve: { refund: 2.5 },
  }
  for (const [action, payload] of Object.entries(payloads)) {
    const [order] = (await sellEach(app, shop, cardItem({ price: 10 }))) as [number]
    await ship(shop, order, { tracking_code: 'CODE' })
    if (action === 'resolve') await act(app, order, 'dispute')
    const send = () =>
      app.operator.post(`/operator/v1/orders/${order}/${action}`, {
        payload,
        headers: { 'idempotency-key': `${action} ${order}` },
      })
    const first = await send()
    expect([action, first.status]).toEqual([action, 200])
    const second = await send()
    expect([action, second.status, second.body]).toEqual([action, 200, first.body])
    expect((await act(app, order, action as 'cancel', payload)).status).toBe(409)
  }
})

it('the e-mail about a dispute says that only a payout that was not sent is on hold', async () => {
  await disputed()
  expect((await lastMails(1))[0]!.text).toMatch(/If we have not sent your payout .* it is on hold/)
})

it('a refund above the price is refused even if it would round down to the price', async () => {
  const order = await disputed()
  const refund = (amount: number) =>
    app.operator.post(`/operator/v1/orders/${order}/refund`, {
      payload: { amount, reason: 'Bent' },
    })
  const { status, body } = await refund(10.004)
  expect(status).toBe(422)
  expect(body.error.fields).toHaveProperty('amount')
  const resolved = await act(app, order, 'resolve', { refund: 10.004 })
  expect(resolved.body.error.fields).toHaveProperty('refund')
  expect((await refund(4.35)).body.data.financial.refunded_amount).toBe(4.35)
  expect((await act(app, order, 'resolve', { refund: 5.651 })).status).toBe(422)
  const rest = await act(app, order, 'resolve', { refund: 5.65 })
  expect(rest.body.data.financial.refunded_amount).toBe(10)
})

it('a reason or message of blanks is refused, because people read it', async () => {
  const order = await disputed()
  const path = `/operator/v1/orders/${order}`
  const payload = { amount: 1, reason: ' \n\t' }
  const { status, body } = await app.operator.post(`${path}/refund`, { payload })
  expect(status).toBe(422)
  expect(body.error.fields).toEqual({ reason: ['The reason field must not be empty.'] })
  expect((await act(app, order, 'dispute', { message: ' ' })).status).toBe(422)
  expect((await answer(order, { message: ' ' })).status).toBe(422)
  expect((await act(app, order, 'review', { stars: 5, text: ' ' })).status).toBe(422)
})

it('a resolution ends a dispute, and at most one concurrent answer is recorded, on two services', async () => {
  const orders = await Promise.all(Array.from({ length: 4 }, () => disputed()))
  const elsewhere = other.withKey(shop.key)
  await Promise.all(
    orders.map(async (order, i) => {
      const resolution = i % 2 ? { in_favour_of: 'buyer' } : { refund: 1 }
      const [first, second, resolved] = await Promise.all([
        answer(order),
        answer(order, { message: 'Twice' }, elsewhere as typeof shop),
        act(other, order, 'resolve', resolution),
      ])
      expect(resolved.status).toBe(200)
      const accepted = [first, second].filter(({ status }) => status === 200)
      expect([first.status, second.status].filter((status) => status === 409)).toHaveLength(
        2 - accepted.length,
      )
      expect(accepted.length).toBeLessThanOrEqual(1)
      const [dispute] = await disputesOf(order)
      expect(dispute.state).toBe('resolved')
      expect(dispute.answer?.message).toBe(accepted[0]?.body.data.answer.message)
      expect((await rowOf(shop, order)).status).toBe(i % 2 ? 'cancelled' : 'received')
    }),
  )
})
