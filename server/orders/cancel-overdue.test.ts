import { beforeAll, expect, it } from 'vitest'
import { inTransaction } from '../database/in-transaction.ts'
import { runSchedule } from '../schedule.ts'
import type { Service } from '../service.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { advance, cardItem, list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import {
  buy,
  cancel,
  eventsOf,
  insertSlices,
  LABEL,
  openShop,
  rowOf,
  sellEach,
  ship,
} from '../test/fixtures/orders.ts'
import { untilLockWaiters, whileLocked } from '../test/lock-waiters.ts'
import { rowsRead } from '../test/rows-read.ts'
import { cancelOverdue } from './cancel-overdue.ts'
import { remindSellers } from './reminders.ts'

const DAY_S = 24 * 60 * 60

let app: TestApp
let other: TestApp
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  other = await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })
})

type Shop = Awaited<ReturnType<typeof openShop>>

const mailsTo = async ({ accountId }: Shop) => {
  const rows = await app.ctx.db<{ subject: string; text: string }[]>`
    select subject, text
    from mails
    where recipient = (select email from accounts where id = ${accountId})
    order by id
  `
  return rows.map(({ subject, text }) => ({ subject, text }))
}
const subjectsTo = async (shop: Shop) => (await mailsTo(shop)).map(({ subject }) => subject)

const verify = ({ accountId }: Shop, payout_verified: boolean) =>
  app.operator.patch(`/operator/v1/accounts/${accountId}`, { payload: { payout_verified } })

/** Runs the jobs on two services at once. */
const runOnBoth = () =>
  Promise.all(
    [app.ctx, { ...other.ctx, now: app.ctx.now }].flatMap((ctx) => [
      cancelOverdue(ctx as Service),
      remindSellers(ctx as Service),
    ]),
  )

it('orders that are not shipped are announced three days before, and cancelled once, refunded and restocked', async () => {
  const shop = await openShop(app)
  const [order, shipped] = (await sellEach(app, shop, cardItem({ quantity: 1 }), cardItem())) as [
    number,
    number,
  ]
  const [later] = (await sellEach(app, shop, cardItem())) as [number]
  await ship(shop, later, { tracking_code: 'CODE' })
  await advance(app.operator, 27 * DAY_S - 60)
  await runOnBoth()
  expect(await subjectsTo(shop)).toEqual(['Sold: 2 listings', expect.stringMatching(/^Sold: /)])
  await advance(app.operator, 120)
  await runOnBoth()
  await runOnBoth()
  const [, , announced, ...more] = await mailsTo(shop)
  expect(more).toEqual([])
  expect(announced).toMatchObject({
    subject: `Please ship: order ${order}`,
    text: expect.stringMatching(/2 items .*refunded automatically on \d{4}-\d\d-\d\d/s),
  })
  expect((await rowOf(shop, order)).status).toBe('pending')

  await app.ctx.db`
    insert into shipments (
      slice_id, order_id, reference, provider, state, in_doubt, lines, label_name, created_at
    )
    select slice_id, id, 'r', 'simulated', 'buying', true, 1, 'l', created_at
    from orders
    where id = ${order}
  `
  await advance(app.operator, 3 * DAY_S)
  await runOnBoth()
  expect((await rowOf(shop, order)).status).toBe('pending')
  await app.ctx.db`delete from shipments where reference = 'r'`
  await runOnBoth()
  const rows = (await shop.get('/tools/v1/orders')).body.data
  for (const id of [order, shipped]) {
    expect(rows.find((row: { id: number }) => row.id === id)).toMatchObject({
      status: 'cancelled',
      cancelled_by: 'system',
      financial: { refunded_amount: cardItem().price },
    })
  }
  expect((await rowOf(shop, later)).status).toBe('shipped')
  const { listing_id } = await rowOf(shop, order)
  const { body } = await shop.get(`/tools/v1/listings/${listing_id}`)
  expect(body.data).toMatchObject({ status: 'active', quantity: 1 })
  const events = await eventsOf(app, shop.accountId)
  expect(events.filter(({ event }) => event === 'order.cancelled')).toHaveLength(2)
  const { body: balance } = await app.operator.get('/operator/v1/ledger/balance')
  const [paid] = (await app.ctx.db`
    select sum(seller_cents)::int as cents
    from postings
    where account_id = ${shop.accountId} and slice_id <> (select slice_id from orders where id = ${later})
  `) as [{ cents: number }]
  expect(paid.cents).toBe(0)
  expect(
    Object.values(balance.data as number[]).reduce((sum, euros) => sum + euros, 0),
  ).toBeCloseTo(0)
})

it('a seller without a payout setup is reminded, and has 14 days until a verification ends the countdown', async () => {
  const [late, saved] = [await openShop(app), await openShop(app)]
  const orders: number[] = []
  for (const shop of [late, saved]) {
    orders.push(...(await sellEach(app, shop, cardItem())))
    await verify(shop, false)
  }
  // Runs the whole schedule, because it must contain both jobs.
  await runSchedule(app.ctx)
  expect((await subjectsTo(late)).slice(1)).toEqual(['Your payout setup is missing'])
  await advance(app.operator, 13 * DAY_S)
  await runOnBoth()
  const announced = `Your payout setup is missing: order ${orders[0]}`
  const mail = (await mailsTo(late)).find(({ subject }) => subject === announced)
  // The sandbox's clock has jumped over the moment of the announcement.
  const sold = Date.parse((await rowOf(late, orders[0]!)).created_at)
  const deadline = new Date(sold + 14 * DAY_S * 1000).toISOString()
  expect(mail?.text).toContain(`automatically on ${deadline.slice(0, 16).replace('T', ' ')} UTC`)
  await verify(saved, true)
  await advance(app.operator, DAY_S + 60)
  await runSchedule(app.ctx)
  expect((await rowOf(late, orders[0]!)).status).toBe('cancelled')
  expect((await rowOf(saved, orders[1]!)).status).toBe('pending')
})

it('an order whose seller is verified while its cancellation waits for a lock stays pending', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  await verify(shop, false)
  await advance(app.operator, 15 * DAY_S)
  const { cancelling } = await whileLocked(
    app.ctx,
    (db) => db`
      select from slices
      where id = (select slice_id from orders where id = ${order})
      for no key update
    `,
    async () => {
      const cancelling = cancelOverdue(app.ctx)
      await untilLockWaiters(app.ctx.db)
      await verify(shop, true)
      return { cancelling }
    },
  )
  await cancelling
  expect((await rowOf(shop, order)).status).toBe('pending')
})

it('the e-mails about orders that wait for the payout setup say that it is being checked or was rejected', async () => {
  const [checked, rejected] = [await openShop(app), await openShop(app)]
  const orders: number[] = []
  for (const shop of [checked, rejected]) {
    orders.push(...(await sellEach(app, shop, cardItem())))
    const member = await app.member(shop.accountId)
    await member.put('/dashboard/api/payouts/setup', {
      payload: { holder: 'Kanto Cards', iban: 'NL02ABNA0123456789' },
    })
    await verify(shop, false)
  }
  await app.operator.post(`/operator/v1/accounts/${rejected.accountId}/payout-setup/reject`, {
    payload: { reason: 'Another holder' },
  })
  await runOnBoth()
  await advance(app.operator, 12 * DAY_S)
  await runOnBoth()
  for (const [shop, order, words] of [
    [checked, orders[0], 'Your bank account is being checked'],
    [rejected, orders[1], 'Your bank account was rejected'],
  ] as const) {
    const [, ...subjects] = (await subjectsTo(shop)).filter(
      (subject) => subject !== 'Your payout setup was rejected',
    )
    expect(new Set(subjects)).toEqual(new Set([words, `${words}: order ${order}`]))
  }
  for (const { text } of (await mailsTo(checked)).slice(1)) {
    expect(text).toContain('as soon as we have verified your bank account')
  }
})

it('a seller without a payout setup is reminded within the next run of an order that follows cancelled ones', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  const { listing_id } = await rowOf(shop, order)
  await verify(shop, false)
  await runOnBoth()
  await buy(app, [[listing_id, 1]])
  await runOnBoth()
  const reminders = async () =>
    (await subjectsTo(shop)).filter((subject) => subject === 'Your payout setup is missing')
  expect(await reminders()).toHaveLength(1)
  for (const { id } of (await shop.get('/v1/orders')).body.data) await cancel(app, id)
  await buy(app, [[listing_id, 1]])
  await runOnBoth()
  await runOnBoth()
  expect(await reminders()).toHaveLength(2)
  // Nobody waits for these e-mails, so they take the turns of the sellers.
  const urgent = await app.ctx.db`
    select from mails where subject = 'Your payout setup is missing' and account_id is null
  `
  expect(urgent).toEqual([])
})

/** Runs the job of a service outside the sandbox, a number of days from now. */
const runsAfter = (more: object = {}) => {
  const start = app.ctx.now().getTime()
  return (days: number, settings: object = {}) =>
    cancelOverdue({
      ...app.ctx,
      ...more,
      config: { ...app.ctx.config, sandbox: false, ...settings },
      now: () => new Date(start + days * DAY_S * 1000),
    })
}

it('outside the sandbox nothing is cancelled that was not announced three days before', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  const after = runsAfter()
  const status = async () => (await rowOf(shop, order)).status
  await after(50, { shipWithinDays: 0 })
  expect(await subjectsTo(shop)).toHaveLength(1)
  await after(50)
  await after(52.9)
  expect(await subjectsTo(shop)).toHaveLength(2)
  expect(await status()).toBe('pending')
  await after(53)
  expect(await status()).toBe('cancelled')
})

it('an order that can’t be cancelled is logged, and stops neither later cancellations nor announcements', async () => {
  const shop = await openShop(app)
  const [broken] = (await sellEach(app, shop, cardItem())) as [number]
  const [next] = (await sellEach(app, shop, cardItem())) as [number]
  const later = await openShop(app)
  await sellEach(app, later, cardItem())
  const { db } = app.ctx
  await db`
    update orders set created_at = created_at + interval '3 days' where account_id = ${later.accountId}
  `
  await db`
    alter table orders
    add constraint refuses check (id <> ${db.unsafe(String(broken))} or status <> 'cancelled') not valid
  `
  const errors: object[] = []
  const log = { ...app.ctx.log, error: (details: object) => errors.push(details) }
  const run = runsAfter({ log })
  try {
    await run(27)
    await run(30)
  } finally {
    await db`alter table orders drop constraint refuses`
  }
  expect([(await rowOf(shop, broken)).status, (await rowOf(shop, next)).status]).toEqual([
    'pending',
    'cancelled',
  ])
  expect(errors).toMatchObject([{ err: { constraint_name: 'refuses' } }])
  expect(await subjectsTo(later)).toHaveLength(2)
})

it('with both settings 0, as a restore needs it, an announced order whose time is over stays', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  const after = runsAfter()
  const status = async () => (await rowOf(shop, order)).status
  await after(27)
  await after(31, { shipWithinDays: 0, unverifiedCancelDays: 0 })
  expect(await status()).toBe('pending')
  await after(31)
  expect(await status()).toBe('cancelled')
})

it('a cancellation that a verification prevented is announced again after the seller loses the verification', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  const after = runsAfter()
  const status = async () => (await rowOf(shop, order)).status
  await verify(shop, false)
  await after(12)
  expect(await subjectsTo(shop)).toHaveLength(2)
  await verify(shop, true)
  await after(13)
  await verify(shop, false)
  await after(20)
  await after(22.9)
  expect(await status()).toBe('pending')
  expect(await subjectsTo(shop)).toHaveLength(3)
  await after(23)
  expect(await status()).toBe('cancelled')
})

it('a label whose order is not marked as shipped for three days causes one e-mail, and none before it is ready', async () => {
  const shop = await openShop(app, LABEL)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  const [withheld] = (await sellEach(app, shop, cardItem())) as [number]
  await shop.post(`/v1/orders/${order}/label`)
  const setCarrier = (payload: object) =>
    app.operator.put('/operator/v1/sandbox/carrier', { payload })
  await setCarrier({ label: 'action_required' })
  await shop.post(`/v1/orders/${withheld}/label`)
  await runOnBoth()
  expect(await subjectsTo(shop)).toHaveLength(2)
  await advance(app.operator, 3 * DAY_S + 60)
  await runOnBoth()
  await runOnBoth()
  expect((await subjectsTo(shop)).slice(2)).toEqual([`Have you shipped order ${order}?`])
  await setCarrier({})
  await shop.post(`/v1/orders/${withheld}/label`)
  await runOnBoth()
  expect((await subjectsTo(shop)).slice(3)).toEqual([`Have you shipped order ${withheld}?`])
})

it('the rows of a slice that the system cancels cause one e-mail to each party, with the refunds and the stock of all', async () => {
  const shop = await openShop(app)
  const items = [cardItem({ price: 3.33 }), productItem(), cardItem({ price: 5 }), cardItem()]
  const [three, box, removed, early] = (await list(shop, ...items)) as [
    number,
    number,
    number,
    number,
  ]
  const { orderIds, sliceKey } = await buy(app, [
    [three, 3],
    [box, 1],
    [removed, 1],
    [early, 1],
  ])
  const [threeRow, boxRow, removedRow, earlyRow] = orderIds as [number, number, number, number]
  await cancel(app, earlyRow)
  await app.operator.post(`/operator/v1/orders/${threeRow}/refund`, {
    payload: { amount: 1.5, reason: 'Bent' },
  })
  await app.operator.post(`/operator/v1/listings/${removed}/take-down`, {
    payload: { reason: 'A counterfeit' },
  })
  await advance(app.operator, 31 * DAY_S)
  await runOnBoth()

  const { body } = await app.operator.get(`/operator/v1/mails?slice_key=${sliceKey}&per_page=100`)
  const mails = body.data.filter(({ text }: { text: string }) =>
    text.includes('not shipped in time'),
  )
  const { config } = app.ctx
  const rows = [
    `- 3 × Charizard ex, 9.99 EUR (order ${threeRow})`,
    `- Obsidian Flames Booster Box, 129.99 EUR (order ${boxRow})`,
    `- Charizard ex, 5.00 EUR (order ${removedRow})`,
  ].join('\n')
  const { shop_name: shopName } = (await shop.get('/v1/me')).body.data
  // 9.99 − 1.50 + 129.99 + 5.00
  const expected = [
    `Hello Misty Waterflower,\n\nThese items from ${shopName} were cancelled, because they were not shipped in time:\n\n${rows}\n\nYou will be refunded 143.48 EUR. The shipping of 6.95 EUR is refunded as well.`,
    `Hello ${shopName},\n\nThese items of Misty Waterflower’s order were cancelled, because they were not shipped in time:\n\n${rows}\n\nMisty Waterflower will be refunded 143.48 EUR. The shipping of 6.95 EUR is refunded as well. The units are in your stock again, except those of removed listings.\n\nThe page of the order: ${config.publicUrl}/dashboard/orders/${threeRow}`,
  ]
  expect(mails.map(({ text }: { text: string }) => text).reverse()).toEqual(expected)
  for (const { subject } of mails) expect(subject).toBe('Cancelled: 3 items')
  const events = await eventsOf(app, shop.accountId)
  expect(events.filter(({ event }) => event === 'order.cancelled')).toHaveLength(4)
  const stockOf = async (listing: number) =>
    (await shop.get(`/tools/v1/listings/${listing}`)).body.data.quantity
  expect([await stockOf(three), await stockOf(box)]).toEqual([
    items[0]!.quantity,
    items[1]!.quantity,
  ])
})

it('the e-mail about a cancellation by the system claims no sale of a hidden listing', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem({ quantity: 1 }))) as [number]
  const { listing_id } = await rowOf(shop, order)
  await shop.patch(`/v1/listings/${listing_id}`, { payload: { status: 'hidden' } })
  await advance(app.operator, 31 * DAY_S)
  await runOnBoth()
  const { text } = (await mailsTo(shop)).at(-1)!
  expect(text).toContain('not shipped in time')
  expect(text).toMatch(/The units are in your stock again\.\n\nThe page of the order: \S+$/)
})

it('the e-mail about a cancellation by the system claims no stock of a removed listing', async () => {
  const shop = await openShop(app)
  const [order] = (await sellEach(app, shop, cardItem())) as [number]
  const { listing_id } = await rowOf(shop, order)
  await app.operator.post(`/operator/v1/listings/${listing_id}/take-down`, {
    payload: { reason: 'A counterfeit' },
  })
  await advance(app.operator, 31 * DAY_S)
  await runOnBoth()
  expect((await mailsTo(shop)).at(-1)!.text).toMatch(
    /Misty Waterflower will be refunded 4\.50 EUR\. The shipping of 6\.95 EUR is refunded as well\.\n\nThe page of the order: \S+$/,
  )
})

it('the jobs about waiting orders read no others, whatever number of recent ones waits', async () => {
  const { ctx } = app
  const { accountId } = await openShop(app)
  const daysAgo = (days: number) => new Date(ctx.now().getTime() - days * DAY_S * 1000)
  await insertSlices(ctx.db, accountId, Array(6_000).fill('Ash'), { from: daysAgo(100) })
  const recent = { from: daysAgo(1), status: 'pending' }
  await insertSlices(ctx.db, accountId, Array(3_000).fill('Ash'), recent)
  // The reminder of a missing setup may read all waiting orders, so no seller is due for one.
  await ctx.db`update accounts set payout_verified = true`
  await ctx.db`
    insert into shipments (
      slice_id, order_id, reference, provider, carrier_id, state, in_doubt, status, lines,
      label_name, created_at, bought_at
    )
    select
      slice_id, id, 'old_' || id, 'simulated', 'old_' || id, 'bought', false, 'ready', 1,
      'old_' || id, created_at, created_at
    from orders
    where account_id = ${accountId} and status = 'received'
  `
  await ctx.db`analyze accounts, orders, slices, shipments`
  for (const job of [cancelOverdue, remindSellers]) {
    for (const table of ['orders', 'slices', 'shipments']) {
      const read = await inTransaction(ctx, (tx) => rowsRead(tx.db, table, () => job(tx)))
      expect(read, `rows of ${table} that ${job.name} reads`).toBeLessThan(100)
    }
  }
})
