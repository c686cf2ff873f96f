import { beforeAll, describe, expect, it } from 'vitest'
import { CONDITIONS, GRADES, GRADING_COMPANIES, LANGUAGES, PRINTINGS } from '../../enums.ts'
import { type Client, startTestApp } from '../../test/app.ts'
import { idsOf, LONGEST_SLUG } from '../../test/catalog-fixture.ts'
import {
  cardItem,
  createListings,
  gradedItem,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'

let seller: Client
beforeAll(async () => {
  const app = await startTestApp({ template: 'fixture', settings: NO_LIMITS })
  seller = await app.seller()
})

/** The result of a bulk create with this one item. */
const resultOf = async (item: unknown) => {
  const { status, body, text } = await createListings(seller, [item])
  expect(status, text).toBe(200)
  return body.results[0]
}

/** The fields that the item's errors name; each has at least one message. */
const invalidFields = async (item: unknown): Promise<string[]> => {
  const { status, errors } = await resultOf(item)
  expect(status).toBe('failed')
  for (const messages of Object.values(errors)) {
    expect(messages).not.toEqual([])
    for (const message of messages as string[]) expect(message).toMatch(/^[A-Z].+\.$/)
  }
  return Object.keys(errors)
}

/** The listing created from an item, as its owner sees it. */
const listingOf = async (item: unknown) => {
  const result = await resultOf(item)
  expect(result.status, JSON.stringify(result)).toBe('created')
  const { body } = await seller.get('/v1/listings?per_page=1')
  expect(body.data[0].id).toBe(result.listing.id)
  return body.data[0]
}

/** The values of a field that listings have which were created with these. */
const listedWith = async (
  field: string,
  values: readonly string[],
  item: (more: object) => object = cardItem,
) => {
  const wanted = values.map((value) => item({ [field]: value }))
  expect((await createListings(seller, wanted)).body.created).toBe(values.length)
  const { body } = await seller.get(`/v1/listings?per_page=${values.length}`)
  return body.data.map((listing: Record<string, unknown>) => listing[field]).toReversed()
}

/** The result of an item with one field written as this JSON text. */
const resultOfText = async (field: string, written: string) => {
  const item = JSON.stringify(cardItem({ [field]: undefined }))
  const payload = `{"items":[${item.slice(0, -1)},"${field}":${written}}]}`
  const headers = { 'content-type': 'application/json' }
  return (await seller.post('/v1/listings', { payload, headers })).body.results[0]
}

/** Characters of four UTF-8 bytes and two UTF-16 units each. */
const wide = (length: number) => '𠮷'.repeat(length)

describe('items of POST /v1/listings', () => {
  it.each([
    ['null', null],
    ['an array', [cardItem()]],
    ['a number', 5],
    ['a string', 'sv3-125'],
    ['true', true],
  ])('an item that is %s fails with an error on "item"', async (_, item) => {
    expect(await resultOf(item)).toEqual({
      status: 'failed',
      index: 0,
      errors: { item: [expect.any(String)] },
    })
  })

  it('an item requires language, price, quantity and, for a card, a condition', async () => {
    expect(await invalidFields({ card: 'sv3-125' })).toEqual([
      'language',
      'price',
      'quantity',
      'condition',
    ])
    expect(await invalidFields({ product: 'poke-ball-tin' })).toEqual([
      'language',
      'price',
      'quantity',
    ])
  })

  it.each([
    ['neither a card nor a product', cardItem({ card: undefined })],
    ['both a card and a product', { ...cardItem(), ...productItem() }],
    ['null as card and product', cardItem({ card: null, product: null })],
    ['an unknown card and an unknown product', cardItem({ card: 'x', product: 'x' })],
  ])('an item with %s fails with errors on both fields', async (_, item) => {
    expect((await invalidFields(item)).sort()).toEqual(['card', 'product'])
  })

  it('an item gets the errors of all its fields at once', async () => {
    const faults = await invalidFields(cardItem({ card: 'nowhere-1', price: 0, quantity: 'x' }))
    expect(faults.sort()).toEqual(['card', 'price', 'quantity'])
    const neither = await invalidFields({ language: 'XX', price: 1, quantity: 1 })
    expect(neither.sort()).toEqual(['card', 'language', 'product'])
  })

  it('null in an optional field of an item means that it is absent', async () => {
    const listing = await listingOf(
      cardItem({
        product: null,
        language_hint: null,
        printing: null,
        grading_company: null,
        grading_grade: null,
        description: null,
        photo_urls: null,
      }),
    )
    expect(listing).toMatchObject({ printing: 'standard', graded: null, description: null })
  })

  it.each(['language', 'price', 'quantity', 'condition'])(
    'an item without %s, or with null, gets "field is required"',
    async (field) => {
      const message = `The ${field} field is required.`
      for (const nothing of [undefined, null]) {
        const { errors } = await resultOf(cardItem({ [field]: nothing }))
        expect(errors).toEqual({ [field]: [message] })
      }
    },
  )

  it('an item may have unknown fields with any content', async () => {
    const odd = { shipping: 3, status: 'removed', id: 'x', seller: null, note: '\0\ud800' }
    expect((await listingOf(cardItem(odd))).status).toBe('active')
    const proto = JSON.parse(`{"__proto__": {"price": 1}, "constructor": 5}`)
    expect((await resultOf({ ...proto, ...cardItem() })).status).toBe('created')
  })
})

describe('prices', () => {
  it.each([
    ['0.01', 0.01],
    ['0.011', 0.01],
    ['0.015', 0.02],
    ['1.005', 1.01],
    ['1.00499', 1],
    ['1.00499999999999999', 1],
    ['100499999999999999e-17', 1],
    ['1.005000000000000000', 1.01],
    ['0.30000000000000004', 0.3],
    ['4.50', 4.5],
    ['8.575', 8.58],
    ['1e3', 1000],
    ['100', 100],
    ['99999.99', 99999.99],
  ])('the price %s is stored as %d', async (written, price) => {
    const result = await resultOfText('price', written)
    expect(result.listing).toMatchObject({ price, currency: 'EUR' })
    expect((await seller.get('/v1/listings?per_page=1')).body.data[0]).toMatchObject({
      id: result.listing.id,
      price,
      currency: 'EUR',
    })
  })

  it.each([
    ...['0', '-1', '0.004', '0.009', '0.0099999', '99999.991', '99999.995', '100000', '1e400'],
    ...['0.009999999999999999999', '99999.990000000001', '999999900000000001e-13'],
    ...['"4.50"', '""', 'true', '[4.5]', '{}'],
  ])('the price %s is refused', async (written) => {
    const { errors } = await resultOfText('price', written)
    expect(errors).toEqual({ price: [expect.any(String)] })
  })
})

describe('quantities', () => {
  it.each([
    ['1', 1],
    ['1.0', 1],
    ['1e2', 100],
    ['999', 999],
  ])('the quantity %s is stored as %d', async (written, quantity) => {
    const result = await resultOfText('quantity', written)
    expect(result.listing.quantity).toBe(quantity)
  })

  it.each(['0', '-1', '1000', '1.5', '0.5', '"3"', '1e400', 'true', '[1]'])(
    'the quantity %s is refused',
    async (written) => {
      const { errors } = await resultOfText('quantity', written)
      expect(Object.keys(errors)).toEqual(['quantity'])
    },
  )
})

describe('languages', () => {
  it('a listing can have each language, whatever the language of its set', async () => {
    for (const item of [cardItem, productItem]) {
      expect(await listedWith('language', LANGUAGES, item)).toEqual(LANGUAGES)
    }
  })

  it.each(['', 'en', 'XX', 'EN ', 'English', 5, ['EN']])(
    'a listing cannot have the language %j',
    async (language) => {
      expect(await invalidFields(cardItem({ language }))).toEqual(['language'])
      expect(await invalidFields(productItem({ language }))).toEqual(['language'])
    },
  )
})

describe('conditions', () => {
  it('a card can be listed in each condition', async () => {
    const ungraded = CONDITIONS.filter((code) => code !== 'G')
    expect(await listedWith('condition', ungraded)).toEqual(ungraded)
  })

  it.each(['', 'nm', 'Mint', 'A', 1, ['NM']])(
    'a card cannot be listed in the condition %j',
    async (condition) => {
      expect(await invalidFields(cardItem({ condition }))).toEqual(['condition'])
    },
  )
})

describe('printings', () => {
  it('a card can be listed in each printing', async () => {
    expect(await listedWith('printing', PRINTINGS)).toEqual(PRINTINGS)
  })

  it('a listing’s printing is standard by default', async () => {
    expect((await listingOf(cardItem())).printing).toBe('standard')
  })

  it.each(['', 'Holo', 'foil', 1, ['holo']])(
    'a card cannot be listed in the printing %j',
    async (printing) => {
      expect(await invalidFields(cardItem({ printing }))).toEqual(['printing'])
    },
  )
})

describe('gradings', () => {
  it.each(GRADING_COMPANIES)('a card can be graded by %s', async (company) => {
    const listing = await listingOf(gradedItem({ grading_company: company }))
    expect(listing.condition).toBe('G')
    expect(listing.graded).toEqual({ company, grade: '9.5', label: `${company} 9.5` })
  })

  it('a card can have each of the nineteen grades, with one decimal', async () => {
    expect(GRADES).toHaveLength(19)
    const wanted = GRADES.map((grade) => gradedItem({ grading_grade: grade }))
    expect((await createListings(seller, wanted)).body.created).toBe(19)
    const { body } = await seller.get('/v1/listings?per_page=19')
    const grades = body.data.map(({ graded }: { graded: { grade: string } }) => graded.grade)
    expect(grades.toReversed()).toEqual(GRADES)
  })

  it.each(['10', '9.50', '0.5', '0.0', '10.5', '9,5', '', 'ten', 9.5, 10])(
    'a card cannot have the grade %j',
    async (grading_grade) => {
      expect(await invalidFields(gradedItem({ grading_grade }))).toEqual(['grading_grade'])
    },
  )

  it.each(['', 'psa', 'ABC', 5])('a card cannot be graded by %j', async (grading_company) => {
    expect(await invalidFields(gradedItem({ grading_company }))).toEqual(['grading_company'])
  })

  it('the condition G requires a grading company and a grade', async () => {
    expect(await invalidFields(cardItem({ condition: 'G' }))).toEqual([
      'grading_company',
      'grading_grade',
    ])
    expect(await invalidFields(gradedItem({ grading_grade: undefined }))).toEqual(['grading_grade'])
    expect(await invalidFields(gradedItem({ grading_company: null }))).toEqual(['grading_company'])
  })

  it('the grading fields are ignored in any other condition than G, even invalid ones', async () => {
    const graded = { grading_company: 'PSA', grading_grade: '9.5' }
    const nonsense = { grading_company: 5, grading_grade: ['x', '\0'] }
    for (const more of [graded, nonsense]) {
      expect(await listingOf(cardItem(more))).toMatchObject({ condition: 'NM', graded: null })
    }
  })
})

describe('sealed products', () => {
  it.each([
    [
      'valid values',
      { condition: 'G', printing: 'holo', grading_company: 'PSA', grading_grade: '9.5' },
    ],
    ['invalid values', { condition: 5, printing: '', grading_company: [], grading_grade: '\0' }],
    ['a language hint', { language_hint: 'much too long' }],
  ])('an item for a sealed product ignores the fields of cards: %s', async (_, more) => {
    expect(await listingOf(productItem(more))).toMatchObject({
      condition: null,
      printing: 'standard',
      graded: null,
      listable: { type: 'product', id: 'obsidian-flames-booster-box' },
    })
  })

  it.each([
    ['an unknown slug', 'no-such-box'],
    ['a slug in another casing', 'Poke-Ball-Tin'],
    ["a card's id", 'sv3-125'],
    ['an empty slug', ''],
    ['a slug of 151 characters', 'x'.repeat(151)],
    ['a slug with NUL in it', 'poke-ball-tin\0'],
    ['a slug with a lone surrogate', 'poke-ball-tin\ud800'],
    ['a number', 5],
    ['a property name of Object.prototype', '__proto__'],
  ])('no sealed product is found by %s', async (_, product) => {
    expect(await invalidFields(productItem({ product }))).toEqual(['product'])
  })

  it('a sealed product is found by a slug of the maximum length', async () => {
    const product = LONGEST_SLUG
    expect((await listingOf(productItem({ product }))).listable.id).toBe(product)
  })
})

describe('cards', () => {
  it.each([
    ['sv3-125', 'sv3-125'],
    ['obf_125', 'sv3-125'],
    ['brs_TG12', 'swsh9tg-TG12'],
    ['csv9.5c_10_b', 'csv9.5c-cn-10b'],
    ['cel25c-2_A', 'cel25c-2_A'],
    ['ru1-1', 'ru1-1'],
    ['uf_?', 'ex10-?'],
  ])('the item identifier %s finds the card %s', async (card, id) => {
    expect((await listingOf(cardItem({ card }))).listable.id).toBe(id)
  })

  it.each([
    ['an unknown id', 'nowhere-1'],
    ['a number that its set does not have', 'obf_999'],
    ['an id in another casing', 'SV3-125'],
    ["a product's slug", 'poke-ball-tin'],
    ['an empty id', ''],
    ['an id of 101 characters', 'x'.repeat(101)],
    ['an id with NUL in it', 'sv3-125\0'],
    ['an id with a lone surrogate', 'sv3-125\udc00'],
    ['a number', 125],
    ['a property name of Object.prototype', 'constructor'],
  ])('no card is found by %s', async (_, card) => {
    const result = await resultOf(cardItem({ card }))
    expect(Object.keys(result)).toEqual(['status', 'index', 'errors'])
    expect(await invalidFields(cardItem({ card }))).toEqual(['card'])
  })
})

describe('ambiguous friendly ids', () => {
  const cardOf = async (more: object) => (await listingOf(cardItem(more))).listable.id

  it('an item with an ambiguous friendly id fails with the candidates of GET /v1/cards/{identifier}', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1' }))
    expect(result).toEqual({
      status: 'failed',
      index: 0,
      errors: { card: [expect.stringContaining('language_hint')] },
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
    const refused = await seller.get('/v1/cards/brs_1')
    expect(refused.status).toBe(409)
    expect(result.candidates).toEqual(refused.body.error.fields.candidates)
  })

  it('an ambiguous friendly id comes with its candidates even if other fields are wrong', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1', price: 0, language: 'XX' }))
    expect(Object.keys(result.errors).sort()).toEqual(['card', 'language', 'price'])
    expect(idsOf(result.candidates)).toEqual(['swsh9-1', 'swsh9-de-1'])
  })

  it('language_hint decides an ambiguous friendly id; the listing keeps its own language', async () => {
    expect(await cardOf({ card: 'brs_1', language_hint: 'DE' })).toBe('swsh9-de-1')
    expect(await cardOf({ card: 'brs_1', language_hint: 'EN' })).toBe('swsh9-1')
    const listing = await listingOf(
      cardItem({ card: 'brs_1', language_hint: 'DE', language: 'FR' }),
    )
    expect(listing.language).toBe('FR')
  })

  it('the language of the listing does not decide an ambiguous friendly id', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1', language: 'DE' }))
    expect(idsOf(result.candidates)).toEqual(['swsh9-1', 'swsh9-de-1'])
  })

  it('a language_hint that fits no candidate fails with an error on the card', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1', language_hint: 'JP' }))
    expect(result).toEqual({
      status: 'failed',
      index: 0,
      errors: { card: ['None of the cards that "brs_1" means has the language "JP".'] },
    })
  })

  it('a language_hint that fits several candidates narrows them', async () => {
    const result = await resultOf(cardItem({ card: 'cel_2', language_hint: 'EN' }))
    expect(idsOf(result.candidates)).toEqual(['cel25-2', 'cel25c-2_A'])
  })

  it('language_hint is ignored for an unambiguous friendly id and a canonical id', async () => {
    expect(await cardOf({ card: 'obf_125', language_hint: 'DE' })).toBe('sv3-125')
    expect(await cardOf({ card: 'swsh9-1', language_hint: 'DE' })).toBe('swsh9-1')
    expect(await cardOf({ card: 'cel25c-2_A', language_hint: 'JP' })).toBe('cel25c-2_A')
  })

  it.each([
    ['a word', 'GERMAN'],
    ['an unknown language', 'XX'],
    ['lower case', 'de'],
    ['an empty string', ''],
    ['a number', 5],
    ['NUL', 'D\0'],
  ])('%s is not a valid language_hint, even where none is needed', async (_, language_hint) => {
    for (const card of ['brs_1', 'obf_125', 'swsh9-1']) {
      expect(await invalidFields(cardItem({ card, language_hint }))).toEqual(['language_hint'])
    }
  })
})

describe('descriptions', () => {
  it.each([
    ['1000 characters', 'x'.repeat(1000)],
    ['1000 characters outside the Basic Multilingual Plane', wide(1000)],
    ['lines, signs and quotes', 'a\n\tb "c" \\ \' ; -- é 漢 ♀'],
  ])('a description can be %s', async (_, description) => {
    expect((await listingOf(cardItem({ description }))).description).toBe(description)
    expect((await listingOf(productItem({ description }))).description).toBe(description)
  })

  it('an empty description is stored as null', async () => {
    expect((await listingOf(cardItem({ description: '' }))).description).toBeNull()
  })

  it.each([
    ['1001 characters', 'x'.repeat(1001)],
    ['1001 characters outside the Basic Multilingual Plane', wide(1001)],
    ['text with NUL in it', 'a\0b'],
    ['text with a lone surrogate', 'a\ud83d'],
    ['a number', 5],
    ['a list', ['x']],
  ])('a description cannot be %s', async (_, description) => {
    expect(await invalidFields(cardItem({ description }))).toEqual(['description'])
  })
})

describe('photo URLs', () => {
  const url = (length: number) => `https://i.example/${'x'.repeat(length - 18)}`

  it.each([
    ['an empty list', []],
    ['ten URLs', Array.from({ length: 10 }, (_, i) => `https://images.example/${i}.jpg`)],
    ['the same URL twice', ['https://images.example/1.jpg', 'https://images.example/1.jpg']],
    ['a URL of 2048 characters', [url(2048)]],
  ])('photo_urls can be %s, to be fetched later', async (_, photo_urls) => {
    expect((await listingOf(cardItem({ photo_urls }))).photos).toEqual([])
    expect((await listingOf(productItem({ photo_urls }))).photos).toEqual([])
  })

  it.each([
    ['eleven URLs', Array.from({ length: 11 }, () => url(30)), 'photo_urls'],
    ['a string', url(30), 'photo_urls'],
    ['an object', { 0: url(30) }, 'photo_urls'],
    ['a URL of 2049 characters', [url(2049)], 'photo_urls.0'],
    ['a number among URLs', [url(30), url(30), 5], 'photo_urls.2'],
    ['null among URLs', [url(30), null], 'photo_urls.1'],
    ['an empty string', [''], 'photo_urls.0'],
    ['a URL with NUL', [`${url(30)}\0`], 'photo_urls.0'],
    ['a URL with a lone surrogate', [`${url(30)}\ud800`], 'photo_urls.0'],
    ['a relative path', ['charizard.jpg'], 'photo_urls.0'],
    ['an FTP URL', ['ftp://images.example/1.jpg'], 'photo_urls.0'],
    ['a loopback address', [url(30), 'http://127.0.0.1/1.jpg'], 'photo_urls.1'],
  ])('photo_urls cannot be %s', async (_, photo_urls, field) => {
    expect(await invalidFields(cardItem({ photo_urls }))).toEqual([field])
  })

  it.each(['\n', '\r', '\t', '\u0001', '\u007f', '\u0085', '\u2028'])(
    'photo_urls cannot be a URL with the control character %j, wherever it is',
    async (sign) => {
      const photo_urls = [
        url(30),
        ...[`ht${sign}tp://i.example/a`, `http://i${sign}.example/a`, `http://i.example/a${sign}b`],
        ...[`${sign}http://i.example/a`, `http://i.example/a${sign}`],
      ]
      const faults = await invalidFields(cardItem({ photo_urls }))
      expect(faults).toEqual([1, 2, 3, 4, 5].map((i) => `photo_urls.${i}`))
    },
  )

  it('errors in photo_urls name every invalid entry by its index', async () => {
    const photo_urls = [5, url(30), null, url(2049)]
    const faults = await invalidFields(cardItem({ photo_urls }))
    expect(faults).toEqual(['photo_urls.0', 'photo_urls.2', 'photo_urls.3'])
  })

  it('a photo URL may have a host name that is not public: it is resolved when the photo is fetched', async () => {
    await listingOf(cardItem({ photo_urls: ['http://localhost/1.jpg'] }))
  })

  it('far too many photo_urls get one error, not one each', async () => {
    const photo_urls = Array.from({ length: 15_000 }, () => 5)
    const faults = await invalidFields(cardItem({ photo_urls }))
    expect(faults.length).toBeLessThan(15)
    expect(faults).toContain('photo_urls')
  })
})
