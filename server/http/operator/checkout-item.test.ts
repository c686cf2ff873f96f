import { beforeAll, describe, expect, it } from 'vitest'
import { type Seller, startTestApp, type TestApp } from '../../test/app.ts'
import { importCatalogFixture, importRecords, SETS } from '../../test/catalog-fixture.ts'
import {
  cardItem,
  changeAccount,
  gradedItem,
  list,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'
import {
  buy,
  LABEL,
  LETTER,
  operatorOption,
  PARCEL,
  rowOf,
  shipsBy,
  sliceOf,
} from '../../test/fixtures/orders.ts'

let app: TestApp
let seller: Seller
beforeAll(async () => {
  app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

/** Sells one unit of an item; returns the order row. */
async function sell(item: object) {
  const [listing] = await list(seller, item)
  const { orderIds } = await buy(app, [[listing!, 1]])
  return rowOf(seller, orderIds[0]!)
}

describe('sold items', () => {
  it('a sold card shows name, set and number, ids, image, condition and language', async () => {
    expect((await sell(cardItem({ condition: 'LP', language: 'NL' }))).item).toEqual({
      name: 'Charizard ex',
      subtitle: 'Obsidian Flames 125',
      image: 'https://images.example/sv3/125.png',
      condition: 'LP',
      language: 'NL',
      type: 'card',
      id: 'sv3-125',
      friendly_id: 'obf_125',
    })
  })

  it('a sold card shows its printing unless it is standard, and its grading', async () => {
    for (const [item, condition, subtitle] of [
      [cardItem({ printing: 'reverse_holo' }), 'NM', 'Obsidian Flames 125 · reverse holo'],
      [gradedItem(), 'G', 'Obsidian Flames 125 · PSA 9.5'],
      [
        gradedItem({ printing: 'first_edition' }),
        'G',
        'Obsidian Flames 125 · first edition · PSA 9.5',
      ],
    ] as const) {
      expect((await sell(item)).item).toMatchObject({ id: 'sv3-125', condition, subtitle })
    }
  })

  it('a sold card shows the region of its set if another edition has the same language', async () => {
    for (const [card, subtitle] of [
      ['csv9.5c-cn-001', '太晶璀璨 001'],
      ['csv9.5c-tw-001', '太晶慶典 001 · TW'],
    ] as const) {
      expect((await sell(cardItem({ card, language: 'CN' }))).item).toMatchObject({ subtitle })
    }
  })

  it('a sold card shows its printed number, not the end of its id, and null without an image', async () => {
    expect((await sell(cardItem({ card: 'cel25c-2_A' }))).item).toMatchObject({
      name: 'Blastoise',
      subtitle: 'Celebrations: Classic Collection 2',
      image: null,
      id: 'cel25c-2_A',
      friendly_id: 'cel_2',
    })
  })

  it('a sold card whose set has no shortcut has no friendly id', async () => {
    expect((await sell(cardItem({ card: 'ru1-1' }))).item).toMatchObject({
      name: 'Venusaur',
      subtitle: 'Pokémon Rumble 1',
      type: 'card',
      id: 'ru1-1',
      friendly_id: null,
    })
  })

  it('a sold sealed product shows its slug, without condition and friendly id', async () => {
    expect((await sell(productItem({ language: 'JP' }))).item).toEqual({
      name: 'Obsidian Flames Booster Box',
      subtitle: 'Obsidian Flames',
      image: 'https://images.example/obsidian-flames-booster-box.png',
      condition: null,
      language: 'JP',
      type: 'product',
      id: 'obsidian-flames-booster-box',
      friendly_id: null,
    })
  })

  it('a sold sealed product without a set has no subtitle', async () => {
    expect((await sell(productItem({ product: 'poke-ball-tin' }))).item).toMatchObject({
      name: 'Poké Ball Tin',
      subtitle: null,
      image: null,
      id: 'poke-ball-tin',
      friendly_id: null,
    })
  })

  it('the id of a sold item finds it in the catalog', async () => {
    const card = await sell(cardItem({ card: 'csv9.5c-cn-10b' }))
    const product = await sell(productItem({ product: 'kokuen-no-shihaisha-pack' }))
    const found = await seller.get(`/v1/cards/${card.item.id}`)
    expect(found.body.data.friendly_id).toBe(card.item.friendly_id)
    const slug = encodeURIComponent(product.item.id)
    expect((await seller.get(`/v1/products/${slug}`)).body.data.name).toBe(product.item.name)
  })
})

describe('later changes', () => {
  /** The slice of a sale before and after `change`. */
  async function aroundSale(change: (listing: number, accountId: number) => Promise<unknown>) {
    const shop = await app.seller({ account: { ...shipsBy(PARCEL), sellerTier: 'Silver' } })
    const [listing] = await list(shop, cardItem({ price: 9.99, quantity: 9 }))
    const { orderIds } = await buy(app, [[listing!, 3]])
    const was = await sliceOf(shop, orderIds[0]!)
    expect(was).toMatchObject({
      totals: { merchandise: 29.97, shipping: 6.95, seller_net: 35.57 },
      shipping: { method: 'Tracked parcel', price: 6.95, seller_share: 6.95 },
      orders: [{ price: 9.99, financial: { commission: 1.35, seller_fee: 1.35 } }],
    })
    await change(listing!, shop.accountId)
    return { was, is: await sliceOf(shop, orderIds[0]!), shop, listing: listing! }
  }

  it.each<[string, object]>([
    ['its tier', { seller_tier: 'Master' }],
    [
      'the prices of its shipping options',
      { shipping_options: [{ ...operatorOption(PARCEL), price: 99, name: 'Drone' }] },
    ],
    [
      'all of its shipping options',
      { shipping_options: [operatorOption(LABEL), operatorOption(LETTER)] },
    ],
    [
      'a shipping option to disabled',
      { shipping_options: [{ ...operatorOption(PARCEL), enabled: false }] },
    ],
    ['its name', { shop_name: 'Renamed', slug: `renamed-${process.pid}` }],
    ['its payout to unverified', { payout_verified: false }],
  ])('an order does not change when its shop changes %s', async (_, changes) => {
    const { was, is } = await aroundSale(async (_, accountId) => {
      expect((await changeAccount(app, accountId, changes)).status).toBe(200)
    })
    expect(is).toEqual(was)
  })

  it('a sale after a change of tier has the new commission rate', async () => {
    const { shop, listing } = await aroundSale((_, accountId) =>
      changeAccount(app, accountId, { seller_tier: 'Master' }),
    )
    const { orderIds } = await buy(app, [[listing, 3]])
    expect((await rowOf(shop, orderIds[0]!)).financial.commission).toBe(0.9)
  })

  it('an order does not change when the price, description or stock of its listing changes', async () => {
    const { was, is } = await aroundSale(
      (listing) =>
        app.ctx.db`
        update listings
        set price_cents = 1, description = 'new', quantity = 500, language = 'FR', condition = 'M'
        where id = ${listing}
      `,
    )
    expect(is).toEqual(was)
  })

  it('an order does not change when the catalog changes the name, number or image of its card', async () => {
    const { was, is } = await aroundSale(async () => {
      const [set] = SETS.filter(({ id }) => id === 'sv3')
      await importRecords(app.operator, [
        { ...set, name: 'Renamed', shortcut: 'xyz' },
        {
          type: 'card',
          id: 'sv3-125',
          set_id: 'sv3',
          number: '999',
          name: 'Renamed',
          image_small: 'https://images.example/new.png',
        },
      ])
    })
    expect(is).toEqual(was)
    await importCatalogFixture(app.operator)
  })
})
