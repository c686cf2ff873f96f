import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, startTestApp, type TestApp } from '../../../test/app.ts'
import { CARDS, idsOf, importRecords, SETS, slugsOf } from '../../../test/catalog-fixture.ts'

/** The fields of every Set (§2.3). */
const SET_KEYS = [
  ...['id', 'shortcut', 'name', 'series', 'language', 'region', 'release_date'],
  ...['total_cards', 'printed_total', 'logo_url', 'symbol_url', 'cards_count', 'products_count'],
]

let market: TestApp
let seller: Client
beforeAll(async () => {
  market = await startTestApp({ template: 'fixture' })
  seller = await market.seller()
})

const found = async (query: string): Promise<string[]> => {
  const { status, body } = await seller.get(`/v1/sets?per_page=100&${query}`)
  expect(status).toBe(200)
  return idsOf(body.data)
}

describe('GET /v1/sets', () => {
  it('GET /v1/sets sorts by release date, newest first and unknown last, then name, then id', async () => {
    expect(await found('')).toEqual(idsOf(SETS))
  })

  it('GET /v1/sets gives a set exactly the specified fields, null where unknown', async () => {
    const { body } = await seller.get('/v1/sets?per_page=100')
    for (const set of body.data) expect(Object.keys(set)).toEqual(SET_KEYS)
    expect(body.data.find(({ id }: { id: string }) => id === 'swsh9')).toEqual({
      id: 'swsh9',
      shortcut: 'brs',
      name: 'Brilliant Stars',
      series: 'Sword & Shield',
      language: 'EN',
      region: 'int',
      release_date: '2022-02-25',
      total_cards: 186,
      printed_total: 172,
      logo_url: 'https://images.example/swsh9/logo.png',
      symbol_url: 'https://images.example/swsh9/symbol.png',
      cards_count: 3,
      products_count: 2,
    })
    expect(body.data.find(({ id }: { id: string }) => id === 's12-kr')).toEqual({
      id: 's12-kr',
      shortcut: null,
      name: '패러다임트리거',
      series: 'Sword & Shield',
      language: 'KR',
      region: 'kr',
      release_date: null,
      total_cards: null,
      printed_total: null,
      logo_url: null,
      symbol_url: null,
      cards_count: 0,
      products_count: 0,
    })
  })

  it('GET /v1/sets filters by language, by region and by both', async () => {
    expect(await found('language=CN')).toEqual(['csv9.5c-tw', 'csv9.5c-cn'])
    expect(await found('region=tw')).toEqual(['csv9.5c-tw'])
    expect(await found('language=CN&region=cn')).toEqual(['csv9.5c-cn'])
    expect(await found('region=int&language=FR')).toEqual(['np-fr'])
  })

  it('GET /v1/sets compares language and region exactly', async () => {
    expect(await found('language=cn')).toEqual([])
    expect(await found('language=C')).toEqual([])
    expect(await found('region=TW')).toEqual([])
    expect(await found('region=%20tw')).toEqual([])
  })

  it.each([
    ['an unknown language', 'language=XX'],
    ['a language without sets', 'language=NL'],
    ['an unknown region', 'region=mars'],
    ['filters that match no set together', 'language=JP&region=int'],
  ])('GET /v1/sets returns an empty page for %s', async (_, query) => {
    const { status, body } = await seller.get(`/v1/sets?${query}`)
    expect(status).toBe(200)
    expect(body.data).toEqual([])
    expect(body.meta.total).toBe(0)
  })

  it.each([
    ['its shortcut', 'sv'],
    ['its shortcut in another casing', 'Sv'],
    ['its name', 'Scarlet & Violet'],
    ['its name in another casing', 'sCARLET & vIOLET'],
  ])('GET /v1/sets?series= finds a series by %s', async (_, series) => {
    expect(await found(`series=${encodeURIComponent(series)}`)).toEqual([
      'csv9.5c-tw',
      'csv9.5c-cn',
      'sv3',
      'sv3-jp',
    ])
  })

  it('GET /v1/sets?series= finds a series without a shortcut by its name', async () => {
    expect(await found('series=OTHER')).toEqual(['ru1', 'oddities'])
  })

  it('GET /v1/sets?series= returns an empty page for an unknown series or one without sets', async () => {
    expect(await found('series=scarlet')).toEqual([])
    expect(await found('series=sv3')).toEqual([])
    expect(await found('series=sw')).toEqual([])
    expect(await found('series=wc')).toEqual([])
  })

  it('GET /v1/sets combines all filters', async () => {
    expect(await found('series=swsh&language=EN&region=int&q=celebrations')).toEqual([
      'cel25',
      'cel25c',
    ])
  })

  it('GET /v1/sets ignores the filters of other lists', async () => {
    expect(await found('set=nowhere&rarity=Common&category=tin')).toEqual(idsOf(SETS))
  })
})

describe('GET /v1/sets?q=', () => {
  it.each([
    ['in another casing', 'GYM heroes', ['gym1']],
    ['without its accent', 'pokemon rumble', ['ru1']],
    ['with a slip', 'generatoins', ['g1']],
    ['by one of its words', 'forces', ['ex10']],
    ['in Japanese', '黒炎', ['sv3-jp']],
    ['in Korean', '트리거', ['s12-kr']],
    ['with & for "and"', 'odds and ends', ['oddities']],
  ])('GET /v1/sets?q= finds a set by its name %s', async (_, q, ids) => {
    expect(await found(`q=${encodeURIComponent(q)}`)).toEqual(ids)
  })

  it.each(["'", '♀', '?', '%', '"', '\\', '((', '.*', "'; drop table sets; --"])(
    'GET /v1/sets?q= treats %s as plain text',
    async (q) => {
      expect(await found(`q=${encodeURIComponent(q)}`)).toEqual([])
    },
  )

  it('GET /v1/sets?q= searches names, not shortcuts or ids', async () => {
    expect(await found('q=obf')).toEqual([])
    expect(await found('q=ex10')).toEqual([])
  })

  it('GET /v1/sets?q= combines with the filters', async () => {
    expect(await found('q=nintendo&language=FR')).toEqual(['np-fr'])
    expect(await found('q=nintendo&language=DE')).toEqual([])
    expect(await found('q=celebrations&series=xy')).toEqual([])
  })
})

describe('GET /v1/sets?q= by relevance', () => {
  const set = (id: string, name: string, release_date: string | null) => ({
    ...{ type: 'set', id, name, series: 'Search', language: 'EN', region: 'int', release_date },
  })
  let client: Client
  beforeAll(async () => {
    const app = await startTestApp()
    await importRecords(app.operator, [
      set('in-a-word', 'The Mirages', '2024-03-03'),
      set('typo', 'Mirrage', '2024-03-04'),
      set('prefix', 'Mirage Forest', '2024-03-02'),
      set('exact', 'Mirage', '2024-03-01'),
      set('undated', 'Twin Peaks', null),
      set('old', 'Twin Peaks', '2001-01-01'),
      set('new', 'Twin Peaks', '2011-01-01'),
    ])
    client = await app.seller()
  })

  it('GET /v1/sets?q= ranks exact names, prefixes, words and typos in this order, whatever the dates', async () => {
    const { body } = await client.get('/v1/sets?q=mirage')
    expect(idsOf(body.data)).toEqual(['exact', 'prefix', 'in-a-word', 'typo'])
  })

  it('GET /v1/sets?q= sorts sets of the same name newest first', async () => {
    const { body } = await client.get('/v1/sets?q=twin+peaks')
    expect(idsOf(body.data)).toEqual(['new', 'old', 'undated'])
  })
})

describe('GET /v1/sets/{identifier}', () => {
  const resolved = async (path: string): Promise<string> => {
    const { status, body, text } = await seller.get(`/v1/sets/${path}`)
    expect(status, text).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    return body.data.id
  }

  it('GET /v1/sets/{identifier} returns the set of a canonical id with exactly the specified fields', async () => {
    const { body } = await seller.get('/v1/sets/swsh9')
    expect(Object.keys(body)).toEqual(['data'])
    expect(Object.keys(body.data)).toEqual(SET_KEYS)
    const list = await seller.get('/v1/sets?q=brilliant+stars')
    expect(body.data).toEqual(list.body.data[0])
  })

  it.each([
    ['obf', 'sv3'],
    ['pr-sw', 'swshp'],
    ['cel25c-2', 'oddities'],
  ])('GET /v1/sets/%s resolves the shortcut to %s', async (shortcut, id) => {
    expect(await resolved(shortcut)).toBe(id)
  })

  it('GET /v1/sets/{identifier} finds a set without a shortcut by its canonical id', async () => {
    expect(await resolved('ru1')).toBe('ru1')
    expect(await resolved('np-fr')).toBe('np-fr')
    const { status } = await seller.get('/v1/sets/null')
    expect(status).toBe(404)
  })

  it('GET /v1/sets/{identifier} prefers a canonical id to the shortcut of another set', async () => {
    expect(await resolved('g1')).toBe('g1')
    expect(await resolved('sv3')).toBe('sv3')
  })

  it.each(['language=JP', 'region=jp', 'language=JP&region=jp'])(
    'GET /v1/sets/sv3?%s prefers the shortcut, because the canonical id does not match',
    async (query) => expect(await resolved(`sv3?${query}`)).toBe('sv3-jp'),
  )

  it.each([
    ['g1?language=XX', 'g1'],
    ['g1?language=EN&region=int', 'g1'],
    ['sv3?language=EN', 'sv3'],
    ['sv3?language=JP&region=int', 'sv3'],
    ['swsh9-de?language=EN', 'swsh9-de'],
  ])(
    'GET /v1/sets/%s resolves to the canonical id although language or region differ',
    async (path, id) => {
      expect(await resolved(path)).toBe(id)
    },
  )

  it.each(['obf?language=DE', 'obf?region=jp', 'obf?language=en'])(
    'GET /v1/sets/%s ignores language and region for an unambiguous shortcut',
    async (path) => expect(await resolved(path)).toBe('sv3'),
  )

  it('language, region or both narrow an ambiguous shortcut', async () => {
    expect(await resolved('brs?language=DE')).toBe('swsh9-de')
    expect(await resolved('csv9.5c?region=tw')).toBe('csv9.5c-tw')
    expect(await resolved('csv9.5c?language=CN&region=cn')).toBe('csv9.5c-cn')
  })

  it('GET /v1/sets/{identifier} gets a 409 with the candidates for an ambiguous shortcut', async () => {
    const { status, body } = await seller.get('/v1/sets/brs')
    expect(status).toBe(409)
    expect(Object.keys(body.error)).toEqual(['type', 'message', 'fields'])
    expect(body.error.type).toBe('ambiguous_identifier')
    expect(body.error.fields).toEqual({
      candidates: [
        {
          id: 'swsh9',
          shortcut: 'brs',
          name: 'Brilliant Stars',
          series: 'Sword & Shield',
          language: 'EN',
          region: 'int',
        },
        {
          id: 'swsh9tg',
          shortcut: 'brs',
          name: 'Brilliant Stars Trainer Gallery',
          series: 'Sword & Shield',
          language: 'EN',
          region: 'int',
        },
        {
          id: 'swsh9-de',
          shortcut: 'brs',
          name: 'Strahlende Sterne',
          series: 'Sword & Shield',
          language: 'DE',
          region: 'int',
        },
      ],
    })
  })

  it.each([
    ['brs?language=EN', 'Use', ['swsh9', 'swsh9tg']],
    ['brs?region=int', 'Narrow it with language, or use', ['swsh9', 'swsh9tg', 'swsh9-de']],
    ['cel?language=EN&region=int', 'Use', ['cel25', 'cel25c']],
    ['csv9.5c?language=CN', 'Narrow it with region, or use', ['csv9.5c-tw', 'csv9.5c-cn']],
  ])(
    'GET /v1/sets/%s leaves several sets: the 409 lists them, and names a parameter only if it narrows them',
    async (path, advice, ids) => {
      const { status, body } = await seller.get(`/v1/sets/${path}`)
      expect(status).toBe(409)
      expect(body.error.message).toContain(` means ${ids.length} sets. ${advice} a canonical id.`)
      expect(idsOf(body.error.fields.candidates)).toEqual(ids)
    },
  )

  it.each([
    ['brs?language=FR', 'the language "FR"'],
    ['brs?region=jp', 'the region "jp"'],
    ['brs?language=de&region=int', 'the language "de" and the region "int"'],
  ])('GET /v1/sets/%s leaves no set: the 404 names %s', async (path, requested) => {
    const { status, body } = await seller.get(`/v1/sets/${path}`)
    expect([status, body.error]).toEqual([
      404,
      { type: 'not_found', message: `None of the sets that "brs" means has ${requested}.` },
    ])
  })

  it.each([
    ['an unknown identifier', 'nowhere'],
    ['a canonical id in another casing', 'SWSH9'],
    ['a shortcut in another casing', 'OBF'],
    ["a card's id", 'swsh9-1'],
    ['a name', 'Generations'],
    ['a property name of Object.prototype', 'constructor'],
    ['a space around an id', '%20swsh9'],
    ['an identifier of 3,000 characters', 'x'.repeat(3_000)],
  ])('GET /v1/sets/{identifier} returns 404 for %s', async (_, identifier) => {
    const { status, body } = await seller.get(`/v1/sets/${identifier}`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
  })

  it('GET /v1/sets/{identifier} decodes percent-encoded characters', async () => {
    expect(await resolved('%73wsh%39')).toBe('swsh9')
    expect(await resolved('csv9%2E5c?region=tw')).toBe('csv9.5c-tw')
  })
})

describe('GET /v1/sets/{identifier}?include=', () => {
  const read = async (path: string) => {
    const { status, body, text } = await seller.get(`/v1/sets/${path}`)
    expect(status, text).toBe(200)
    return body.data
  }

  it('include=cards adds the cards by natural number, each with its set and without listings', async () => {
    const set = await read('swsh9?include=cards')
    expect(Object.keys(set)).toEqual([...SET_KEYS, 'cards'])
    expect(idsOf(set.cards)).toEqual(['swsh9-1', 'swsh9-2', 'swsh9-10'])
    const { cards, ...alone } = set
    for (const card of cards) {
      expect(card.set).toEqual(alone)
      expect(card).not.toHaveProperty('listings')
      expect({ data: card }).toEqual((await seller.get(`/v1/cards/${card.id}`)).body)
    }
  })

  it('include=products adds the products by name, then slug, each with its set and without listings', async () => {
    const set = await read('cel25?include=products')
    expect(Object.keys(set)).toEqual([...SET_KEYS, 'products'])
    expect(slugsOf(set.products)).toEqual(['celebrations-mini-tin-1', 'celebrations-mini-tin-2'])
    const { products, ...alone } = set
    for (const product of products) {
      expect(product.set).toEqual(alone)
      expect(product).not.toHaveProperty('listings')
      expect({ data: product }).toEqual((await seller.get(`/v1/products/${product.slug}`)).body)
    }
  })

  it.each(['cards,products', 'products,cards', 'cards,products,cards,cards'])(
    'GET /v1/sets/{identifier}?include=%s adds cards and products once each',
    async (include) => {
      const set = await read(`swsh9?include=${include}`)
      expect(Object.keys(set)).toEqual([...SET_KEYS, 'cards', 'products'])
      expect([set.cards.length, set.products.length]).toEqual([3, 2])
    },
  )

  it('include=cards,products adds empty lists to a set without cards or products', async () => {
    const set = await read('s12-kr?include=cards,products')
    expect([set.cards, set.products]).toEqual([[], []])
  })

  it('GET /v1/sets/{identifier}?include= also works with a narrowed shortcut', async () => {
    const set = await read('brs?language=DE&include=cards')
    expect(idsOf(set.cards)).toEqual(['swsh9-de-1', 'swsh9-de-9'])
  })

  it.each([
    ['an unknown value', 'nothing'],
    ['a value of another endpoint', 'listings'],
    ['another casing', 'Cards,PRODUCTS'],
    ['a value with a space', '%20cards,products+'],
    ['empty values', ',,'],
    ['nothing', ''],
    ['another separator', 'cards;products'],
  ])('GET /v1/sets/{identifier}?include= ignores %s', async (_, include) => {
    expect(Object.keys(await read(`swsh9?include=${include}`))).toEqual(SET_KEYS)
  })

  it('GET /v1/sets/{identifier}?include= takes the known values from among unknown ones', async () => {
    const set = await read('swsh9?include=listings,%20products,cards,x')
    expect(Object.keys(set)).toEqual([...SET_KEYS, 'cards'])
  })

  it('GET /v1/sets ignores include=', async () => {
    const { body } = await seller.get('/v1/sets?include=cards,products')
    expect(Object.keys(body.data[0])).toEqual(SET_KEYS)
  })

  it('cards_count and products_count equal the number of included cards and products', async () => {
    for (const { id } of SETS) {
      const set = await read(`${id}?include=cards,products`)
      expect([set.cards_count, set.products_count]).toEqual([set.cards.length, set.products.length])
      const own = CARDS.filter((card) => card.set_id === id)
      expect(set.cards_count).toBe(own.length)
    }
  })
})
