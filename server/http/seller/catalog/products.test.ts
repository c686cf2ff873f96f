import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, PUBLIC_URL, startTestApp } from '../../../test/app.ts'
import {
  idsOf,
  importRecords,
  LONGEST_SLUG,
  PRODUCTS,
  slugsOf,
} from '../../../test/catalog-fixture.ts'

/** The fields of every sealed product (§2.5). */
const PRODUCT_KEYS = ['slug', 'name', 'category', 'set', 'image_url', 'release_date', 'url']
const MARKETPLACE_URL = 'https://market.example'

let seller: Client
beforeAll(async () => {
  const market = await startTestApp({
    template: 'fixture',
    settings: { MARKETPLACE_URL: `${MARKETPLACE_URL}/` },
  })
  seller = await market.seller()
})

const found = async (query: string): Promise<string[]> => {
  const { status, body, text } = await seller.get(`/v1/products?per_page=100&${query}`)
  expect(status, text).toBe(200)
  return slugsOf(body.data)
}

describe('GET /v1/products', () => {
  it('GET /v1/products sorts by the set’s release date, newest first and unknown or no set last, then name, then slug', async () => {
    expect(await found('')).toEqual(slugsOf(PRODUCTS))
  })

  it('GET /v1/products gives a product exactly its fields, null where unknown', async () => {
    const { body } = await seller.get('/v1/products?per_page=100')
    for (const product of body.data) expect(Object.keys(product)).toEqual(PRODUCT_KEYS)
    expect(body.data[0]).toEqual({
      slug: 'obsidian-flames-booster-box',
      name: 'Obsidian Flames Booster Box',
      category: 'booster_box',
      set: (await seller.get('/v1/sets/sv3')).body.data,
      image_url: 'https://images.example/obsidian-flames-booster-box.png',
      release_date: '2023-08-11',
      url: `${MARKETPLACE_URL}/products/obsidian-flames-booster-box`,
    })
    expect(body.data.find(({ slug }: { slug: string }) => slug === LONGEST_SLUG)).toEqual({
      slug: LONGEST_SLUG,
      name: 'Grand Box',
      category: 'other',
      set: null,
      image_url: null,
      release_date: null,
      url: `${MARKETPLACE_URL}/products/${encodeURIComponent(LONGEST_SLUG)}`,
    })
  })

  it('GET /v1/products gives every product its whole set', async () => {
    const { body } = await seller.get('/v1/products?per_page=100')
    for (const product of body.data) {
      const { set_id } = PRODUCTS.find(({ slug }) => slug === product.slug)!
      const set = set_id === null ? null : (await seller.get(`/v1/sets/${set_id}`)).body.data
      expect(product.set).toEqual(set)
    }
  })

  it('a product shows its own release date, not its set’s', async () => {
    const { body } = await seller.get('/v1/products/brilliant-stars-booster-box')
    expect([body.data.release_date, body.data.set.release_date]).toEqual([
      '2026-01-30',
      '2022-02-25',
    ])
  })

  it('GET /v1/products never includes listings, even with include=listings', async () => {
    const { body } = await seller.get('/v1/products?include=listings')
    for (const product of body.data) expect(Object.keys(product)).toEqual(PRODUCT_KEYS)
  })

  it('GET /v1/products filters by category, exactly', async () => {
    expect(await found('category=mini_tin')).toEqual([
      'celebrations-mini-tin-1',
      'celebrations-mini-tin-2',
    ])
    expect(await found('category=tin')).toEqual(['poke-ball-tin'])
    expect(await found('category=other')).toEqual([
      LONGEST_SLUG,
      'another-promo-pack',
      'nintendo-promo-pack',
    ])
  })

  it.each(['TIN', 'booster-box', 'Booster Box', 'plush', 'cases', 'x', '漢'])(
    'GET /v1/products?category=%s returns an empty page, because no product has it',
    async (category) => {
      const { status, body } = await seller.get(
        `/v1/products?category=${encodeURIComponent(category)}`,
      )
      expect([status, body.data, body.meta.total]).toEqual([200, [], 0])
    },
  )

  it('GET /v1/products ignores language, region and rarity', async () => {
    expect(await found('language=XX&region=nowhere&rarity=none')).toEqual(slugsOf(PRODUCTS))
  })
})

describe('GET /v1/products?set=', () => {
  it('GET /v1/products?set= takes a canonical id or a shortcut', async () => {
    expect(await found('set=cel25')).toEqual(['celebrations-mini-tin-1', 'celebrations-mini-tin-2'])
    expect(await found('set=obf')).toEqual(['obsidian-flames-booster-box', 'obsidian-flames-etb'])
    expect(await found('set=np')).toEqual(['nintendo-promo-pack'])
  })

  it('GET /v1/products?set= prefers a canonical id to the shortcut of another set', async () => {
    expect(await found('set=sv3')).toEqual(['obsidian-flames-booster-box', 'obsidian-flames-etb'])
  })

  it('GET /v1/products?set= gets a 409 for an ambiguous shortcut, which only a canonical id resolves', async () => {
    for (const query of ['set=brs', 'set=brs&language=DE', 'set=brs&region=int&category=tin']) {
      const { status, body } = await seller.get(`/v1/products?${query}`)
      expect([query, status, body.error.type]).toEqual([query, 409, 'ambiguous_identifier'])
      expect(body.error.message).toBe('The shortcut "brs" means 3 sets. Use a canonical id.')
      expect(idsOf(body.error.fields.candidates)).toEqual(['swsh9', 'swsh9tg', 'swsh9-de'])
      expect(Object.keys(body.error.fields.candidates[0])).toEqual([
        ...['id', 'shortcut', 'name', 'series', 'language', 'region'],
      ])
    }
    expect(await found('set=swsh9')).toEqual([
      'brilliant-stars-booster-box',
      'brilliant-stars-build-and-battle-box',
    ])
  })

  it('GET /v1/products?set= gets a 404 for an unknown set', async () => {
    for (const query of ['nowhere', 'OBF', 'SWSH9', 'null', 'nowhere&category=tin']) {
      const { status, body } = await seller.get(`/v1/products?set=${query}`)
      expect([query, status, body.error.type]).toEqual([query, 404, 'not_found'])
    }
  })

  it('GET /v1/products?set= returns an empty page for a set without products', async () => {
    expect(await found('set=swsh9tg')).toEqual([])
  })

  it('GET /v1/products?set= combines with the other filters', async () => {
    expect(await found('set=sv3&category=elite_trainer_box')).toEqual(['obsidian-flames-etb'])
    expect(await found('set=sv3&q=celebrations')).toEqual([])
    expect(await found('q=box&set=swsh9&category=build_battle_box')).toEqual([
      'brilliant-stars-build-and-battle-box',
    ])
  })
})

describe('GET /v1/products?q=', () => {
  it.each([
    ['by its whole name', 'Grand Box', [LONGEST_SLUG]],
    ['without its accent', 'poke ball tin', ['poke-ball-tin']],
    ['with & for "and"', 'build and battle', ['brilliant-stars-build-and-battle-box']],
    ['in Japanese', '拡張パック', ['kokuen-no-shihaisha-pack']],
    ['with a slip', 'nintedno', ['another-promo-pack', 'nintendo-promo-pack']],
  ])('GET /v1/products?q= finds a product %s', async (_, q, slugs) => {
    expect(await found(`q=${encodeURIComponent(q)}`)).toEqual(slugs)
  })

  it('GET /v1/products?q= sorts products of the same name by slug', async () => {
    expect(await found('q=celebrations+mini+tin')).toEqual([
      'celebrations-mini-tin-1',
      'celebrations-mini-tin-2',
    ])
  })

  it('GET /v1/products?q= ranks the best match first', async () => {
    expect((await found('q=brilliant+stars+booster+box'))[0]).toBe('brilliant-stars-booster-box')
    expect((await found('q=obsidian')).toSorted()).toEqual([
      'obsidian-flames-booster-box',
      'obsidian-flames-etb',
    ])
    expect((await found('q=grand'))[0]).toBe(LONGEST_SLUG)
  })

  it('GET /v1/products?q= returns an empty page without matches', async () => {
    expect(await found('q=zzzzzzzz')).toEqual([])
  })
})

describe('GET /v1/products/{slug}', () => {
  it('GET /v1/products/{slug} returns the product as the list shows it', async () => {
    const { body } = await seller.get('/v1/products?per_page=100')
    for (const product of body.data) {
      const response = await seller.get(`/v1/products/${encodeURIComponent(product.slug)}`)
      expect(response.status).toBe(200)
      expect(response.body).toEqual({ data: product })
      expect(Object.keys(response.body.data)).toEqual(PRODUCT_KEYS)
    }
  })

  it('GET /v1/products/{slug} accepts a slug of 150 characters', async () => {
    expect(LONGEST_SLUG).toHaveLength(150)
    const { status, body } = await seller.get(`/v1/products/${LONGEST_SLUG}?include=listings`)
    expect([status, body.data.slug]).toEqual([200, LONGEST_SLUG])
  })

  it.each([
    ['an unknown slug', 'nowhere'],
    ['a slug in another casing', 'Poke-Ball-Tin'],
    ['the name of a product', encodeURIComponent('Grand Box')],
    ["a set's id", 'sv3'],
    ['the beginning of a slug', 'poke-ball'],
    ['a property name of Object.prototype', 'toString'],
    ['a slug of 3,000 characters', 'x'.repeat(3_000)],
  ])('GET /v1/products/{slug} gets a 404 for %s', async (_, slug) => {
    const { status, body } = await seller.get(`/v1/products/${slug}`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
    expect(Object.keys(body.error)).toEqual(['type', 'message'])
  })

  it('GET /v1/products/{slug} ignores language and region', async () => {
    const { status } = await seller.get('/v1/products/poke-ball-tin?language=TOOLONG&region=xx')
    expect(status).toBe(200)
  })

  it.each(['listings', 'listings,listings', 'cards,listings,x'])(
    'GET /v1/products/{slug}?include=%s appends the listings',
    async (include) => {
      const plain = await seller.get('/v1/products/poke-ball-tin')
      const { body } = await seller.get(`/v1/products/poke-ball-tin?include=${include}`)
      expect(Object.keys(body.data)).toEqual([...PRODUCT_KEYS, 'listings'])
      expect(body).toEqual({ data: { ...plain.body.data, listings: [] } })
    },
  )

  it.each(['', 'cards', 'set', 'Listings', '%20listings', 'listings%20,+listings'])(
    'GET /v1/products/{slug} ignores include=%s',
    async (include) => {
      const { status, body } = await seller.get(`/v1/products/poke-ball-tin?include=${include}`)
      expect(status).toBe(200)
      expect(Object.keys(body.data)).toEqual(PRODUCT_KEYS)
    },
  )

  it('a product’s url begins with PUBLIC_URL when MARKETPLACE_URL is not set', async () => {
    const app = await startTestApp()
    await importRecords(app.operator, [
      { type: 'product', slug: 'ein-buechslein', name: 'Büchslein', category: 'tin' },
    ])
    const { body } = await (await app.seller()).get('/v1/products/ein-buechslein')
    expect(body.data.url).toBe(`${PUBLIC_URL}/products/ein-buechslein`)
  })
})
