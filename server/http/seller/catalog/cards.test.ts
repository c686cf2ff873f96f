import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, PUBLIC_URL, startTestApp } from '../../../test/app.ts'
import { CARDS, idsOf, importRecords } from '../../../test/catalog-fixture.ts'

/** The fields of a Card (§2.4), all of them on every card. */
const CARD_KEYS = [
  ...['id', 'friendly_id', 'name', 'number', 'rarity', 'supertype', 'hp', 'types'],
  ...['image_small', 'image_large', 'url', 'set'],
]
const MARKETPLACE_URL = 'https://market.example/tcg'

let seller: Client
beforeAll(async () => {
  const market = await startTestApp({ template: 'fixture', settings: { MARKETPLACE_URL } })
  seller = await market.seller()
})

const found = async (query: string): Promise<string[]> => {
  const { status, body, text } = await seller.get(`/v1/cards?per_page=100&${query}`)
  expect(status, text).toBe(200)
  return idsOf(body.data)
}

/** The ids of the cards of these sets, in the order of a list. */
const cardsOf = (...setIds: string[]) => idsOf(CARDS.filter((card) => setIds.includes(card.set_id)))

describe('GET /v1/cards', () => {
  it('GET /v1/cards sorts by the set’s release date, newest first and unknown last, then number, then id', async () => {
    expect(await found('')).toEqual(idsOf(CARDS))
  })

  it('GET /v1/cards gives a card exactly the specified fields, null where unknown', async () => {
    const { body } = await seller.get('/v1/cards?per_page=100')
    for (const card of body.data) expect(Object.keys(card)).toEqual(CARD_KEYS)
    expect(body.data.find(({ id }: { id: string }) => id === 'sv3-125')).toEqual({
      id: 'sv3-125',
      friendly_id: 'obf_125',
      name: 'Charizard ex',
      number: '125',
      rarity: 'Double Rare',
      supertype: 'Pokemon',
      hp: '330',
      types: ['Darkness', 'Fire'],
      image_small: 'https://images.example/sv3/125.png',
      image_large: 'https://images.example/sv3/125_hires.png',
      url: `${MARKETPLACE_URL}/cards/sv3-125`,
      set: (await seller.get('/v1/sets/sv3')).body.data,
    })
    expect(body.data.find(({ id }: { id: string }) => id === 'np-2')).toEqual({
      id: 'np-2',
      friendly_id: null,
      name: 'Pikachu',
      number: '2',
      rarity: null,
      supertype: null,
      hp: null,
      types: null,
      image_small: null,
      image_large: null,
      url: `${MARKETPLACE_URL}/cards/np-2`,
      set: (await seller.get('/v1/sets/np')).body.data,
    })
  })

  it('GET /v1/cards gives every card its whole set', async () => {
    const { body } = await seller.get('/v1/cards?per_page=100')
    for (const card of body.data) {
      const { set_id } = CARDS.find(({ id }) => id === card.id)!
      expect(card.set).toEqual((await seller.get(`/v1/sets/${set_id}`)).body.data)
    }
  })

  it('a card’s friendly id is shortcut_number, or null if its set has no shortcut', async () => {
    const { body } = await seller.get('/v1/cards?per_page=100')
    for (const { friendly_id, number, set } of body.data) {
      expect(friendly_id).toBe(set.shortcut === null ? null : `${set.shortcut}_${number}`)
    }
  })

  it('GET /v1/cards never includes listings, even with include=listings', async () => {
    const { body } = await seller.get('/v1/cards?include=listings')
    for (const card of body.data) expect(Object.keys(card)).toEqual(CARD_KEYS)
  })

  it('GET /v1/cards filters by the language and region of the set', async () => {
    expect(await found('language=DE')).toEqual(cardsOf('swsh9-de'))
    expect(await found('region=jp')).toEqual(cardsOf('sv3-jp'))
    expect(await found('language=CN')).toEqual(cardsOf('csv9.5c-cn', 'csv9.5c-tw'))
    expect(await found('language=CN&region=tw')).toEqual(cardsOf('csv9.5c-tw'))
  })

  it('GET /v1/cards filters by rarity', async () => {
    expect(await found('rarity=Common')).toEqual(['sv3-1', 'sv3-jp-001', 'swsh9-1', 'swsh9-de-1'])
    expect(await found('rarity=Common&language=EN')).toEqual(['sv3-1', 'swsh9-1'])
  })

  it('GET /v1/cards compares language, region and rarity exactly', async () => {
    expect(await found('rarity=Double+Rare')).toEqual(['sv3-125'])
    expect(await found('rarity=Double+rare')).toEqual(['sv3-jp-125'])
    expect(await found('rarity=Double')).toEqual([])
    expect(await found('rarity=COMMON')).toEqual([])
    expect(await found('language=de')).toEqual([])
    expect(await found('region=JP')).toEqual([])
  })

  it.each([
    'language=XX',
    'language=NL',
    'region=mars',
    'rarity=Shiny',
    'language=JP&region=int',
    'q=zzzzzzzz',
  ])('GET /v1/cards?%s matches nothing and returns an empty page', async (query) => {
    const { status, body } = await seller.get(`/v1/cards?${query}`)
    expect([status, body.data, body.meta.total]).toEqual([200, [], 0])
  })
})

describe('GET /v1/cards?set=', () => {
  it('GET /v1/cards?set= takes a canonical id or a shortcut and sorts by natural number', async () => {
    expect(await found('set=swsh9')).toEqual(['swsh9-1', 'swsh9-2', 'swsh9-10'])
    expect(await found('set=swsh9tg')).toEqual(['swsh9tg-TG2', 'swsh9tg-TG10', 'swsh9tg-TG12'])
    expect(await found('set=obf')).toEqual(cardsOf('sv3'))
    expect(await found('set=pr-sw')).toEqual(cardsOf('swshp'))
    expect(await found('set=np')).toEqual(cardsOf('np'))
  })

  it('GET /v1/cards?set= prefers a canonical id to the shortcut of another set', async () => {
    expect(await found('set=g1')).toEqual(cardsOf('g1'))
    expect(await found('set=sv3')).toEqual(cardsOf('sv3'))
  })

  it('GET /v1/cards?set= gets a 404 for an unknown set, whatever the other filters', async () => {
    for (const query of ['nowhere', 'SWSH9', 'OBF', 'swsh9-1', 'nowhere&language=EN', 'x&q=a']) {
      const { status, body } = await seller.get(`/v1/cards?set=${query}`)
      expect([query, status, body.error.type]).toEqual([query, 404, 'not_found'])
      expect(Object.keys(body.error)).toEqual(['type', 'message'])
    }
  })

  it('GET /v1/cards?set= gets a 409 with the candidate sets for an ambiguous shortcut', async () => {
    const { status, body } = await seller.get('/v1/cards?set=csv9.5c')
    expect(status).toBe(409)
    expect(Object.keys(body.error)).toEqual(['type', 'message', 'fields'])
    expect(body.error.type).toBe('ambiguous_identifier')
    expect(body.error.fields).toEqual({
      candidates: [
        {
          id: 'csv9.5c-tw',
          shortcut: 'csv9.5c',
          name: '太晶慶典',
          series: 'Scarlet & Violet',
          language: 'CN',
          region: 'tw',
        },
        {
          id: 'csv9.5c-cn',
          shortcut: 'csv9.5c',
          name: '太晶璀璨',
          series: 'Scarlet & Violet',
          language: 'CN',
          region: 'cn',
        },
      ],
    })
  })

  it('language and region narrow an ambiguous shortcut in GET /v1/cards?set=', async () => {
    expect(await found('set=csv9.5c&region=cn')).toEqual(cardsOf('csv9.5c-cn'))
    expect(await found('set=brs&language=DE')).toEqual(cardsOf('swsh9-de'))
    expect(await found('set=brs&language=DE&region=int')).toEqual(cardsOf('swsh9-de'))
  })

  it('GET /v1/cards?set= prefers a shortcut to an equal canonical id that language or region rules out', async () => {
    for (const query of ['language=JP', 'region=jp', 'language=JP&region=jp']) {
      expect(await found(`set=sv3&${query}`)).toEqual(cardsOf('sv3-jp'))
    }
    expect(await found('set=sv3')).toEqual(cardsOf('sv3'))
  })

  it('GET /v1/cards?set= gets a 409 with the narrowed candidates when several are left', async () => {
    const { status, body } = await seller.get('/v1/cards?set=brs&language=EN')
    expect(status).toBe(409)
    expect(idsOf(body.error.fields.candidates)).toEqual(['swsh9', 'swsh9tg'])
  })

  it('language and region still filter an unambiguous set: an empty page, not a 404', async () => {
    for (const query of [
      'set=g1&language=JP',
      'set=obf&region=jp',
      'set=obf&language=DE',
      'set=brs&language=FR',
      'set=csv9.5c&region=int',
      'set=sv3&language=XX',
    ]) {
      const { status, body } = await seller.get(`/v1/cards?${query}`)
      expect([query, status, body.data]).toEqual([query, 200, []])
      expect(body.meta.total).toBe(0)
    }
    expect(await found('set=sv3&language=EN&region=int')).toEqual(cardsOf('sv3'))
  })

  it('GET /v1/cards?set= combines with the other filters', async () => {
    expect(await found('set=swsh9&rarity=Uncommon')).toEqual(['swsh9-2'])
    expect(await found('set=swsh9&q=exegg')).toEqual(['swsh9-1', 'swsh9-2'])
    expect(await found('set=swsh9&q=blastoise')).toEqual([])
    expect(await found('set=swsh9&rarity=Promo')).toEqual([])
  })

  it('GET /v1/cards?set= returns an empty page for a set without cards', async () => {
    expect(await found('set=s12-kr')).toEqual([])
  })
})

describe('GET /v1/cards?q=', () => {
  it.each([
    ['by its whole name', 'Weedle', ['g1-1']],
    ['in another casing', 'wEEDLE', ['g1-1']],
    ['without its accents', 'flabebe', ['oddities-3']],
    ['with its apostrophe', "farfetch'd", ['oddities-A']],
    ['with a typographic apostrophe', 'Farfetch’d', ['oddities-A']],
    ['without its apostrophe', 'farfetchd', ['oddities-A']],
    ['by its sign', '♀', ['oddities-2']],
    ['with its sign', 'nidoran ♀', ['oddities-2']],
    ['without its sign', 'nidoran', ['oddities-2']],
    ['by both names on it', 'reshiram & charizard', ['swsh9tg-TG10']],
    ['with & for "and"', 'reshiram and charizard', ['swsh9tg-TG10']],
    ['with a slip', 'blastiose', ['cel25c-2_A']],
    ['in Japanese', 'リザードン', ['sv3-jp-125']],
    ['in Chinese', '妙蛙花', ['csv9.5c-cn-10b']],
  ])('GET /v1/cards?q= finds a card %s', async (_, q, ids) => {
    expect(await found(`q=${encodeURIComponent(q)}`)).toEqual(ids)
  })

  it('GET /v1/cards?q= ranks the exact name first, even one of a single character', async () => {
    const ids = await found('q=N')
    expect(ids[0]).toBe('sv3-1')
    expect(ids).toContain('oddities-2')
  })

  it('GET /v1/cards?q= ranks names that begin with the query above those that contain it later', async () => {
    expect(await found('q=charizard')).toEqual(['swsh9-10', 'sv3-125', 'swsh9tg-TG10'])
    expect(await found('q=reshiram')).toEqual(['cel25-2', 'swsh9tg-TG10'])
  })

  it('GET /v1/cards?q= sorts cards of the same name like the list', async () => {
    expect(await found('q=unown')).toEqual(['ex10-!', 'ex10-28', 'ex10-?'])
    expect(await found('q=venusaur')).toEqual(['cel25c-15_A1', 'ru1-1'])
    expect(await found('q=pikachu')).toEqual(['np-2', 'np-fr-2', 'np-10', 'swsh9tg-TG2'])
  })

  it('GET /v1/cards?q= combines with the filters', async () => {
    expect(await found('q=pikachu&language=FR')).toEqual(['np-fr-2'])
    expect(await found('q=pikachu&rarity=Rare+Holo+V')).toEqual(['swsh9tg-TG2'])
    expect(await found('q=pikachu&region=jp')).toEqual([])
  })

  it('GET /v1/cards caches every combination of filters separately', async () => {
    for (let round = 0; round < 2; round++) {
      expect(await found('q=pikachu')).toHaveLength(4)
      expect(await found('q=pikachu&language=EN')).toEqual(['np-2', 'np-10', 'swsh9tg-TG2'])
      expect(await found('language=FR')).toEqual(['np-fr-2'])
      expect(await found('rarity=FR')).toEqual([])
      expect(await found('set=np&q=pikachu')).toEqual(['np-2', 'np-10'])
      expect(await found('set=np')).toEqual(cardsOf('np'))
      expect(await found('')).toEqual(idsOf(CARDS))
    }
  })

  it.each(['%', '"', '\\', '((', '.*', '漢', '😀', "'; drop table cards; --"])(
    'GET /v1/cards?q= treats %s as plain text',
    async (q) => {
      expect(await found(`q=${encodeURIComponent(q)}`)).toEqual([])
    },
  )
})

describe('GET /v1/cards/{identifier}', () => {
  const resolved = async (path: string): Promise<string> => {
    const { status, body, text } = await seller.get(`/v1/cards/${path}`)
    expect(status, text).toBe(200)
    expect(Object.keys(body)).toEqual(['data'])
    return body.data.id
  }

  it('GET /v1/cards/{identifier} returns the card as the list shows it', async () => {
    const { body } = await seller.get('/v1/cards?per_page=100')
    for (const card of body.data) {
      const response = await seller.get(`/v1/cards/${encodeURIComponent(card.id)}`)
      expect(response.status).toBe(200)
      expect(response.body).toEqual({ data: card })
      expect(Object.keys(response.body.data)).toEqual(CARD_KEYS)
    }
  })

  it.each([
    ['brs_TG12', 'swsh9tg-TG12'],
    ['obf_125', 'sv3-125'],
    ['pr-sw_SWSH001', 'swshp-SWSH001'],
    ['sv3_001', 'sv3-jp-001'],
    ['g1_1', 'gym1-1'],
    ['gen_1', 'g1-1'],
    ['cel_15', 'cel25c-15_A1'],
    ['uf_28', 'ex10-28'],
    ['uf_%3F', 'ex10-?'],
    ['uf_!', 'ex10-!'],
    ['csv9.5c_10_b', 'csv9.5c-cn-10b'],
    ['csv9.5c_10%5Fb', 'csv9.5c-cn-10b'],
  ])('GET /v1/cards/%s resolves the friendly id to %s', async (friendlyId, id) => {
    expect(await resolved(friendlyId)).toBe(id)
  })

  it('a friendly id can be unique although its set’s shortcut is not', async () => {
    expect((await seller.get('/v1/sets/brs')).status).toBe(409)
    expect(await resolved('brs_TG12')).toBe('swsh9tg-TG12')
    expect(await resolved('brs_10')).toBe('swsh9-10')
  })

  it('GET /v1/cards/{identifier} tries the whole identifier as a canonical id before splitting it', async () => {
    expect(await resolved('cel25c-2_A')).toBe('cel25c-2_A')
    const trap = await seller.get('/v1/cards/oddities-A')
    expect(trap.body.data.friendly_id).toBe('cel25c-2_A')
  })

  it('GET /v1/cards/{identifier} ignores language and region for a canonical id', async () => {
    expect(await resolved('cel25c-2_A?language=JP&region=jp')).toBe('cel25c-2_A')
    expect(await resolved('sv3-1?language=XX')).toBe('sv3-1')
    expect(await resolved('ex10-%3F?region=kr')).toBe('ex10-?')
  })

  it('a friendly id’s number is compared as text, with leading zeros and case', async () => {
    for (const id of ['sv3_1', 'sv3_01', 'obf_001', 'obf_0125', 'brs_TG02', 'brs_tg12', 'brs_TG']) {
      expect([id, (await seller.get(`/v1/cards/${id}`)).status]).toEqual([id, 404])
    }
  })

  it('a friendly id’s number is the card’s number, not the end of its canonical id', async () => {
    expect((await seller.get('/v1/cards/cel_2_A')).status).toBe(404)
    expect((await seller.get('/v1/cards/cel25c-2')).status).toBe(404)
    expect((await seller.get('/v1/cards/csv9.5c_10b')).status).toBe(404)
  })

  it.each([
    ['an unknown identifier', 'nowhere-1'],
    ['an unknown number', 'obf_999'],
    ['a canonical id in another casing', 'SV3-1'],
    ['a friendly id in another casing', 'OBF_1'],
    ["a set's id", 'sv3'],
    ['a set id before the underscore', 'swsh9_1'],
    ['"null" as the shortcut of a set without one', 'null_1'],
    ['a bare underscore', '_'],
    ['a shortcut alone', 'obf_'],
    ['a property name of Object.prototype', '__proto__'],
    ['an identifier longer than any', 'x'.repeat(3_000)],
  ])('GET /v1/cards/{identifier} gets a 404 for %s', async (_, identifier) => {
    const { status, body } = await seller.get(`/v1/cards/${identifier}`)
    expect([status, body.error.type]).toEqual([404, 'not_found'])
    expect(Object.keys(body.error)).toEqual(['type', 'message'])
  })

  it('identifiers of the maximum length resolve, however many bytes they take', async () => {
    const app = await startTestApp()
    const [id, number] = [100, 50].map((length) => '𠮷'.repeat(length))
    const shortcut = 'x'.repeat(100)
    await importRecords(app.operator, [
      { type: 'set', id, shortcut, name: 'S', series: 'X', language: 'JP', region: 'jp' },
      { type: 'card', id, set_id: id, name: 'C', number },
    ])
    const client = await app.seller()
    for (const path of [`sets/${id}`, `sets/${shortcut}`, `cards/${id}`]) {
      expect((await client.get(`/v1/${encodeURI(path)}?language=JP`)).body.data.id).toBe(id)
    }
    const friendly = await client.get(`/v1/cards/${encodeURI(`${shortcut}_${number}`)}`)
    expect(friendly.body.data).toMatchObject({ id, friendly_id: `${shortcut}_${number}` })
    expect((await client.get(`/v1/cards?set=${encodeURI(id!)}`)).body.meta.total).toBe(1)
  })

  it('GET /v1/cards/{identifier} gets a 409 with the candidates for an ambiguous friendly id', async () => {
    const { status, body } = await seller.get('/v1/cards/brs_1')
    expect(status).toBe(409)
    expect(Object.keys(body.error)).toEqual(['type', 'message', 'fields'])
    expect(body.error.type).toBe('ambiguous_identifier')
    expect(body.error.fields).toEqual({
      candidates: [
        {
          id: 'swsh9-1',
          name: 'Exeggcute',
          number: '1',
          set: 'Brilliant Stars',
          language: 'EN',
          region: 'int',
        },
        {
          id: 'swsh9-de-1',
          name: 'Owei',
          number: '1',
          set: 'Strahlende Sterne',
          language: 'DE',
          region: 'int',
        },
      ],
    })
  })

  it('language, region or both narrow an ambiguous friendly id', async () => {
    expect(await resolved('brs_1?language=EN')).toBe('swsh9-1')
    expect(await resolved('brs_1?language=DE&region=int')).toBe('swsh9-de-1')
    expect(await resolved('csv9.5c_001?region=cn')).toBe('csv9.5c-cn-001')
  })

  it.each([
    ['brs_1?region=int', 'Narrow it with language, or use', ['swsh9-1', 'swsh9-de-1']],
    [
      'csv9.5c_001?language=CN',
      'Narrow it with region, or use',
      ['csv9.5c-cn-001', 'csv9.5c-tw-001'],
    ],
    ['cel_2?language=EN&region=int', 'Use', ['cel25-2', 'cel25c-2_A']],
  ])(
    'GET /v1/cards/%s leaves several cards: the 409 lists them, and names a parameter only if it narrows them',
    async (path, advice, ids) => {
      const { status, body } = await seller.get(`/v1/cards/${path}`)
      expect(status).toBe(409)
      expect(body.error.message).toContain(` means 2 cards. ${advice} a canonical id.`)
      expect(idsOf(body.error.fields.candidates)).toEqual(ids)
    },
  )

  it('the candidates of an ambiguous friendly id are narrowed by language', async () => {
    const app = await startTestApp()
    const other = (id: string, language: string) => [
      { type: 'set', id, name: id, shortcut: 'x', series: 'X', language, region: 'int' },
      { type: 'card', id: `${id}-1`, set_id: id, name: id, number: '1' },
    ]
    await importRecords(app.operator, [other('a', 'EN'), other('b', 'EN'), other('c', 'DE')].flat())
    const { body } = await (await app.seller()).get('/v1/cards/x_1?language=EN')
    expect(idsOf(body.error.fields.candidates)).toEqual(['a-1', 'b-1'])
  })

  it.each([
    ['brs_1?language=FR', 'the language "FR"'],
    ['brs_1?region=jp', 'the region "jp"'],
    ['brs_1?language=EN&region=jp', 'the language "EN" and the region "jp"'],
  ])('GET /v1/cards/%s leaves no card: the 404 names %s', async (path, requested) => {
    const { status, body } = await seller.get(`/v1/cards/${path}`)
    expect([status, body.error]).toEqual([
      404,
      { type: 'not_found', message: `None of the cards that "brs_1" means has ${requested}.` },
    ])
  })

  it.each(['obf_1?language=DE', 'obf_1?region=jp', 'obf_1?language=en'])(
    'GET /v1/cards/%s ignores language and region for an unambiguous friendly id',
    async (path) => expect(await resolved(path)).toBe('sv3-1'),
  )
})

describe('GET /v1/cards/{identifier}?include=', () => {
  it.each(['listings', 'listings,listings', 'cards,listings,x'])(
    'GET /v1/cards/{identifier}?include=%s appends the listings',
    async (include) => {
      const { body } = await seller.get(`/v1/cards/sv3-125?include=${include}`)
      expect(Object.keys(body.data)).toEqual([...CARD_KEYS, 'listings'])
      expect(body.data.listings).toEqual([])
    },
  )

  it('include=listings leaves the other fields of a card unchanged', async () => {
    const plain = await seller.get('/v1/cards/brs_TG12')
    const { body } = await seller.get('/v1/cards/brs_TG12?include=listings')
    expect(body).toEqual({ data: { ...plain.body.data, listings: [] } })
  })

  it.each(['', 'cards', 'Listings', '%20listings', 'listings%20', '+listings,listings+', 'list'])(
    'GET /v1/cards/{identifier} ignores include="%s"',
    async (include) => {
      const { status, body } = await seller.get(`/v1/cards/sv3-125?include=${include}`)
      expect(status).toBe(200)
      expect(Object.keys(body.data)).toEqual(CARD_KEYS)
    },
  )
})

describe('the url of a card', () => {
  it('a card’s url is its percent-encoded page on the marketplace', async () => {
    const urlOf = async (id: string) => (await seller.get(`/v1/cards/${id}`)).body.data.url
    expect(await urlOf('ex10-%3F')).toBe(`${MARKETPLACE_URL}/cards/ex10-%3F`)
    expect(await urlOf('ex10-!')).toBe(`${MARKETPLACE_URL}/cards/ex10-!`)
    expect(await urlOf('cel25c-2_A')).toBe(`${MARKETPLACE_URL}/cards/cel25c-2_A`)
    expect(await urlOf('csv9.5c-cn-10b')).toBe(`${MARKETPLACE_URL}/cards/csv9.5c-cn-10b`)
  })

  it('a card’s url begins with PUBLIC_URL when MARKETPLACE_URL is not set', async () => {
    const app = await startTestApp()
    await importRecords(app.operator, [
      { type: 'set', id: 's/1', name: 'S', series: 'X', language: 'EN', region: 'int' },
      { type: 'card', id: 's/1-☆ %', set_id: 's/1', name: 'Odd', number: '☆ %' },
    ])
    const { status, body } = await (await app.seller()).get('/v1/cards/s%2F1-%E2%98%86%20%25')
    expect(status).toBe(200)
    expect(body.data.url).toBe(`${PUBLIC_URL}/cards/s%2F1-%E2%98%86%20%25`)
  })
})
