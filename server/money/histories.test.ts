import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { findBookViolations } from '../../scripts/crash-test/money-checks.ts'
import { cancelOverdue } from '../orders/cancel-overdue.ts'
import { startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { act, buy, cancel, LABEL, openShop, PARCEL, ship } from '../test/fixtures/orders.ts'
import { submitSetup } from './payout-setup.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** Two services on one database. */
let apps: [TestApp, TestApp]
beforeAll(async () => {
  const app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  apps = [app, await startTestApp({ databaseUrl: app.databaseUrl, settings: NO_LIMITS })]
})

const STEPS = [
  ...['sell', 'ship', 'ship', 'receive', 'receive', 'cancel', 'dispute'],
  ...['resolve for seller', 'resolve for buyer', 'refund by seller', 'refund by platform'],
  ...['run', 'run', 'paid', 'failed', 'change setup', 'answer', 'resolve with refund', 'overdue'],
] as const

/** Steps after rows were received and paid out. `return` takes a refunded row, if there is one. */
const LATE_STEPS = [
  ...['earn', 'run', 'run', 'refund whole row', 'return', 'dispute', 'resolve for seller'],
  ...['refund by seller', 'failed', 'change setup'],
] as const

const stepOf = <K extends string>(...kinds: readonly K[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    /** Selects one of the rows or payouts. */
    pick: fc.nat(20),
    cents: fc.integer({ min: 1, max: 2_000 }),
    service: fc.nat(1),
  })
const step = stepOf(...STEPS)
const lateStep = stepOf(...LATE_STEPS)
type Step = {
  kind: (typeof STEPS | typeof LATE_STEPS)[number]
  pick: number
  cents: number
  service: number
}

type Seller = Awaited<ReturnType<typeof openShop>>
/** `bySeller` has the cents that the seller has refunded, by row. */
type History = { seller: Seller; orders: number[]; bySeller: Map<number, number> }

/** Does one step. The service refuses a step that the state forbids, and changes nothing. */
async function apply(history: History, { kind, pick, cents, service }: Step): Promise<void> {
  const { seller, orders, bySeller } = history
  const app = apps[service]!
  if (kind === 'sell') {
    const listings = await list(
      seller,
      cardItem({ price: cents / 100 }),
      cardItem({ price: (cents % 7) + 1 }),
    )
    const option = pick % 2 ? PARCEL.code : LABEL.code
    const shipping = [{ account_id: seller.accountId, option }]
    const sale = await buy(
      app,
      listings.map((id) => [id, 1 + (pick % 3)]),
      { shipping },
    )
    orders.push(...sale.orderIds)
    return
  }
  if (kind === 'earn') {
    const before = orders.length
    await apply(history, { kind: 'sell', pick: 1, cents, service })
    for (const order of orders.slice(before)) {
      await ship(seller, order, { tracking_code: 'CODE' })
      await act(app, order, 'receive')
    }
    return
  }
  if (kind === 'run') {
    await app.operator.post('/operator/v1/payout-runs')
    return
  }
  if (kind === 'change setup') {
    const bank = { holder: 'Kanto Cards', iban: 'NL02ABNA0123456789', password: '' }
    await submitSetup(app.ctx, seller.accountId, bank, async () => {})
    return
  }
  if (kind === 'paid' || kind === 'failed') {
    const { body } = await app.operator.get(`/operator/v1/payouts?account_id=${seller.accountId}`)
    const payout = body.data[pick % Math.max(body.data.length, 1)]
    const payload = kind === 'failed' ? { reason: 'Closed' } : undefined
    if (payout) await app.operator.post(`/operator/v1/payouts/${payout.id}/${kind}`, { payload })
    return
  }
  if (kind === 'overdue') {
    // All that is pending now was sold more than a day ago, so the system cancels it.
    const later = () => new Date(app.ctx.now().getTime() + 2 * DAY_MS)
    await cancelOverdue({
      ...app.ctx,
      config: { ...app.ctx.config, shipWithinDays: 1 },
      now: later,
    } as TestApp['ctx'])
    return
  }
  const refunded = orders.filter((order) => bySeller.has(order))
  const from = kind === 'return' && refunded.length > 0 ? refunded : orders
  const order = from[pick % Math.max(from.length, 1)]
  if (order === undefined) return
  if (kind === 'ship') {
    const { status } = await ship(seller, order, { tracking_code: 'CODE' })
    if (status === 422) await ship(seller, order, {})
  } else if (kind === 'cancel') await cancel(app, order)
  else if (kind === 'resolve for seller')
    await act(app, order, 'resolve', { in_favour_of: 'seller' })
  else if (kind === 'resolve for buyer') await act(app, order, 'resolve', { in_favour_of: 'buyer' })
  else if (kind === 'receive' || kind === 'dispute') await act(app, order, kind)
  else if (kind === 'return') {
    await act(app, order, 'dispute')
    await act(app, order, 'resolve', { in_favour_of: 'buyer' })
  } else if (kind === 'refund whole row') {
    const { body } = await app.operator.get(`/operator/v1/orders/${order}`)
    const { price, quantity, financial } = body.data
    const left = Math.round((price * quantity - financial.refunded_amount) * 100)
    await apply(history, { kind: 'refund by seller', pick, cents: left, service })
  } else if (kind === 'answer')
    await seller.post(`/tools/v1/orders/${order}/dispute/answer`, { payload: { message: 'No' } })
  else if (kind === 'resolve with refund') {
    const { status } = await act(app, order, 'resolve', { refund: cents / 100 })
    if (status === 200) bySeller.set(order, (bySeller.get(order) ?? 0) + cents)
  } else {
    const borne_by = kind === 'refund by seller' ? 'seller' : 'platform'
    const { status } = await app.operator.post(`/operator/v1/orders/${order}/refund`, {
      payload: { amount: cents / 100, reason: 'A scratch', borne_by },
    })
    if (status === 200 && borne_by === 'seller') {
      bySeller.set(order, (bySeller.get(order) ?? 0) + cents)
    }
  }
}

type Row = {
  sliceId: number
  status: string
  gross: number
  net: number
  id: number
  share: number
}

/** Compares the ledger and the payouts with the orders. */
async function check({ seller: { accountId }, bySeller }: History): Promise<void> {
  const { db } = apps[0].ctx
  const rows = await db<Row[]>`
    select
      o.id,
      o.slice_id as "sliceId",
      o.status,
      o.price_cents * o.quantity as gross,
      o.price_cents::bigint * o.quantity - o.commission_cents as net,
      case when s.fulfilment = 'self_ship' then s.shipping_cents else 0 end as share
    from orders o
    join slices s on s.id = o.slice_id
    where o.account_id = ${accountId}
  `
  const slices = await db<
    {
      id: number
      cents: number
      paid: number
      owed: number
      unsent: number[]
    }[]
  >`
    select
      s.id,
      sum(p.seller_cents)::bigint as cents,
      sum(p.payouts_cents)::bigint as paid,
      s.owed_cents as owed,
      array(
        select amount_cents
        from payouts
        where slice_id = s.id and state in ('due', 'failed') and amount_cents > 0
      ) as unsent
    from slices s
    join postings p on p.slice_id = s.id
    where s.account_id = ${accountId}
    group by s.id
  `
  let earned = 0
  let received = 0
  for (const { id, cents, paid, owed, unsent } of slices) {
    const own = rows.filter(({ sliceId }) => sliceId === id)
    const isCancelled = own.every(({ status }) => status === 'cancelled')
    const entitled = own
      .filter(({ status }) => status !== 'cancelled')
      .reduce((sum, row) => sum + row.net - (bySeller.get(row.id) ?? 0), 0)
    const share = isCancelled ? 0 : own[0]!.share
    // A recovery is the part of another slice's payout that was deducted for this one.
    expect(cents + paid).toBe(entitled + share)
    expect(owed).toBe(Math.max(-cents, 0))
    const isOpen = own.some(({ status }) => ['pending', 'shipped', 'disputed'].includes(status))
    if (!isOpen) expect(unsent.map(Number)).toEqual(cents > 0 ? [cents] : [])
    earned += entitled + share
    received += paid
  }
  const { body } = await apps[0].operator.get(
    `/operator/v1/payouts?account_id=${accountId}&per_page=100`,
  )
  for (const { amount, lines } of body.data) {
    const total = (lines as Record<string, number>[]).reduce(
      (sum, { gross, commission, refunds, shipping }) =>
        sum + gross! - commission! - refunds! + shipping!,
      0,
    )
    expect(total).toBeCloseTo(amount, 6)
  }
  const owedInAll = slices.reduce((sum, { owed }) => sum + owed, 0)
  expect(received).toBeLessThanOrEqual(earned + owedInAll)
  const repeated = await db`
    select payout_id
    from payout_transfers t
    join payouts p on p.id = t.payout_id
    where t.account_id = ${accountId} and t.reference = p.reference and p.state = 'failed'
    group by payout_id
    having count(*) > 1
  `
  expect(repeated).toHaveLength(0)
  const [refunded] = await db<{ refunds: number; shipping: number }[]>`
    select
      sum(refunds_cents)::bigint as refunds,
      coalesce(sum(refunds_cents) filter (where kind = 'shipping_refund'), 0)::bigint as shipping
    from postings
    where account_id = ${accountId}
  `
  const [expected] = await db<{ cents: number }[]>`
    select coalesce(sum(refunded_cents), 0)::bigint as cents
    from orders
    where account_id = ${accountId}
  `
  if (slices.length > 0) expect(refunded!.refunds - refunded!.shipping).toBe(expected!.cents)
}

it('whatever happens to orders and payouts, no seller receives more than the net and the ledger sums to zero', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const seller = await openShop(apps[0], PARCEL, LABEL)
      const history: History = { seller, orders: [], bySeller: new Map() }
      const sell: Step = { kind: 'sell', pick: 1, cents: 999, service: 0 }
      for (let i = 0; i < 2; i++) await apply(history, sell)
      for (const order of history.orders.slice(0, 2)) {
        await ship(seller, order, { tracking_code: 'CODE' })
        await act(apps[0], order, 'receive')
      }
      for (const one of steps) await apply(history, one)
      await check(history)
    }),
    { numRuns: 18, endOnFailure: true },
  )
  const { body } = await apps[0].operator.get('/operator/v1/ledger/balance')
  const cents = Object.values(body.data as Record<string, number>).map((euros) =>
    Math.round(euros * 100),
  )
  expect(cents.reduce((sum, one) => sum + one, 0)).toBe(0)
})

it('whatever happens to rows after their payout, what a seller is owed is due in one payout of the slice', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(lateStep, { minLength: 12, maxLength: 40, size: 'max' }),
      async (steps) => {
        const seller = await openShop(apps[0], PARCEL)
        const history: History = { seller, orders: [], bySeller: new Map() }
        await apply(history, { kind: 'earn', pick: 1, cents: 1_999, service: 0 })
        for (const one of steps) await apply(history, one)
        await check(history)
      },
    ),
    { numRuns: 40, endOnFailure: true },
  )
  expect(await findBookViolations(apps[0].ctx.db)).toEqual([])
})

it('concurrent steps on two services leave the books as consistent as sequential ones', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(step, lateStep), { minLength: 8, maxLength: 16 }),
      async (steps) => {
        const seller = await openShop(apps[0], PARCEL)
        const history: History = { seller, orders: [], bySeller: new Map() }
        const sell: Step = { kind: 'sell', pick: 1, cents: 1_234, service: 0 }
        for (let i = 0; i < 3; i++) await apply(history, sell)
        for (const order of history.orders) await ship(seller, order, { tracking_code: 'CODE' })
        for (const order of history.orders.slice(0, 4)) await act(apps[0], order, 'receive')
        const at = steps.filter(({ kind }) => kind !== 'sell' && kind !== 'earn')
        await Promise.all(at.map((one) => apply(history, one)))
        await check(history)
      },
    ),
    { numRuns: 15, endOnFailure: true },
  )
})

it('a refund and a concurrent cancellation on another service never refund more than the price', async () => {
  const seller = await openShop(apps[0], PARCEL)
  const history: History = { seller, orders: [], bySeller: new Map() }
  const sell: Step = { kind: 'sell', pick: 1, cents: 1_500, service: 0 }
  for (let i = 0; i < 3; i++) await apply(history, sell)
  await Promise.all(
    history.orders.flatMap((order, i) => [
      apply(history, { kind: 'refund by seller', pick: i, cents: 100, service: 0 }),
      i % 2 ? cancel(apps[1], order) : apply(history, { ...sell, kind: 'overdue', service: 1 }),
    ]),
  )
  await check(history)
})
