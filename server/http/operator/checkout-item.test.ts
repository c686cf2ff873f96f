import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../test/app.ts'
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
let seller: Awaited<ReturnType<TestApp['seller']>>
beforeAll(async () => {
  app = await startTestApp({ settings: NO_LIMITS })
  await importCatalogFixture(app.operator)
  seller = await app.seller({ account: shipsBy(PARCEL) })
})

/** The order row of one unit of this, sold now. */
async function insertSlice(item: object) {
  const [listing] = await list(seller, item)
  const { orderIds } = await buy(app, [[listing!, 1]])
  return rowOf(seller, orderIds[0]!)
}

describe('what was sold', () => {
  it('is a card with its set and number, ids, picture, condition and language', async () => {
    expect((await insertSlice(cardItem({ condition: 'LP', language: 'NL' }))).item).toEqual({
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

  it('is a graded card in condition G', async () => {
    expect((await insertSlice(gradedItem())).item).toMatchObject({ id: 'sv3-125', condition: 'G' })
  })

  it('is a card whose id doesn’t end in its number, and whose picture nobody has', async () => {
    expect((await insertSlice(cardItem({ card: 'cel25c-2_A' }))).item).toMatchObject({
      name: 'Blastoise',
      subtitle: 'Celebrations: Classic Collection 2',
      image: null,
      id: 'cel25c-2_A',
      friendly_id: 'cel_2',
    })
  })

  it('is a card without a friendly id when its set has no shortcut', async () => {
    expect((await insertSlice(cardItem({ card: 'ru1-1' }))).item).toMatchObject({
      name: 'Venusaur',
      subtitle: 'Pokémon Rumble 1',
      type: 'card',
      id: 'ru1-1',
      friendly_id: null,
    })
  })

  it('is a sealed product by its slug, with neither condition nor friendly id', async () => {
    expect((await insertSlice(productItem({ language: 'JP' }))).item).toEqual({
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

  it('is a sealed product of no set without a subtitle', async () => {
    expect((await insertSlice(productItem({ product: 'poke-ball-tin' }))).item).toMatchObject({
      name: 'Poké Ball Tin',
      subtitle: null,
      image: null,
      id: 'poke-ball-tin',
      friendly_id: null,
    })
  })

  it('has an id that finds it in the catalog', async () => {
    const card = await insertSlice(cardItem({ card: 'csv9.5c-cn-10b' }))
    const product = await insertSlice(productItem({ product: 'kokuen-no-shihaisha-pack' }))
    const found = await seller.get(`/v1/cards/${card.item.id}`)
    expect(found.body.data.friendly_id).toBe(card.item.friendly_id)
    const slug = encodeURIComponent(product.item.id)
    expect((await seller.get(`/v1/products/${slug}`)).body.data.name).toBe(product.item.name)
  })
})

describe('a sale stays as it was', () => {
  /** The slice of a sale, before and after something has changed. */
  async function aroundSale(work: (listing: number, accountId: number) => Promise<unknown>) {
    const shop = await app.seller({ account: { ...shipsBy(PARCEL), sellerTier: 'Silver' } })
    const [listing] = await list(shop, cardItem({ price: 9.99, quantity: 9 }))
    const { orderIds } = await buy(app, [[listing!, 3]])
    const was = await sliceOf(shop, orderIds[0]!)
    expect(was).toMatchObject({
      totals: { merchandise: 29.97, shipping: 6.95, seller_net: 35.57 },
      shipping: { method: 'Tracked parcel', price: 6.95, seller_share: 6.95 },
      orders: [{ price: 9.99, financial: { commission: 1.35, seller_fee: 1.35 } }],
    })
    await work(listing!, shop.accountId)
    return { was, is: await sliceOf(shop, orderIds[0]!), shop, listing: listing! }
  }

  it.each<[string, object]>([
    ['another tier', { seller_tier: 'Master' }],
    [
      'other prices of its ways to ship',
      { shipping_options: [{ ...operatorOption(PARCEL), price: 99, name: 'Drone' }] },
    ],
    ['other ways to ship', { shipping_options: [operatorOption(LABEL), operatorOption(LETTER)] }],
    [
      'its way to ship disabled',
      { shipping_options: [{ ...operatorOption(PARCEL), enabled: false }] },
    ],
    ['another name', { shop_name: 'Renamed', slug: `renamed-${process.pid}` }],
    ['no verified payout', { payout_verified: false }],
  ])('when the shop has got %s', async (_, changes) => {
    const { was, is } = await aroundSale(async (_, accountId) => {
      expect((await changeAccount(app, accountId, changes)).status).toBe(200)
    })
    expect(is).toEqual(was)
  })

  it('but for what is sold after the tier changed: that has the new rate', async () => {
    const { shop, listing } = await aroundSale((_, accountId) =>
      changeAccount(app, accountId, { seller_tier: 'Master' }),
    )
    const { orderIds } = await buy(app, [[listing, 3]])
    expect((await rowOf(shop, orderIds[0]!)).financial.commission).toBe(0.9)
  })

  it('when the listing has another price, description or stock', async () => {
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

  it('when the catalog has another name, number and picture for the card and its set', async () => {
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
