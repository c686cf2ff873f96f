import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { COMMISSION_RATES } from '../accounts/tiers.ts'
import { eurosFromCents } from '../cents.ts'
import { FULFILMENTS, SELLER_TIERS, type SellerTier } from '../enums.ts'
import { type Seller, startTestApp, type TestApp } from '../test/app.ts'
import { cardItem, changeAccount, list, NO_LIMITS } from '../test/fixtures/listings.ts'
import { buy, cancel, LABEL, type Line, PARCEL, shipsBy, sliceOf } from '../test/fixtures/orders.ts'
import { commissionOf, grossOf, netOf, paidTo, totalsOf } from './money.ts'

/** Prices as listings may have them, and quantities beyond what one listing may have: lines add up. */
const sold = fc.record({
  priceCents: fc.integer({ min: 1, max: 9_999_999 }),
  quantity: fc.integer({ min: 1, max: 2_000 }),
})
const tier = fc.constantFrom(...SELLER_TIERS)
const fulfilment = fc.constantFrom(...FULFILMENTS)
const shippingCents = fc.integer({ min: 0, max: 9_999_999 })

/** The rates of §2.9 as percentages. */
const PERCENT: Record<SellerTier, string> = {
  Bronze: '5',
  Silver: '4.5',
  Gold: '4',
  Diamond: '3.5',
  Master: '3',
}

/** The gross in cents times the percentage in exact arithmetic, rounded half up to the cent. */
function exactCommission(grossCents: number, percent: string): bigint {
  const [whole, fraction = ''] = percent.split('.')
  const scale = 10n ** BigInt(fraction.length) * 100n
  const doubled = 2n * BigInt(grossCents) * BigInt(whole + fraction)
  return (doubled + scale) / (2n * scale)
}

const rowOf = (gross: { priceCents: number; quantity: number }, rate: number) => ({
  ...gross,
  commissionCents: commissionOf(grossOf(gross), rate),
})

describe('the commission', () => {
  it('the commission equals exact decimal arithmetic, half a cent rounded up, for any tier, price and quantity', () => {
    fc.assert(
      fc.property(sold, tier, (row, tier) => {
        const gross = grossOf(row)
        const commission = commissionOf(gross, COMMISSION_RATES[tier])
        expect(BigInt(commission)).toBe(exactCommission(gross, PERCENT[tier]))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each<[SellerTier, first: number, every: number]>([
    ['Bronze', 10, 20],
    ['Silver', 100, 200],
    ['Diamond', 100, 200],
    ['Master', 50, 100],
  ])(
    'the commission of a %s seller is rounded up at every exact half cent, where floating point would err',
    (tier, first, every) => {
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 100_000_000 }), (nth) => {
          const gross = first + nth * every
          const rate = COMMISSION_RATES[tier]
          expect((gross * rate) % 10_000).toBe(5_000)
          expect(commissionOf(gross, rate)).toBe((gross * rate + 5_000) / 10_000)
        }),
      )
    },
  )

  it('commission and net are whole cents, never negative, and add up to the gross', () => {
    fc.assert(
      fc.property(sold, tier, (gross, tier) => {
        const row = rowOf(gross, COMMISSION_RATES[tier])
        expect(Number.isSafeInteger(row.commissionCents)).toBe(true)
        expect(row.commissionCents).toBeGreaterThanOrEqual(0)
        expect(netOf(row)).toBeGreaterThanOrEqual(0)
        expect(netOf(row) + row.commissionCents).toBe(grossOf(row))
      }),
    )
  })

  it('the commission is never higher in a better tier', () => {
    fc.assert(
      fc.property(sold, (row) => {
        const inTurn = SELLER_TIERS.map((tier) =>
          commissionOf(grossOf(row), COMMISSION_RATES[tier]),
        )
        expect(inTurn).toEqual(inTurn.toSorted((a, b) => b - a))
      }),
    )
  })
})

describe('the totals of a slice', () => {
  const rows = fc.array(fc.tuple(sold, tier), { minLength: 1, maxLength: 50 })

  it('the totals of a slice are the exact sums of its rows, plus the shipping for its recipient', () => {
    fc.assert(
      fc.property(rows, shippingCents, fulfilment, (sales, shippingCents, fulfilment) => {
        const rows = sales.map(([gross, tier]) => rowOf(gross, COMMISSION_RATES[tier]))
        const totals = totalsOf(rows, { shippingCents, fulfilment })
        const sum = (of: (row: (typeof rows)[number]) => number) =>
          rows.reduce((all, row) => all + BigInt(of(row)), 0n)
        expect(BigInt(totals.sellerNetCents)).toBe(sum(netOf) + BigInt(totals.sellerShareCents))
        expect(BigInt(totals.merchandiseCents)).toBe(sum(grossOf))
        expect(totals.shippingCents).toBe(shippingCents)
        expect(totals.sellerShareCents).toBe(fulfilment === 'self_ship' ? shippingCents : 0)
        for (const amount of Object.values(totals)) expect(amount).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  it.each([
    ['self_ship', 'seller'],
    ['platform', 'platform'],
  ] as const)('the shipping of a %s slice is paid to the %s', (fulfilment, receiver) => {
    expect(paidTo(fulfilment)).toBe(receiver)
  })
})

describe('the API', () => {
  let app: TestApp
  let seller: Seller
  beforeAll(async () => {
    app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
    seller = await app.seller({ account: shipsBy(PARCEL, LABEL) })
  })

  const cents = (euros: number) => {
    // The API must not show more than two decimals.
    expect(String(euros)).toMatch(/^\d+(\.\d{1,2})?$/)
    return Math.round(euros * 100)
  }

  it.each(
    SELLER_TIERS.flatMap((tier) => FULFILMENTS.map((fulfilment) => [tier, fulfilment] as const)),
  )('all amounts of a sale add up in the API: %s, %s', async (tier, fulfilment) => {
    const option = fulfilment === 'platform' ? LABEL : PARCEL
    await changeAccount(app, seller.accountId, { seller_tier: tier })
    const sales: [price: number, quantity: number][] = [
      [0.01, 1],
      [0.1, 3],
      [1.1, 7],
      [4.35, 3],
      [8.35, 11],
      [33.33, 1],
      [99_999.99, 999],
    ]
    const listings = await list(
      seller,
      ...sales.map(([price, quantity]) => cardItem({ price, quantity })),
    )
    const { orderIds } = await buy(
      app,
      listings.map((id, i): Line => [id, sales[i]![1]]),
      { shipping: [{ account_id: seller.accountId, option: option.code }] },
    )
    const slice = await sliceOf(seller, orderIds[0]!)
    let net = 0
    let merchandise = 0
    for (const [i, { price, quantity, financial }] of slice.orders.entries()) {
      expect([price, quantity]).toEqual(sales[i])
      const gross = cents(price) * quantity
      expect(BigInt(cents(financial.commission))).toBe(exactCommission(gross, PERCENT[tier]))
      expect(financial.seller_fee).toBe(financial.commission)
      expect(cents(financial.seller_net) + cents(financial.commission)).toBe(gross)
      expect(financial.refunded_amount).toBe(0)
      net += cents(financial.seller_net)
      merchandise += gross
    }
    const { totals, shipping } = slice
    expect(totals).toEqual({
      merchandise: eurosFromCents(merchandise),
      shipping: eurosFromCents(option.priceCents),
      seller_net: eurosFromCents(net + cents(shipping.seller_share)),
      currency: 'EUR',
    })
    expect(shipping.price).toBe(totals.shipping)
    expect(shipping).toMatchObject(
      fulfilment === 'platform'
        ? { paid_to: 'platform', seller_share: 0 }
        : { paid_to: 'seller', seller_share: totals.shipping },
    )
  })

  it('a refund changes only the refunded amount, and no total of the slice', async () => {
    const listings = await list(seller, cardItem({ price: 3.35 }), cardItem({ price: 7.01 }))
    const { orderIds } = await buy(
      app,
      listings.map((id): Line => [id, 3]),
    )
    const before = await sliceOf(seller, orderIds[0]!)
    await cancel(app, orderIds[1]!)
    const after = await sliceOf(seller, orderIds[0]!)
    expect([after.totals, after.shipping]).toEqual([before.totals, before.shipping])
    expect(after.orders[0]).toEqual(before.orders[0])
    expect(after.orders[1].financial).toEqual({
      ...before.orders[1].financial,
      refunded_amount: 21.03,
    })
  })
})
