import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { closeAccount } from '../back-office/close-account.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { receiveLongShipped } from '../orders/transitions.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { mailsTo } from '../test/fixtures/members.ts'
import {
  act,
  buy,
  cancel,
  insertSlices,
  LABEL,
  openShop,
  PARCEL,
  rowOf,
  ship,
} from '../test/fixtures/orders.ts'
import { rowsRead } from '../test/rows-read.ts'
import { submitSetup } from './payout-setup.ts'

const DAYS = 24 * 60 * 60

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await openShop(app, PARCEL, LABEL)
})

/** Sells and ships one unit each of listings with these prices, in one slice. */
async function shipped(prices: number[], option = PARCEL, more: object = {}) {
  const listings = await list(seller, ...prices.map((price) => cardItem({ price })))
  const shipping = [{ account_id: seller.accountId, option: option.code }]
  const sale = await buy(
    app,
    listings.map((id) => [id, 1]),
    { shipping, ...more },
  )
  await ship(seller, sale.orderIds[0]!, option === PARCEL ? { tracking_code: 'CODE' } : {})
  return sale
}

const receive = (order: number) => act(app, order, 'receive')

const refund = (order: number, payload: object, headers = {}) =>
  app.operator.post(`/operator/v1/orders/${order}/refund`, {
    payload: { reason: 'A scratch', ...payload },
    headers,
  })

/** The payout of a slice; undefined if it has none. */
async function payoutOf(sliceKey: string) {
  const { body } = await app.operator.get(
    `/operator/v1/payouts?account_id=${seller.accountId}&per_page=100`,
  )
  return body.data.find((payout: { slice_key: string }) => payout.slice_key === sliceKey)
}

async function balanceOf(account: string): Promise<number> {
  const { body } = await app.operator.get('/operator/v1/ledger/balance')
  return Math.round((body.data[account] ?? 0) * 100)
}

/** Another shop is the seller for the rest of the test. */
async function replaceSeller(): Promise<void> {
  const former = seller
  onTestFinished(() => {
    seller = former
  })
  seller = await openShop(app, LABEL)
}

describe('a payout', () => {
  it('a payout is created with the last receipt, with the net of its rows and the shipping', async () => {
    const { orderIds, sliceKey } = await shipped([10, 3.33])
    await receive(orderIds[0]!)
    expect(await payoutOf(sliceKey)).toBeUndefined()
    await receive(orderIds[1]!)
    const payout = await payoutOf(sliceKey)
    expect(payout).toMatchObject({
      account_id: seller.accountId,
      amount: 9.5 + 3.16 + 6.95,
      state: 'due',
      reason: null,
      sent_at: null,
      lines: [
        { order_id: orderIds[0], gross: 10, commission: 0.5, refunds: 0, shipping: 0 },
        { order_id: orderIds[1], gross: 3.33, commission: 0.17, refunds: 0, shipping: 0 },
        { order_id: null, gross: 0, commission: 0, refunds: 0, shipping: 6.95 },
      ],
    })
    const { body } = await app.operator.get(`/operator/v1/payouts/${payout.id}`)
    expect(body.data).toEqual(payout)
  })

  it('rows that count as received 14 days after shipping create the payout, unless another row is disputed', async () => {
    const { sliceKey } = await shipped([10, 3.33])
    const disputed = await shipped([10, 3.33])
    await act(app, disputed.orderIds[0]!, 'dispute')
    await advance(app.operator, 14 * DAYS)
    await receiveLongShipped(app.ctx)
    expect(await payoutOf(sliceKey)).toMatchObject({ amount: 9.5 + 3.16 + 6.95, state: 'due' })
    expect((await rowOf(seller, disputed.orderIds[1]!)).status).toBe('received')
    expect(await payoutOf(disputed.sliceKey)).toBeUndefined()
  })

  it('a payout has no shipping of a platform label, and nothing of cancelled rows', async () => {
    const { orderIds, sliceKey } = await shipped([10, 3.33], LABEL, {
      buyer: { name: 'Jessie', email: 'jessie@rocket.example' },
    })
    await receive(orderIds[0]!)
    await cancel(app, orderIds[1]!)
    expect(await payoutOf(sliceKey)).toMatchObject({
      amount: 9.5,
      lines: [
        { order_id: orderIds[0], gross: 10, commission: 0.5, refunds: 0 },
        { order_id: orderIds[1], gross: 3.33, commission: 0, refunds: 3.33 },
      ],
    })
    const [email] = await mailsTo(app, 'jessie@rocket.example')
    expect(email!.text).toMatch(/You will be refunded 3\.33 EUR\.$/)
  })

  it('a slice without earnings gets no payout', async () => {
    const { orderIds, sliceKey } = await shipped([10, 3])
    for (const order of orderIds) await cancel(app, order)
    expect(await payoutOf(sliceKey)).toBeUndefined()
  })

  it('a dispute holds a payout, and its resolution for the buyer removes it', async () => {
    const { orderIds, sliceKey } = await shipped([10])
    await receive(orderIds[0]!)
    const state = async () => (await payoutOf(sliceKey))?.state
    expect(await state()).toBe('due')
    await act(app, orderIds[0]!, 'dispute')
    expect(await state()).toBe('held')
    await act(app, orderIds[0]!, 'resolve', { in_favour_of: 'seller' })
    expect(await state()).toBe('due')
    await act(app, orderIds[0]!, 'dispute')
    await act(app, orderIds[0]!, 'resolve', { in_favour_of: 'buyer' })
    expect(await state()).toBeUndefined()
  })

  it('the lists of due and of held payouts have no payout in common', async () => {
    const { orderIds, sliceKey } = await shipped([10, 3])
    for (const order of orderIds) await receive(order)
    const keys = async (state: string) =>
      (await app.operator.get(`/operator/v1/payouts?state=${state}&per_page=100`)).body.data.map(
        (payout: { slice_key: string }) => payout.slice_key,
      )
    expect(await keys('due')).toContain(sliceKey)
    expect(await keys('held')).not.toContain(sliceKey)
    await act(app, orderIds[0]!, 'dispute')
    expect(await keys('due')).not.toContain(sliceKey)
    expect(await keys('held')).toContain(sliceKey)
    expect(await keys('paid')).toEqual([])
  })

  it('the lists of due and of held payouts have exactly those that the list of all payouts shows in this state', async () => {
    const { db } = app.ctx
    await replaceSeller()
    const disputed = await shipped([10], LABEL)
    const toCheck = await shipped([10], LABEL)
    const dues = [await shipped([10], LABEL), await shipped([10], LABEL)]
    for (const { orderIds } of [disputed, toCheck, ...dues]) await receive(orderIds[0]!)
    await act(app, disputed.orderIds[0]!, 'dispute')
    await db`
      update payouts
      set reason = 'Check this'
      where slice_id = (select id from slices where slice_key = ${toCheck.sliceKey})
    `
    const list = async (filters: string) =>
      (await app.operator.get(`/operator/v1/payouts?${filters}`)).body
    for (const isVerified of [true, false]) {
      await db`
        update accounts set payout_verified = ${isVerified} where id = ${seller.accountId}
      `
      for (const owner of ['', `account_id=${seller.accountId}&`]) {
        const all = (await list(`${owner}per_page=100`)).data
        for (const state of ['due', 'held']) {
          const expected = all.filter((payout: { state: string }) => payout.state === state)
          const { data, meta } = await list(`${owner}state=${state}&per_page=100`)
          expect([data, meta.total]).toEqual([expected, expected.length])
          const last = await list(`${owner}state=${state}&per_page=1&page=${expected.length || 1}`)
          expect(last.data).toEqual(expected.slice(-1))
        }
      }
      const { meta } = await list(`account_id=${seller.accountId}&state=held`)
      expect(meta.total).toBe(isVerified ? 2 : 4)
    }
  })
})

describe('the result of a transfer', () => {
  const reportOf = (id: number, result: string, payload?: object) =>
    app.operator.post(`/operator/v1/payouts/${id}/${result}`, { payload })
  const verify = () =>
    app.operator.post(`/operator/v1/accounts/${seller.accountId}/payout-setup/verify`)

  it('a late report about a returned transfer cannot fail the next transfer of the payout, and refunds in between are in its lines', async () => {
    const bank = { holder: 'Kanto Cards', iban: 'NL02ABNA0123456789', password: '' }
    await submitSetup(app.ctx, seller.accountId, bank, async () => {})
    const { orderIds, sliceKey } = await shipped([10])
    await receive(orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    const { id, reference } = await payoutOf(sliceKey)
    const report = { reason: 'Closed', reference }
    expect((await reportOf(id, 'failed', report)).status).toBe(200)
    await refund(orderIds[0]!, { amount: 1.25 })
    expect(await payoutOf(sliceKey)).toMatchObject({
      state: 'failed',
      amount: 9.5 + 6.95 - 1.25,
      lines: [{ refunds: 1.25 }, { shipping: 6.95 }],
    })
    await verify()
    await app.operator.post('/operator/v1/payout-runs')
    expect((await reportOf(id, 'failed', report)).status).toBe(409)
    expect((await reportOf(id, 'paid', { reference })).status).toBe(409)
    const again = await payoutOf(sliceKey)
    expect(again).toMatchObject({ state: 'sent', amount: 15.2 })
    const paid = await reportOf(id, 'paid', { reference: again.reference })
    expect([paid.status, paid.body.data.state]).toEqual([200, 'paid'])
  })

  it('a refund that another payout has paid for is not deducted from a failed payout again', async () => {
    const first = await shipped([10])
    await receive(first.orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    await refund(first.orderIds[0]!, { amount: 1.25 })
    const second = await shipped([10])
    await receive(second.orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    expect(await payoutOf(second.sliceKey)).toMatchObject({ amount: 15.2 })
    const { id } = await payoutOf(first.sliceKey)
    await reportOf(id, 'failed', { reason: 'Closed' })
    expect(await payoutOf(first.sliceKey)).toMatchObject({
      amount: 16.45,
      lines: [
        { gross: 10, commission: 0.5, refunds: 1.25 },
        { shipping: 6.95, refunds: 0 },
        { shipping: 0, refunds: -1.25 },
      ],
    })
  })

  it('the lines of a failed payout add up to its amount when refunds exceed it, and another payout pays the rest', async () => {
    const first = await shipped([10], LABEL)
    await receive(first.orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    const { id } = await payoutOf(first.sliceKey)
    await reportOf(id, 'failed', { reason: 'Closed' })
    await refund(first.orderIds[0]!, { amount: 10 })
    const sale = { gross: 10, commission: 0.5, refunds: 10 }
    expect(await payoutOf(first.sliceKey)).toMatchObject({
      amount: 0,
      lines: [sale, { gross: 0, refunds: -0.5, shipping: 0 }],
    })
    const second = await shipped([10], LABEL)
    await receive(second.orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    expect(await payoutOf(second.sliceKey)).toMatchObject({ amount: 9 })
    expect(await payoutOf(first.sliceKey)).toMatchObject({
      amount: 0,
      lines: [sale, { gross: 0, refunds: -0.5, shipping: 0 }],
    })
  })

  it('a repeated payout that refunds use up before its next transfer has failed, with an amount of 0', async () => {
    const { orderIds, sliceKey } = await shipped([10], LABEL)
    await receive(orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    const { id } = await payoutOf(sliceKey)
    await reportOf(id, 'failed', { reason: 'Closed' })
    await verify()
    expect(await payoutOf(sliceKey)).toMatchObject({ state: 'due', amount: 9.5 })
    expect((await refund(orderIds[0]!, { amount: 9.5 })).status).toBe(200)
    await verify()
    await app.operator.post('/operator/v1/payout-runs')
    expect(await payoutOf(sliceKey)).toMatchObject({
      id,
      state: 'failed',
      amount: 0,
      lines: [{ gross: 10, commission: 0.5, refunds: 9.5 }],
    })
  })

  it('the e-mail about a returned payout names what refunds since the transfer have left of it', async () => {
    await replaceSeller()
    const { email } = (await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)).body
      .data
    for (const [amount, text] of [
      [0, 'We will send the payout again once you have changed it'],
      [4, '5.50 EUR is left to send'],
      [9.5, 'nothing is left to send'],
    ] as const) {
      const { orderIds, sliceKey } = await shipped([10], LABEL)
      await receive(orderIds[0]!)
      await app.operator.post('/operator/v1/payout-runs')
      if (amount > 0) await refund(orderIds[0]!, { amount })
      const { id } = await payoutOf(sliceKey)
      expect((await reportOf(id, 'failed', { reason: 'Closed' })).status).toBe(200)
      const [mail] = await mailsTo(app, email)
      expect(mail!.subject).toBe('Payout failed: 9.50 EUR')
      expect(mail!.text).toContain(text)
    }
  })

  it('a payout that waits for the operator is taken by the next run once it was released, and no other is released', async () => {
    const { orderIds, sliceKey } = await shipped([10])
    await receive(orderIds[0]!)
    const { id } = await payoutOf(sliceKey)
    const release = () => reportOf(id, 'release')
    expect((await release()).status).toBe(409)
    await act(app, orderIds[0]!, 'dispute')
    expect((await release()).body.error.message).toContain('An item of the order is disputed.')
    expect((await reportOf(id, 'paid')).body.error.message).toMatch(
      / is held; .* send `outside`\.$/,
    )
    const failed = await reportOf(id, 'failed', { reason: 'Closed' })
    expect([failed.status, failed.body.error.message]).toEqual([
      409,
      'The payout is held; this requires it to be sent or paid.',
    ])
    await act(app, orderIds[0]!, 'resolve', { in_favour_of: 'seller' })
    // As the migration does with payouts of orders that were completed before it.
    await app.ctx.db`update payouts set reason = 'Check this' where id = ${id}`
    await app.operator.post('/operator/v1/payout-runs')
    const held = { state: 'held', reason: 'Check this', to_check: true }
    expect(await payoutOf(sliceKey)).toMatchObject(held)
    const released = await release()
    expect([released.status, released.body.data]).toMatchObject([
      200,
      { state: 'due', to_check: false },
    ])
    await app.operator.post('/operator/v1/payout-runs')
    expect((await payoutOf(sliceKey)).state).toBe('sent')
    expect((await reportOf(999_999, 'release')).status).toBe(404)
  })

  it('a failed payout that was paid outside of the service is paid, unless a late report of the bank says so or the report names another amount, and its account can be closed', async () => {
    await replaceSeller()
    const { orderIds, sliceKey } = await shipped([10], LABEL)
    await receive(orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    const { id, reference } = await payoutOf(sliceKey)
    const paid = { reference, outside: true }
    expect((await reportOf(id, 'paid', paid)).status).toBe(409)
    const close = () => app.operator.post(`/operator/v1/accounts/${seller.accountId}/close`)
    expect((await close()).body.error.message).toContain('report the bank’s results')
    const failed = { reason: 'Closed', reference }
    await reportOf(id, 'failed', failed)
    await refund(orderIds[0]!, { amount: 1.25 })
    expect((await reportOf(id, 'paid', { reference })).status).toBe(409)
    expect((await close()).body.error.message).toContain('paid otherwise')
    const stale = await reportOf(id, 'paid', { ...paid, amount: 9.5 })
    expect([stale.status, stale.body.error?.message]).toEqual([
      409,
      expect.stringContaining('8.25 EUR'),
    ])
    expect(await payoutOf(sliceKey)).toMatchObject({ state: 'failed', reference, amount: 8.25 })

    const { status, body } = await reportOf(id, 'paid', { ...paid, amount: 8.25 })
    expect([status, body.data]).toMatchObject([
      200,
      { state: 'paid', amount: 8.25, reason: null, lines: [{ gross: 10, refunds: 1.25 }] },
    ])
    expect(body.data.reference).not.toBe(reference)
    for (const known of [reference, body.data.reference]) {
      const found = await app.operator.get(`/operator/v1/payouts?reference=${known}`)
      expect(found.body.data).toEqual([body.data])
    }
    expect(await balanceOf(`seller:${seller.accountId}`)).toBe(0)
    for (const late of [failed, { reason: 'Closed' }]) {
      expect((await reportOf(id, 'failed', late)).status).toBe(409)
    }
    await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
      payload: { payout_verified: true },
    })
    await app.operator.post('/operator/v1/payout-runs')
    expect(await payoutOf(sliceKey)).toEqual(body.data)
    expect((await close()).status).toBe(200)
  })

  it('the closure of an account does not read its paid payouts', async () => {
    const { ctx } = app
    const other = seller
    await replaceSeller()
    const insert = async (accountId: number, state: string, count: number) => {
      await insertSlices(ctx.db, accountId, Array(count).fill('Ash'))
      await ctx.db`
        with posted as (
          insert into postings (
            kind, account_id, slice_id, seller_cents, payouts_cents, created_at
          )
          select 'payout', account_id, id, -475, 475, created_at
          from slices
          where account_id = ${accountId}
          order by id
          limit ${count}
          returning *
        )
        insert into payouts (
          account_id, slice_id, amount_cents, state, posting_id, created_at, sent_at, paid_at
        )
        select
          account_id, slice_id, 475, ${state}, id, created_at, created_at,
          case when ${state} = 'paid' then created_at end
        from posted
      `
    }
    await insert(seller.accountId, 'paid', 1_500)
    // The planner expects that as great a share of the payouts of each seller is not paid.
    await insert(other.accountId, 'sent', 1_500)
    await ctx.db`analyze payouts`
    const read = await inTransaction(ctx, (tx) =>
      rowsRead(tx.db, 'payouts', () => closeAccount(tx, seller.accountId)),
    )
    expect(read).toBeLessThan(100)
  })

  it('a payout that is due and was paid outside of the service is taken by no run, and another report says that it is paid, whatever amount it names', async () => {
    const { orderIds, sliceKey } = await shipped([10])
    await receive(orderIds[0]!)
    const { id } = await payoutOf(sliceKey)
    expect((await reportOf(id, 'paid')).status).toBe(409)
    const { body } = await reportOf(id, 'paid', { outside: true })
    expect(body.data).toMatchObject({ state: 'paid', amount: 16.45 })
    for (const more of [{ outside: true }, {}]) {
      const again = await reportOf(id, 'paid', { ...more, amount: 9.5 })
      expect([again.status, again.body.error.message]).toEqual([
        409,
        expect.stringContaining('The payout is paid'),
      ])
    }
    await app.operator.post('/operator/v1/payout-runs')
    expect(await payoutOf(sliceKey)).toEqual(body.data)
    const sent = await app.ctx.db`select from payout_transfers where payout_id = ${id}`
    expect(sent).toHaveLength(0)
  })

  it('a payout that was paid outside of the service and returned stays in the records after a refund of its whole amount', async () => {
    const { orderIds, sliceKey } = await shipped([10], LABEL)
    await receive(orderIds[0]!)
    const { id } = await payoutOf(sliceKey)
    const { reference } = (await reportOf(id, 'paid', { outside: true })).body.data
    await reportOf(id, 'failed', { reason: 'Returned', reference })
    await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
      payload: { payout_verified: true },
    })
    expect(await payoutOf(sliceKey)).toMatchObject({ id, state: 'due', amount: 9.5 })
    expect((await refund(orderIds[0]!, { amount: 10 })).status).toBe(200)
    expect(await payoutOf(sliceKey)).toMatchObject({ id, state: 'failed', amount: 0 })
  })

  it('the e-mail about a payout that is returned after the account was closed asks the former seller to get in touch, because they can’t sign in', async () => {
    await replaceSeller()
    const account = `/operator/v1/accounts/${seller.accountId}`
    const { email } = (await app.operator.get(account)).body.data
    const { orderIds, sliceKey } = await shipped([10], LABEL)
    await receive(orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    const { id } = await payoutOf(sliceKey)
    await reportOf(id, 'paid')
    expect((await app.operator.post(`${account}/close`)).status).toBe(200)
    await reportOf(id, 'failed', { reason: 'Closed' })
    const [mail] = await mailsTo(app, email)
    expect(mail!.text).toMatch(/Your account is closed, so please tell us how we can pay you\.$/)
    expect(mail!.text).not.toContain('/dashboard')
  })

  it('an account whose failed payout was refunded completely can be closed', async () => {
    await replaceSeller()
    const { orderIds, sliceKey } = await shipped([10], LABEL)
    await receive(orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    const { id } = await payoutOf(sliceKey)
    await reportOf(id, 'failed', { reason: 'Closed' })
    const close = () => app.operator.post(`/operator/v1/accounts/${seller.accountId}/close`)
    expect((await close()).status).toBe(409)
    await refund(orderIds[0]!, { amount: 9.5 })
    expect((await payoutOf(sliceKey)).amount).toBe(0)
    expect((await close()).status).toBe(200)
  })

  it('the refused closure of an account with a failed payout and a debt asks for another verification and a run, which settle both', async () => {
    await replaceSeller()
    const [failed, refunded] = [await shipped([10], LABEL), await shipped([10], LABEL)]
    for (const { orderIds } of [failed, refunded]) await receive(orderIds[0]!)
    await app.operator.post('/operator/v1/payout-runs')
    await reportOf((await payoutOf(failed.sliceKey)).id, 'failed', { reason: 'Closed' })
    await reportOf((await payoutOf(refunded.sliceKey)).id, 'paid')
    await refund(refunded.orderIds[0]!, { amount: 9.5 })
    const account = `/operator/v1/accounts/${seller.accountId}`
    const close = () => app.operator.post(`${account}/close`)
    const { status, body } = await close()
    expect([status, body.error?.message]).toEqual([
      409,
      expect.stringMatching(/owes money .* verify the payout setup again and run payouts/),
    ])
    await app.operator.patch(account, { payload: { payout_verified: true } })
    await app.operator.post('/operator/v1/payout-runs')
    expect((await close()).status).toBe(200)
  })
})

describe('a refund', () => {
  it('a refund borne by the seller reduces the payout, one borne by the platform the commission', async () => {
    const { orderIds, sliceKey } = await shipped([10])
    const [order] = orderIds as [number]
    const commission = await balanceOf('commission')
    const { status, body } = await refund(order, { amount: 1.25 })
    expect([status, body.data.status]).toEqual([200, 'shipped'])
    expect(body.data.financial).toMatchObject({ refunded_amount: 1.25, seller_net: 9.5 })
    await receive(order)
    expect((await payoutOf(sliceKey)).amount).toBe(9.5 + 6.95 - 1.25)
    await refund(order, { amount: 0.5, borne_by: 'platform' })
    await refund(order, { amount: 2 })
    const payout = await payoutOf(sliceKey)
    expect(payout.amount).toBe(9.5 + 6.95 - 3.25)
    expect(payout.lines[0]).toMatchObject({ gross: 10, commission: 0.5, refunds: 3.25 })
    expect(await balanceOf('commission')).toBe(commission - 50)
  })

  it('a refund is refused above the rest of the price and for a cancelled row', async () => {
    const { orderIds } = await shipped([10])
    const [order] = orderIds as [number]
    const refusal = (reason: string) => ({
      status: 422,
      body: {
        error: { fields: { amount: [`The amount field must not be greater than ${reason}.`] } },
      },
    })
    expect(await refund(order, { amount: 10.01 })).toMatchObject(
      refusal('10: that is the price of the row'),
    )
    expect((await refund(order, { amount: 9 })).status).toBe(200)
    expect(await refund(order, { amount: 1.01 })).toMatchObject(
      refusal('1: the rest of the price was refunded'),
    )
    expect((await refund(order, { amount: 1 })).body.data.financial.refunded_amount).toBe(10)
    await cancel(app, order)
    expect((await refund(order, { amount: 0.01 })).status).toBe(409)
    expect((await refund(999_999, {})).status).toBe(404)
  })

  it.each([{ amount: 0 }, { amount: 0.001 }, { amount: '1' }, { amount: 1, borne_by: 'buyer' }])(
    'a refund of %o is refused with 422',
    async (payload) => {
      const { orderIds } = await shipped([10])
      expect((await refund(orderIds[0]!, payload)).status).toBe(422)
    },
  )

  it('a refund with an Idempotency-Key happens once', async () => {
    const { orderIds } = await shipped([10])
    const [order] = orderIds as [number]
    const key = { 'idempotency-key': 'refund-1' }
    const responses = await Promise.all([1, 2, 3].map(() => refund(order, { amount: 1 }, key)))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await rowOf(seller, order)).financial.refunded_amount).toBe(1)
  })

  it('of two refunds or resolutions that name the amount refunded so far, one is made, and repeated with its key', async () => {
    const { orderIds } = await shipped([10])
    const [order] = orderIds as [number]
    const seen = { amount: 5, refunded_amount: 0 }
    const first = await refund(order, seen, { 'idempotency-key': `first ${order}` })
    const second = await refund(order, seen, { 'idempotency-key': `second ${order}` })
    expect([first.status, second.status]).toEqual([200, 409])
    expect(second.body.error.message).toContain('5.00 EUR')
    expect((await refund(order, seen, { 'idempotency-key': `first ${order}` })).body).toEqual(
      first.body,
    )
    await act(app, order, 'dispute')
    const resolve = (refunded_amount: number, decision: object = { refund: 0.1 }) =>
      act(app, order, 'resolve', { ...decision, refunded_amount })
    for (const decision of [
      { refund: 0.1 },
      { in_favour_of: 'buyer' },
      { in_favour_of: 'seller' },
    ]) {
      const { status, body } = await resolve(0, decision)
      expect([status, body.error?.message]).toEqual([409, expect.stringContaining('5.00 EUR')])
    }
    expect((await resolve(5)).body.data.financial.refunded_amount).toBe(5.1)
    expect((await refund(order, { amount: 0.2, refunded_amount: 5.1 })).status).toBe(200)
  })

  it('a cancellation after a refund refunds the rest and the shipping, and its e-mail names both', async () => {
    const account = `seller:${seller.accountId}`
    const before = { seller: await balanceOf(account), commission: await balanceOf('commission') }
    const refunds = await balanceOf('refunds')
    const listings = await list(seller, cardItem({ price: 10 }))
    const { orderIds } = await buy(app, [[listings[0]!, 1]], {
      buyer: { name: 'Brock', email: 'brock@pewter.example' },
    })
    await refund(orderIds[0]!, { amount: 1.5 })
    await refund(orderIds[0]!, { amount: 1, borne_by: 'platform' })
    await cancel(app, orderIds[0]!)
    expect(await balanceOf('refunds')).toBe(refunds + 1000 + 695)
    expect(await balanceOf(account)).toBe(before.seller)
    expect(await balanceOf('commission')).toBe(before.commission)
    const [cancelled, , refunded] = await mailsTo(app, 'brock@pewter.example')
    expect(cancelled!.text).toContain(
      'You will be refunded 7.50 EUR. The shipping of 6.95 EUR is refunded as well.',
    )
    expect(refunded!.text).toContain('You will be refunded 1.50 EUR')
  })
})
