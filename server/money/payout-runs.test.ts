import { beforeAll, describe, expect, it } from 'vitest'
import type { Context } from '../context.ts'
import { inTransaction } from '../database/in-transaction.ts'
import { runSchedule } from '../schedule.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { mailsTo } from '../test/fixtures/members.ts'
import { act, buy, insertSlices, LABEL, openShop, ship } from '../test/fixtures/orders.ts'
import { untilLockWaiters } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { whileReplaced } from '../test/while-replaced.ts'
import { runPayouts, runSandboxPayouts } from './payout-runs.ts'
import { setPayoutVerified, submitSetup } from './payout-setup.ts'
import { listPayouts } from './payouts.ts'

const DAY = 24 * 60 * 60

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
})

type Seller = Awaited<ReturnType<typeof openShop>>

/** Sells a listing with this price, ships it, and marks it as received. */
async function received(seller: Seller, price = 10) {
  const [listing] = await list(seller, cardItem({ price }))
  const sale = await buy(app, [[listing!, 1]])
  await ship(seller, sale.orderIds[0]!, { tracking_code: 'CODE' })
  await act(app, sale.orderIds[0]!, 'receive')
  return { order: sale.orderIds[0]!, sliceKey: sale.sliceKey }
}

const run = async () => {
  const { status, body, text } = await app.operator.post('/operator/v1/payout-runs')
  if (status !== 201) throw new Error(text)
  return body.data as { id: number; count: number; total: number; file: string | null }
}

const payoutsOf = async (seller: Seller) =>
  (await app.operator.get(`/operator/v1/payouts?account_id=${seller.accountId}`)).body.data

const fileOf = async ({ id }: { id: number }) =>
  app.operator.get(`/operator/v1/payout-runs/${id}/file`)

async function balances(): Promise<Record<string, number>> {
  const { body } = await app.operator.get('/operator/v1/ledger/balance')
  return Object.fromEntries(
    Object.entries(body.data as Record<string, number>).map(([account, euros]) => [
      account,
      Math.round(euros * 100),
    ]),
  )
}

describe('a payout run', () => {
  it('a run sends every payout that is due, and its file names each of them', async () => {
    const seller = await openShop(app)
    await received(seller, 10)
    await received(seller, 20)
    const held = await received(seller, 30)
    await act(app, held.order, 'dispute')
    const before = await balances()
    const { id, count, total, file } = await run()
    expect([count, total]).toEqual([2, 9.5 + 19 + 2 * 6.95])
    expect(file).toBe(`https://cards.example/operator/v1/payout-runs/${id}/file`)
    const after = await balances()
    expect(after.payouts! - before.payouts!).toBe(4240)
    const account = `seller:${seller.accountId}`
    expect(after[account]! - before[account]!).toBe(-4240)

    const payouts = await payoutsOf(seller)
    expect(payouts.map(({ state }: { state: string }) => state)).toEqual(['held', 'sent', 'sent'])
    const { text, headers } = await fileOf({ id })
    expect(headers['content-type']).toBe('application/xml; charset=utf-8')
    for (const { reference, amount } of payouts.slice(1)) {
      expect(text).toContain(`<EndToEndId>${reference}</EndToEndId>`)
      expect(text).toContain(`<InstdAmt Ccy="EUR">${amount.toFixed(2)}</InstdAmt>`)
    }
    const { body } = await app.operator.get('/operator/v1/sandbox/mail')
    expect(body.data[0].text).toContain('We have sent 42.40 EUR to your bank account')
    expect(await run()).toMatchObject({ count: 0, total: 0, file: null })
    const { body: runs } = await app.operator.get('/operator/v1/payout-runs')
    expect(runs.data[0].file).toBeNull()
    expect(runs.data[1]).toEqual({ id, count, total, file, created_at: expect.any(String) })
  })

  it('a payout is paid at most once, and a run with an Idempotency-Key happens once', async () => {
    const seller = await openShop(app)
    await received(seller)
    const headers = { 'idempotency-key': 'run-1' }
    const send = () => app.operator.post('/operator/v1/payout-runs', { headers })
    const [first, second] = [await send(), await send()]
    expect(first.body.data.count).toBe(1)
    expect(second.body).toEqual(first.body)
    const [{ id }] = await payoutsOf(seller)
    const mark = (action: string, payload?: object) =>
      app.operator.post(`/operator/v1/payouts/${id}/${action}`, { payload })
    expect((await mark('paid')).body.data).toMatchObject({ state: 'paid' })
    expect((await mark('paid')).status).toBe(409)
    expect((await run()).count).toBe(0)
  })

  it('a failed payout is owed again, and due under a new reference once the setup changes', async () => {
    const seller = await openShop(app)
    await received(seller)
    const account = `seller:${seller.accountId}`
    const owed = (await balances())[account]
    const first = await run()
    const [{ id, reference }] = await payoutsOf(seller)
    const before = await fileOf(first)
    const failed = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
      payload: { reason: 'The account is closed.' },
    })
    expect(failed.body.data).toMatchObject({ state: 'failed', reason: 'The account is closed.' })
    expect((await balances())[account]).toBe(owed)
    expect((await run()).count).toBe(0)
    const setup = `/operator/v1/accounts/${seller.accountId}/payout-setup`
    expect((await app.operator.post(`${setup}/verify`)).status).toBe(409)
    await enterBankAccount(seller)
    const [again] = await payoutsOf(seller)
    expect(again).toMatchObject({ id, state: 'due', reason: null, sent_at: null })
    expect(again.reference).not.toBe(reference)
    const second = await run()
    expect(second.count).toBe(1)
    expect((await fileOf(second)).text).toContain('<IBAN>NL02ABNA0123456789</IBAN>')
    expect((await fileOf(first)).text).toBe(before.text)
    expect((await balances())[account]).toBe(0)
  })

  it('a refund that uses up a failed payout while it becomes due again leaves nothing to transfer', async () => {
    const seller = await openShop(app, LABEL)
    const [listing] = await list(seller, cardItem({ price: 10 }))
    const [order] = (await buy(app, [[listing!, 1]])).orderIds as [number]
    await ship(seller, order, {})
    await act(app, order, 'receive')
    await run()
    const [{ id }] = await payoutsOf(seller)
    await app.operator.post(`/operator/v1/payouts/${id}/failed`, { payload: { reason: 'Closed' } })
    let refunding: Promise<{ status: number }> | undefined
    await inTransaction(app.ctx, async (tx) => {
      await setPayoutVerified(tx, seller.accountId, true)
      refunding = app.operator.post(`/operator/v1/orders/${order}/refund`, {
        payload: { amount: 10, reason: 'A scratch' },
      })
      await untilLockWaiters(app.ctx.db, 1)
    })
    expect((await refunding)?.status).toBe(200)
    expect((await payoutsOf(seller))[0]).toMatchObject({ state: 'failed', amount: 0 })
    expect((await run()).count).toBe(0)
  })

  it('outside the sandbox a payout is held, and no run takes it, while its verified seller has no bank account', async () => {
    const seller = await openShop(app)
    await received(seller)
    const config = { ...app.ctx.config, sandbox: false }
    await whileReplaced(app.ctx, { config }, async () => {
      expect((await payoutsOf(seller))[0]).toMatchObject({
        state: 'held',
        reason: 'The seller has not entered a bank account.',
      })
      expect(await run()).toMatchObject({ count: 0, file: null })
    })
    expect((await run()).count).toBe(1)
  })

  it('a failed payout is due again once the operator sets payout_verified, without a bank account too', async () => {
    const seller = await openShop(app)
    await received(seller)
    await run()
    const [{ id, reference }] = await payoutsOf(seller)
    await app.operator.post(`/operator/v1/payouts/${id}/failed`, { payload: { reason: 'Closed' } })
    const patched = await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
      payload: { payout_verified: true },
    })
    expect(patched.body.data.payout_verified).toBe(true)
    const [again] = await payoutsOf(seller)
    expect(again).toMatchObject({ id, state: 'due', reason: null, sent_at: null })
    expect(again.reference).not.toBe(reference)
  })

  it('a payout is found by each reference in a file for the bank, also after its next transfer', async () => {
    const seller = await openShop(app)
    await received(seller, 10)
    await received(seller, 20)
    const find = async (filters: string) =>
      (await app.operator.get(`/operator/v1/payouts?${filters}`)).body
    const { text } = await fileOf(await run())
    const found: number[] = []
    for (const [, reference] of text.matchAll(/<EndToEndId>(\w+)</g)) {
      const { data, meta } = await find(`reference=${reference}`)
      expect(data).toMatchObject([{ reference, state: 'sent' }])
      expect(meta.total).toBe(1)
      found.push(data[0].id)
    }
    const [{ id, reference }, earlier] = await payoutsOf(seller)
    expect(found).toEqual(expect.arrayContaining([id, earlier.id]))

    await app.operator.post(`/operator/v1/payouts/${id}/failed`, { payload: { reason: 'Closed' } })
    await app.operator.patch(`/operator/v1/accounts/${seller.accountId}`, {
      payload: { payout_verified: true },
    })
    const [due] = await payoutsOf(seller)
    for (const each of [reference, due.reference]) {
      expect((await find(`reference=${each}`)).data).toEqual([due])
    }
    await run()
    const [sent] = await payoutsOf(seller)
    expect((await find(`reference=${reference}&state=sent`)).data).toEqual([sent])
    for (const other of ['state=due', 'state=held', 'state=paid', 'account_id=999999']) {
      expect(await find(`reference=${reference}&${other}`)).toMatchObject({ meta: { total: 0 } })
    }
    expect((await find('reference=CS0')).meta.total).toBe(0)
  })

  it('a refund after a payout is deducted from the next one', async () => {
    const seller = await openShop(app)
    const { order } = await received(seller, 10)
    await run()
    await app.operator.post(`/operator/v1/orders/${order}/refund`, {
      payload: { amount: 4, reason: 'A scratch' },
    })
    const account = `seller:${seller.accountId}`
    expect((await balances())[account]).toBe(-400)
    await received(seller, 10)
    expect(await run()).toMatchObject({ count: 1, total: 9.5 + 6.95 - 4 })
    expect((await balances())[account]).toBe(0)
    const [payout] = await payoutsOf(seller)
    expect(payout.amount).toBe(9.5 + 6.95 - 4)
    expect(payout.lines.at(-1)).toMatchObject({ order_id: null, refunds: 4 })
  })

  describe('a credit', () => {
    /** A slice whose refund of 100 was deducted from another payout before its row is cancelled: the seller gets 5. */
    async function credited() {
      const seller = await openShop(app)
      const listings = await list(seller, cardItem({ price: 100 }), cardItem({ price: 100 }))
      const sale = await buy(
        app,
        listings.map((id) => [id, 1]),
      )
      await ship(seller, sale.orderIds[0]!, { tracking_code: 'CODE' })
      for (const order of sale.orderIds) await act(app, order, 'receive')
      expect((await run()).total).toBe(196.95)
      await app.operator.post(`/operator/v1/orders/${sale.orderIds[1]}/refund`, {
        payload: { amount: 100, reason: 'A scratch' },
      })
      await received(seller, 300)
      expect((await run()).total).toBe(191.95)
      await act(app, sale.orderIds[1]!, 'dispute')
      await act(app, sale.orderIds[1]!, 'resolve', { in_favour_of: 'buyer' })
      return { seller, orderIds: sale.orderIds, sliceKey: sale.sliceKey }
    }
    const fail = (id: number) =>
      app.operator.post(`/operator/v1/payouts/${id}/failed`, { payload: { reason: 'Closed' } })
    const stateOf = async (seller: Seller) =>
      (await payoutsOf(seller)).map(
        ({ state, amount }: { state: string; amount: number }) => `${state} ${amount}`,
      )

    it('commission that comes back after the refund was deducted is paid by another payout of the slice', async () => {
      const { seller, sliceKey } = await credited()
      const [credit, , first] = await payoutsOf(seller)
      expect(credit).toMatchObject({
        slice_key: sliceKey,
        state: 'due',
        amount: 5,
        lines: [{ order_id: null, gross: 0, commission: 0, refunds: -5, shipping: 0 }],
      })
      expect(first).toMatchObject({ slice_key: sliceKey, state: 'sent', amount: 196.95 })
      expect(first.lines).toHaveLength(3)
      expect(await run()).toMatchObject({ count: 1, total: 5 })
      expect((await balances())[`seller:${seller.accountId}`]).toBe(0)
      expect((await run()).count).toBe(0)
    })

    it('a refund before the run is taken out of it, and what exceeds it is owed', async () => {
      const { seller, orderIds } = await credited()
      const refund = (amount: number) =>
        app.operator.post(`/operator/v1/orders/${orderIds[0]}/refund`, {
          payload: { amount, reason: 'A scratch' },
        })
      await refund(2)
      expect((await stateOf(seller))[0]).toBe('due 3')
      await refund(10)
      expect(await stateOf(seller)).toEqual(['sent 191.95', 'sent 196.95'])
      expect((await balances())[`seller:${seller.accountId}`]).toBe(-700)
    })

    it('the first payout of a slice has the whole amount if it fails after the credit', async () => {
      const { seller } = await credited()
      const [, , first] = await payoutsOf(seller)
      await fail(first.id)
      expect(await stateOf(seller)).toEqual(['sent 191.95', 'failed 201.95'])
      await enterBankAccount(seller)
      expect(await run()).toMatchObject({ count: 1, total: 201.95 })
      expect((await balances())[`seller:${seller.accountId}`]).toBe(0)
    })

    it('each transfer is repeated once, whichever of the payouts fails first', async () => {
      const { seller } = await credited()
      await run()
      const [credit, , first] = await payoutsOf(seller)
      await fail(credit.id)
      await fail(first.id)
      expect(await stateOf(seller)).toEqual(['failed 0', 'sent 191.95', 'failed 201.95'])
      await enterBankAccount(seller)
      expect(await stateOf(seller)).toEqual(['failed 0', 'sent 191.95', 'due 201.95'])
      expect(await run()).toMatchObject({ count: 1, total: 201.95 })
      expect((await balances())[`seller:${seller.accountId}`]).toBe(0)
    })
  })

  it('the e-mail about a dispute that was resolved for the buyer names the refund, and what is deducted from the payouts of other orders', async () => {
    const seller = await openShop(app)
    const to = (await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)).body.data.email
    const refund = (order: number, payload: object) =>
      app.operator.post(`/operator/v1/orders/${order}/refund`, {
        payload: { reason: 'A scratch', ...payload },
      })
    /** The paragraph about the money. */
    const resolve = async (order: number) => {
      await act(app, order, 'dispute')
      await act(app, order, 'resolve', { in_favour_of: 'buyer' })
      const { body } = await app.operator.get(`/operator/v1/mails?to=${encodeURIComponent(to)}`)
      expect(body.data[0].subject).toBe('Resolved: Charizard ex')
      return body.data[0].text.split('\n\n')[2]
    }
    const early = await received(seller, 10)
    expect(await resolve(early.order)).toBe(
      'Misty Waterflower will be refunded 10.00 EUR. The shipping of 6.95 EUR is refunded as well.',
    )

    const listings = await list(seller, cardItem({ price: 10 }), cardItem({ price: 20 }))
    const sale = await buy(
      app,
      listings.map((id) => [id, 1]),
    )
    const [ten, twenty] = sale.orderIds as [number, number]
    await ship(seller, ten, { tracking_code: 'CODE' })
    for (const order of sale.orderIds) await act(app, order, 'receive')
    // 9.50 + 19.00 + 6.95
    expect((await run()).total).toBe(35.45)
    await refund(ten, { amount: 3 })
    await refund(ten, { amount: 1, borne_by: 'platform' })
    // The seller has lost 3.00 of 9.50 before.
    expect(await resolve(ten)).toBe(
      'Misty Waterflower will be refunded 6.00 EUR. 6.50 EUR is deducted from your payouts of other orders.',
    )
    // 19.00 + 6.95
    expect(await resolve(twenty)).toBe(
      'Misty Waterflower will be refunded 20.00 EUR. The shipping of 6.95 EUR is refunded as well. 25.95 EUR is deducted from your payouts of other orders.',
    )

    const other = await received(seller, 10)
    // 35.45 are owed: 3.00 + 6.50 + 25.95. The payout of 16.45 pays a part.
    expect((await run()).total).toBe(0)
    await refund(other.order, { amount: 10 })
    // The price was refunded before: the seller bears the shipping, and gets the commission of 0.50 back.
    expect(await resolve(other.order)).toBe(
      'The price is already refunded. The shipping of 6.95 EUR is refunded as well. 6.45 EUR is deducted from your payouts of other orders.',
    )
    // 35.45 − 16.45 + 10.00 + 6.45
    expect((await balances())[`seller:${seller.accountId}`]).toBe(-3545)
  })

  it('the e-mail about payouts that a run has reduced names each deduction with the orders whose refunds caused it', async () => {
    const seller = await openShop(app)
    const to = (await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)).body.data.email
    const refund = (order: number, amount: number, more: object = {}) =>
      app.operator.post(`/operator/v1/orders/${order}/refund`, {
        payload: { amount, reason: 'A scratch', ...more },
      })
    const resolve = async (order: number) => {
      await act(app, order, 'dispute')
      await act(app, order, 'resolve', { in_favour_of: 'buyer' })
    }
    /** The subject of the e-mail about the next run, and its paragraphs after the list of payouts. */
    const runEmail = async () => {
      await run()
      const { body } = await app.operator.get(`/operator/v1/mails?to=${encodeURIComponent(to)}`)
      const { subject, text } = body.data[0]
      return [subject, ...text.split('\n\n').slice(subject.startsWith('Payout') ? 3 : 1, -1)]
    }
    const DEDUCTED = 'for refunds that exceeded what was left to pay out for these orders:'
    const listings = await list(seller, cardItem({ price: 10 }), cardItem({ price: 20 }))
    const sale = await buy(
      app,
      listings.map((id) => [id, 1]),
    )
    const [ten, twenty] = sale.orderIds as [number, number]
    await ship(seller, ten, { tracking_code: 'CODE' })
    for (const order of sale.orderIds) await act(app, order, 'receive')
    const { order: fifty } = await received(seller, 50)
    // 9.50 + 19.00 + 6.95, and 47.50 + 6.95
    expect(await runEmail()).toEqual(['Payout: 89.90 EUR'])

    await refund(ten, 4)
    await refund(twenty, 1, { borne_by: 'platform' })
    await resolve(fifty)
    // The payout of 16.45 pays 4.00, and 12.45 of 54.45.
    await received(seller, 10)
    expect(await runEmail()).toEqual([
      'No payout: 16.45 EUR deducted',
      `We have deducted 16.45 EUR ${DEDUCTED}`,
      `- 4.00 EUR for order ${ten}\n- 12.45 EUR for order ${fifty}`,
      'That uses up the payouts that were due, so we have sent nothing to your bank account.',
    ])
    // The payout of 16.45 and 25.55 of that of 54.45 pay the rest of 42.00.
    await received(seller, 10)
    const { order: other } = await received(seller, 50)
    expect(await runEmail()).toEqual([
      'Payout: 28.90 EUR',
      `We have deducted 42.00 EUR ${DEDUCTED}`,
      `- 42.00 EUR for order ${fifty}`,
    ])

    // Two rows of one slice, and the whole price of a row of another: 16.45 + 101.95 − 3.00 − 50.00
    await refund(ten, 1)
    await refund(twenty, 2)
    await refund(other, 50)
    await received(seller, 10)
    await received(seller, 100)
    expect(await runEmail()).toEqual([
      'Payout: 65.40 EUR',
      `We have deducted 53.00 EUR ${DEDUCTED}`,
      `- 3.00 EUR for orders ${ten}, ${twenty}\n- 50.00 EUR for order ${other}`,
    ])

    // The first row is not named again: its refunds are deducted. Of the other slice, only the shipping is left to refund,
    // and the commission of 2.50 comes back: 16.45 − 1.50 − (6.95 − 2.50)
    await refund(twenty, 1.5)
    await resolve(other)
    await received(seller, 10)
    expect(await runEmail()).toEqual([
      'Payout: 10.50 EUR',
      `We have deducted 5.95 EUR ${DEDUCTED}`,
      `- 1.50 EUR for order ${twenty}\n- 4.45 EUR for order ${other}`,
    ])
    await received(seller, 10)
    expect(await runEmail()).toEqual(['Payout: 16.45 EUR'])
    expect((await balances())[`seller:${seller.accountId}`]).toBe(0)
  })

  it('a debt larger than the next payout leaves nothing to transfer, and its rest stays owed', async () => {
    const seller = await openShop(app)
    const { order } = await received(seller, 50)
    await run()
    await act(app, order, 'dispute')
    await act(app, order, 'resolve', { in_favour_of: 'buyer' })
    await received(seller, 10)
    expect(await run()).toMatchObject({ count: 0, total: 0 })
    expect((await payoutsOf(seller))[0]).toMatchObject({ state: 'paid', amount: 0 })
    const debt = 4750 + 695 - (950 + 695)
    expect((await balances())[`seller:${seller.accountId}`]).toBe(-debt)
  })

  it('a run deducts what a seller owes for thousands of orders, and locks no debt that its payouts are too small for', async () => {
    const { db } = app.ctx
    const seller = await openShop(app)
    await insertSlices(db, seller.accountId, Array(2_500).fill('Ash'))
    await db`update slices set owed_cents = 1 where account_id = ${seller.accountId}`
    await received(seller, 10)
    const unlocked = await inTransaction(app.ctx, async (tx) => {
      await runPayouts(tx)
      const { count } = await db`
        select from slices
        where account_id = ${seller.accountId} and owed_cents > 0
        for update skip locked
      `
      return count
    })
    expect(unlocked).toBe(500)
    expect((await payoutsOf(seller))[0]).toMatchObject({ state: 'paid', amount: 0 })
    const [owed] = await db<{ cents: number }[]>`
      select sum(owed_cents)::bigint as cents from slices where account_id = ${seller.accountId}
    `
    expect(owed!.cents).toBe(2_500 - (950 + 695))
  })

  it('neither a run nor the list of due payouts reads those of a seller whose setup is not verified', async () => {
    const { ctx } = app
    const held = await openShop(app)
    await insertDue(held, 3_000)
    await setPayoutVerified(ctx, held.accountId, false)
    const seller = await openShop(app)
    await received(seller)
    await ctx.db`analyze accounts, payouts`
    await inTransaction(ctx, async (tx) => {
      // As with many sellers.
      await tx.db`set local enable_seqscan = off`
      const filters = { state: 'due' as const }
      const inTx: Context = { ...tx, begin: (work) => work(tx.db) }
      const list = () => listPayouts(inTx, filters, { perPage: 30, offset: 0 })
      expect(await rowsRead(tx.db, 'payouts', list)).toBeLessThan(100)
      expect(await rowsRead(tx.db, 'payouts', () => runPayouts(tx))).toBeLessThan(100)
    })
    expect((await payoutsOf(seller))[0]).toMatchObject({ state: 'sent' })
    expect((await payoutsOf(held))[0]).toMatchObject({ state: 'held' })
  })

  it('a run takes later payouts if another transaction has locked the 5,000 oldest', async () => {
    const { db } = app.ctx
    const seller = await openShop(app)
    await insertDue(seller, 5_001)
    const count = await inTransaction(app.ctx, async (tx) => {
      await tx.db`
        select from payouts
        where account_id = ${seller.accountId}
        order by id
        limit 5000
        for no key update
      `
      return (await run()).count
    })
    expect(count).toBe(1)
    const [sent] = await payoutsOf(seller)
    expect(sent).toMatchObject({ state: 'sent' })
    await db`delete from payouts where account_id = ${seller.accountId} and state = 'due'`
  })

  it('a run with a SECRET_KEY that cannot read a bank account is refused, and takes no payout', async () => {
    const seller = await openShop(app)
    await enterBankAccount(seller)
    await received(seller)
    const wrong = await startTestApp({
      databaseUrl: app.databaseUrl,
      settings: { ...NO_LIMITS, SECRET_KEY: 'another-key-for-tests-of-this-service' },
    })
    const refused = await wrong.operator.post('/operator/v1/payout-runs')
    expect(refused.status).toBe(409)
    expect(refused.body.error.message).toContain('SECRET_KEY')
    expect((await payoutsOf(seller))[0]).toMatchObject({ state: 'due' })
    expect((await run()).count).toBe(1)
  })

  it('the payouts of a run and those of a slice are found, also after another run has transferred them again', async () => {
    const seller = await openShop(app)
    const { sliceKey } = await received(seller, 10)
    const first = await run()
    const [failed] = await payoutsOf(seller)
    await app.operator.post(`/operator/v1/payouts/${failed.id}/failed`, {
      payload: { reason: 'Closed' },
    })
    await enterBankAccount(seller)
    await received(seller, 20)
    const second = await run()
    const [later, again] = await payoutsOf(seller)
    const find = async (filters: string) => {
      const { data, meta } = (await app.operator.get(`/operator/v1/payouts?${filters}`)).body
      expect(meta.total).toBe(data.length)
      return data
    }
    expect(await find(`run_id=${first.id}`)).toEqual([again])
    expect(await find(`run_id=${second.id}`)).toEqual([later, again])
    expect(await find(`slice_key=${sliceKey}`)).toEqual([again])
    expect(await find(`run_id=${second.id}&slice_key=${sliceKey}`)).toEqual([again])
    for (const other of ['state=failed', 'account_id=999999', 'slice_key=slc_0']) {
      expect(await find(`run_id=${second.id}&${other}`)).toEqual([])
    }
    expect(await find('run_id=999999')).toEqual([])
  })

  it('a run that the bank has executed pays its payouts, except one that has failed, also if another run has transferred that since', async () => {
    const seller = await openShop(app)
    for (const price of [10, 20, 30]) await received(seller, price)
    const first = await run()
    const states = async () =>
      (await payoutsOf(seller)).map(({ state }: { state: string }) => state).toReversed()
    const [returned, again] = (await payoutsOf(seller)) as { id: number }[]
    const fail = ({ id }: { id: number }) =>
      app.operator.post(`/operator/v1/payouts/${id}/failed`, { payload: { reason: 'Closed' } })
    const executed = async ({ id }: { id: number }) =>
      (await app.operator.post(`/operator/v1/payout-runs/${id}/paid`)).body.data
    await fail(again!)
    await enterBankAccount(seller)
    const second = await run()
    await fail(returned!)
    expect(await states()).toEqual(['sent', 'sent', 'due'])
    expect(await executed(first)).toEqual({ payouts: 1 })
    expect(await states()).toEqual(['paid', 'sent', 'due'])
    expect(await executed(first)).toEqual({ payouts: 0 })
    expect(await executed(second)).toEqual({ payouts: 1 })
    const [, paid] = await payoutsOf(seller)
    expect(paid).toMatchObject({ id: again!.id, state: 'paid', paid_at: expect.any(String) })
    const record = `payout_run:${first.id}`
    const audit = (await app.operator.get(`/operator/v1/audit?record=${record}`)).body.data
    expect(audit.map(({ action }: { action: string }) => action)).toEqual([
      'markRunPaid',
      'markRunPaid',
      'runPayouts',
    ])
    expect((await app.operator.post('/operator/v1/payout-runs/999999/paid')).status).toBe(404)
    expect((await run()).count).toBe(1)
  })

  it('the file of a run stays the same after the marketplace’s bank account has changed or is no longer configured', async () => {
    const seller = await openShop(app)
    await received(seller)
    const made = await run()
    const before = await fileOf(made)
    const { payoutIban, payoutName } = app.ctx.config
    try {
      for (const own of [['NL02ABNA0123456789', 'Another'], []]) {
        ;[app.ctx.config.payoutIban, app.ctx.config.payoutName] = own
        expect((await fileOf(made)).text).toBe(before.text)
      }
      await app.ctx.db`
        update payout_runs set debtor_name = null, debtor_iban = null where id = ${made.id}
      `
      expect((await fileOf(made)).status).toBe(409)
    } finally {
      Object.assign(app.ctx.config, { payoutIban, payoutName })
    }
    expect((await fileOf(made)).text).toBe(before.text)
  })

  it('a payout run is refused if the marketplace has no bank account', async () => {
    const bare = await startTestApp({ settings: NO_LIMITS, databaseUrl: app.databaseUrl })
    bare.ctx.config.payoutIban = undefined
    expect((await bare.operator.post('/operator/v1/payout-runs')).status).toBe(409)
  })

  it('a payout that the bank returns after the seller has changed the bank account is due again, under the rules and the hold of a change after the failure, and the e-mail asks for no change', async () => {
    const seller = await openShop(app)
    await enterBankAccount(seller)
    await received(seller)
    const first = await run()
    const [{ id, reference }] = await payoutsOf(seller)
    await enterBankAccount(seller, { iban: 'DE89370400440532013000' })
    const failed = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
      payload: { reason: 'AC04 closed account', reference },
    })
    expect(failed.body.data).toMatchObject({
      state: 'held',
      reason: 'The bank account was changed less than 48 hours ago.',
      amount: 9.5 + 6.95,
      sent_at: null,
    })
    expect(failed.body.data.reference).not.toBe(reference)
    const { email } = (await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)).body
      .data
    const [mail] = await mailsTo(app, email)
    const { subject, text } = mail!
    expect(subject).toBe('Payout failed: 16.45 EUR')
    expect(text).toContain(
      'We will send the payout again to your current bank account, DE •••• 3000.',
    )
    expect(text).not.toMatch(/check|changed/)
    const report = { reason: 'AC04 closed account', reference }
    const repeated = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
      payload: report,
    })
    expect(repeated.status).toBe(409)
    expect((await run()).count).toBe(0)
    const later = new Date(app.ctx.now().getTime() + 49 * 60 * 60 * 1000)
    await whileReplaced(app.ctx, { now: () => later }, async () => {
      const second = await run()
      expect(second.count).toBe(1)
      expect((await fileOf(second)).text).toContain('<IBAN>DE89370400440532013000</IBAN>')
      expect((await fileOf(first)).text).toContain('<IBAN>NL02ABNA0123456789</IBAN>')
    })
    expect((await balances())[`seller:${seller.accountId}`]).toBe(0)
  })

  it('a returned payout stays failed if the same bank account was entered again before, and is due again if its holder has changed', async () => {
    const seller = await openShop(app)
    await enterBankAccount(seller)
    const states: string[] = []
    for (const holder of ['Kanto Cards', 'Kanto Cards GmbH']) {
      await received(seller)
      await run()
      const [{ id }] = await payoutsOf(seller)
      await enterBankAccount(seller, { holder })
      const { body } = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
        payload: { reason: 'Closed' },
      })
      states.push(body.data.state)
    }
    expect(states).toEqual(['failed', 'due'])
    expect((await run()).count).toBe(2)
  })

  it('a returned payout whose new bank account is not verified yet is held until then, which the e-mail says', async () => {
    const seller = await openShop(app)
    await enterBankAccount(seller)
    await received(seller)
    await run()
    const [{ id }] = await payoutsOf(seller)
    await enterBankAccount(seller, { holder: 'Kanto Cards GmbH' })
    const setup = `/operator/v1/accounts/${seller.accountId}/payout-setup`
    await app.operator.post(`${setup}/reject`, { payload: { reason: 'Another holder' } })
    const failed = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
      payload: { reason: 'Closed' },
    })
    expect(failed.body.data).toMatchObject({
      state: 'held',
      reason: 'The payout setup is not verified.',
    })
    const { body } = await app.operator.get('/operator/v1/sandbox/mail')
    expect(body.data[0].text).toContain(
      'to your current bank account, NL •••• 6789, once it is verified.',
    )
  })

  it('a payout names the orders whose refunds a run deducted from it, oldest order first, with the part of each debt', async () => {
    const seller = await openShop(app)
    const refund = (order: number, amount: number) =>
      app.operator.post(`/operator/v1/orders/${order}/refund`, {
        payload: { amount, reason: 'A scratch' },
      })
    const deductions = async () =>
      (await payoutsOf(seller)).map(({ deductions }: { deductions: object[] }) => deductions)
    const first = await received(seller, 50)
    const second = await received(seller, 30)
    await run()
    await refund(second.order, 4)
    await refund(first.order, 20)
    // Two payouts of 16.45 pay 20.00, and a part of the second one 4.00.
    for (let i = 0; i < 2; i++) await received(seller, 10)
    expect(await run()).toMatchObject({ count: 1, total: 8.9 })
    const [of] = [first, second].map(({ sliceKey, order }) => ({
      slice_key: sliceKey,
      order_ids: [order],
    }))
    const ofSecond = { slice_key: second.sliceKey, order_ids: [second.order], amount: 4 }
    expect(await deductions()).toEqual([
      [{ ...of, amount: 3.55 }, ofSecond],
      [{ ...of, amount: 16.45 }],
      [],
      [],
    ])

    // A payout that failed keeps what it has paid, and its next transfer can pay more.
    const [last] = await payoutsOf(seller)
    await app.operator.post(`/operator/v1/payouts/${last.id}/failed`, {
      payload: { reason: 'Closed' },
    })
    await refund(second.order, 1)
    await enterBankAccount(seller)
    expect(await run()).toMatchObject({ count: 1, total: 7.9 })
    expect((await deductions())[0]).toEqual([
      { ...of, amount: 3.55 },
      ofSecond,
      { ...ofSecond, amount: 1 },
    ])
  })

  it('the database refuses deductions that do not add up to their recovery, or exceed what the payout has lost', async () => {
    const { db } = app.ctx
    const seller = await openShop(app)
    const { order } = await received(seller, 10)
    await run()
    await app.operator.post(`/operator/v1/orders/${order}/refund`, {
      payload: { amount: 4, reason: 'A scratch' },
    })
    await received(seller, 10)
    await run()
    const [other, paid] = await payoutsOf(seller)
    const insert = (payoutId: number, kind: string, cents: number) => db`
      insert into payout_deductions (payout_id, posting_id, amount_cents, order_ids)
      select ${payoutId}, max(id), ${cents}, '{}'
      from postings
      where account_id = ${seller.accountId} and kind = ${kind}
    `
    const SUM = 'must add up'
    await expect(insert(paid.id, 'recovery', 399)).rejects.toThrow(SUM)
    await expect(insert(paid.id, 'sale', 950)).rejects.toThrow(SUM)
    await expect(insert(paid.id, 'recovery', 400)).rejects.toThrow('must not exceed')
    await expect(insert(other.id, 'recovery', 400)).rejects.toThrow()
    await expect(db`update payout_deductions set amount_cents = 1`).rejects.toThrow('never change')
  })

  it('the e-mail about a deduction does not say that an order was paid out which never was', async () => {
    const seller = await openShop(app, LABEL)
    const { email } = (await app.operator.get(`/operator/v1/accounts/${seller.accountId}`)).body
      .data
    const [lost, sold] = await list(seller, cardItem({ price: 10 }), cardItem({ price: 20 }))
    const orders: number[] = []
    for (const listing of [lost!, sold!]) {
      const { orderIds } = await buy(app, [[listing, 1]])
      orders.push(orderIds[0]!)
      await ship(seller, orderIds[0]!, {})
    }
    await app.operator.post(`/operator/v1/orders/${orders[0]}/refund`, {
      payload: { amount: 10, reason: 'Lost' },
    })
    for (const order of orders) await act(app, order, 'receive')
    expect(await run()).toMatchObject({ count: 1, total: 18.5 })
    const [mail] = await mailsTo(app, email)
    expect(mail!.text).toContain(
      `We have deducted 0.50 EUR for refunds that exceeded what was left to pay out for these orders:\n\n- 0.50 EUR for order ${orders[0]}`,
    )
  })
})

it('once a day of the test clock, the sandbox pays the payouts that were due before the day began, and leaves later ones to the operator’s runs', async () => {
  const seller = await openShop(app)
  await received(seller)
  await runSchedule(app.ctx)
  expect((await payoutsOf(seller))[0].state).toBe('due')
  await advance(app.operator, DAY)
  await Promise.all([runSchedule(app.ctx), runSchedule(app.ctx)])
  const [payout] = await payoutsOf(seller)
  expect(payout.state).toBe('paid')
  await received(seller)
  await runSchedule(app.ctx)
  const states = (await payoutsOf(seller)).map(({ state }: { state: string }) => state)
  expect(states).toEqual(['due', 'paid'])
  expect(await run()).toMatchObject({ count: 1, file: expect.any(String) })
  const [{ id, state }] = await payoutsOf(seller)
  expect(state).toBe('sent')
  const { body } = await app.operator.post(`/operator/v1/payouts/${id}/failed`, {
    payload: { reason: 'The account is closed.' },
  })
  expect(body.data.state).toBe('failed')
})

it('outside the sandbox no payout is paid without the operator', async () => {
  const seller = await openShop(app)
  await enterBankAccount(seller)
  await received(seller)
  const tomorrow = new Date(app.ctx.now().getTime() + DAY * 1000)
  const config = { ...app.ctx.config, sandbox: false }
  await runSandboxPayouts({ ...app.ctx, config, now: () => tomorrow })
  expect((await payoutsOf(seller))[0]).toMatchObject({ state: 'due' })
})

/** Adds slices with a payout each that is due. */
async function insertDue({ accountId }: Seller, count: number): Promise<void> {
  const { db } = app.ctx
  await insertSlices(db, accountId, Array(count).fill('Ash'))
  await db`
    insert into payouts (account_id, slice_id, amount_cents, created_at)
    select account_id, id, 475, ${app.ctx.now()}
    from slices
    where account_id = ${accountId}
    order by id
  `
}

/** Enters a bank account as the seller does. */
async function enterBankAccount(
  seller: Seller,
  { holder = 'Kanto Cards', iban = 'NL02 ABNA 0123 4567 89' } = {},
) {
  const wanted = { holder, iban, password: undefined }
  return submitSetup(app.ctx, seller.accountId, wanted, async () => {})
}
