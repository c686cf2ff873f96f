import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../test/app.ts'
import { importCatalogFixture } from '../test/catalog-fixture.ts'
import { cardItem, list, NO_LIMITS, productItem } from '../test/fixtures/listings.ts'
import { SHIPS } from '../test/fixtures/orders.ts'

let market: TestApp
let seller: Awaited<ReturnType<TestApp['seller']>>
beforeAll(async () => {
  market = await startTestApp({ settings: NO_LIMITS })
  await importCatalogFixture(market.operator)
  seller = await market.seller({
    account: { ...SHIPS, shopName: 'Kanto Cards', email: 'kanto@shops.example' },
  })
})

const BUYER = { name: 'Misty', email: 'misty@mail.example' }

/** Sells two listings to Misty; answers their order ids. */
async function buy(): Promise<[number, number]> {
  const [card, box] = await list(seller, cardItem({ price: 3.33 }), productItem())
  const { body } = await market.operator.post('/operator/v1/checkouts', {
    payload: {
      buyer: BUYER,
      lines: [
        { listing_id: card, quantity: 3 },
        { listing_id: box, quantity: 1 },
      ],
    },
  })
  return body.data.slices[0].order_ids
}

/** What was written while this happened, oldest first. */
async function lettersOf(happening: () => Promise<unknown>) {
  const mails = async () => (await market.operator.get('/operator/v1/sandbox/mail')).body
  const before = (await mails()).meta.total
  await happening()
  const { data, meta } = await mails()
  return data.slice(0, meta.total - before).reverse()
}

const transition = (id: number, what: string, payload: object = {}) =>
  market.operator.post(`/operator/v1/orders/${id}/${what}`, { payload })
const ship = (id: number) => seller.post(`/v1/orders/${id}/ship`)

describe('e-mail about orders', () => {
  it('tells the seller what was sold, once for each checkout', async () => {
    const letters = await lettersOf(buy)
    expect(letters).toEqual([
      {
        to: 'kanto@shops.example',
        subject: 'Sold: 2 listings',
        text: expect.stringMatching(
          /^Hello Kanto Cards,\n\nMisty has bought .*- 3 × Charizard ex, 9\.99 EUR .*\n- Obsidian Flames Booster Box, 129\.99 EUR/s,
        ),
        created_at: expect.any(String),
      },
    ])
  })

  it('tells the buyer of each row that is shipped, and of none that isn’t', async () => {
    const [card, box] = await buy()
    expect((await lettersOf(() => ship(box))).map(summary)).toEqual([
      ['misty@mail.example', 'On its way: 3 × Charizard ex'],
      ['misty@mail.example', 'On its way: Obsidian Flames Booster Box'],
    ])
    expect(await lettersOf(() => ship(card))).toEqual([])

    const [cancelled, other] = await buy()
    await transition(cancelled, 'cancel', { cancelled_by: 'buyer' })
    expect((await lettersOf(() => ship(other))).map(summary)).toEqual([
      ['misty@mail.example', 'On its way: Obsidian Flames Booster Box'],
    ])
  })

  it('tells both sides of a cancellation, and the buyer of the refund', async () => {
    const [card] = await buy()
    const letters = await lettersOf(() => transition(card, 'cancel', { cancelled_by: 'seller' }))
    expect(letters.map(summary)).toEqual([
      ['misty@mail.example', 'Cancelled: 3 × Charizard ex'],
      ['kanto@shops.example', 'Cancelled: 3 × Charizard ex'],
    ])
    expect(letters[0].text).toContain('9.99 EUR will be refunded')
  })

  it.each([
    ['seller', 'in the seller’s favour', 'in your favour'],
    ['buyer', 'in your favour', 'in the buyer’s favour'],
  ])(
    'tells the seller of a dispute and both how it ended for the %s',
    async (winner, buyer, shop) => {
      const [card] = await buy()
      await ship(card)
      expect((await lettersOf(() => transition(card, 'dispute'))).map(summary)).toEqual([
        ['kanto@shops.example', 'Disputed: 3 × Charizard ex'],
      ])
      const letters = await lettersOf(() => transition(card, 'resolve', { in_favour_of: winner }))
      expect(letters.map(({ to }: { to: string }) => to)).toEqual([
        'misty@mail.example',
        'kanto@shops.example',
      ])
      expect(letters[0].text).toContain(buyer)
      expect(letters[1].text).toContain(shop)
    },
  )

  it('writes nothing when nothing happened', async () => {
    const [card] = await buy()
    expect(await lettersOf(() => transition(card, 'receive'))).toEqual([])
    expect(await lettersOf(() => transition(card, 'dispute'))).toEqual([])
  })
})

const summary = ({ to, subject }: { to: string; subject: string }) => [to, subject]
