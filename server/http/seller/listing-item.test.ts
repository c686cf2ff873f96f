import { beforeAll, describe, expect, it } from 'vitest'
import { CONDITIONS, GRADES, GRADING_COMPANIES, LANGUAGES, PRINTINGS } from '../../enums.ts'
import { type Client, startTestApp } from '../../test/app.ts'
import { idsOf, importCast, LONGEST_SLUG } from '../../test/catalog-fixture.ts'
import {
  cardItem,
  createListings,
  gradedItem,
  NO_LIMITS,
  productItem,
} from '../../test/fixtures/listings.ts'

let seller: Client
beforeAll(async () => {
  const app = await startTestApp({ settings: NO_LIMITS })
  await importCast(app.operator)
  seller = await app.seller()
})

/** What becomes of one item. */
const resultOf = async (item: unknown) => {
  const { status, body, text } = await createListings(seller, [item])
  expect(status, text).toBe(200)
  return body.results[0]
}

/** The fields that an item is refused for, each with messages. */
const faultsOf = async (item: unknown): Promise<string[]> => {
  const { status, errors } = await resultOf(item)
  expect(status).toBe('failed')
  for (const messages of Object.values(errors)) {
    expect(messages).not.toEqual([])
    for (const message of messages as string[]) expect(message).toMatch(/^[A-Z].+\.$/)
  }
  return Object.keys(errors)
}

/** The listing that an item becomes, as its owner sees it. */
const listingOf = async (item: unknown) => {
  const result = await resultOf(item)
  expect(result.status, JSON.stringify(result)).toBe('created')
  const { body } = await seller.get('/v1/listings?per_page=1')
  expect(body.data[0].id).toBe(result.listing.id)
  return body.data[0]
}

/** The one result of an item that is sent with its fields written just so. */
const resultOfText = async (field: string, written: string) => {
  const item = JSON.stringify(cardItem({ [field]: undefined }))
  const payload = `{"items":[${item.slice(0, -1)},"${field}":${written}}]}`
  const headers = { 'content-type': 'application/json' }
  return (await seller.post('/v1/listings', { payload, headers })).body.results[0]
}

/** Each four bytes long and two UTF-16 units. */
const wide = (length: number) => '𠮷'.repeat(length)

describe('an item', () => {
  it.each([
    ['null', null],
    ['an array', [cardItem()]],
    ['a number', 5],
    ['text', 'sv3-125'],
    ['true', true],
  ])('that is %s fails under "item"', async (_, item) => {
    expect(await resultOf(item)).toEqual({
      status: 'failed',
      index: 0,
      errors: { item: [expect.any(String)] },
    })
  })

  it('needs language, price, quantity and, for a card, a condition', async () => {
    expect(await faultsOf({ card: 'sv3-125' })).toEqual([
      'language',
      'price',
      'quantity',
      'condition',
    ])
    expect(await faultsOf({ product: 'poke-ball-tin' })).toEqual(['language', 'price', 'quantity'])
  })

  it.each([
    ['neither of card and product', cardItem({ card: undefined })],
    ['both of them', { ...cardItem(), ...productItem() }],
    ['null for both', cardItem({ card: null, product: null })],
    ['both, unknown', cardItem({ card: 'x', product: 'x' })],
  ])('with %s fails under both', async (_, item) => {
    expect((await faultsOf(item)).sort()).toEqual(['card', 'product'])
  })

  it('is told everything that is wrong with it at once', async () => {
    const faults = await faultsOf(cardItem({ card: 'nowhere-1', price: 0, quantity: 'x' }))
    expect(faults.sort()).toEqual(['card', 'price', 'quantity'])
    const neither = await faultsOf({ language: 'XX', price: 1, quantity: 1 })
    expect(neither.sort()).toEqual(['card', 'language', 'product'])
  })

  it('may have null for whatever may be left out, and then has left it out', async () => {
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
    'without a %s is told that it is required, also when that is null',
    async (field) => {
      const message = `The ${field} field is required.`
      for (const nothing of [undefined, null]) {
        const { errors } = await resultOf(cardItem({ [field]: nothing }))
        expect(errors).toEqual({ [field]: [message] })
      }
    },
  )

  it('may have fields that nobody knows, whatever is in them', async () => {
    const odd = { shipping: 3, status: 'removed', id: 'x', seller: null, note: '\0\ud800' }
    expect((await listingOf(cardItem(odd))).status).toBe('active')
    const proto = JSON.parse(`{"__proto__": {"price": 1}, "constructor": 5}`)
    expect((await resultOf({ ...proto, ...cardItem() })).status).toBe('created')
  })
})

describe('a price', () => {
  it.each([
    ['0.01', 0.01],
    ['0.011', 0.01],
    ['0.015', 0.02],
    ['1.005', 1.01],
    ['1.00499', 1],
    ['4.50', 4.5],
    ['8.575', 8.58],
    ['1e3', 1000],
    ['100', 100],
    ['99999.99', 99999.99],
  ])('of %s becomes %d', async (written, price) => {
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
    ...['"4.50"', '""', 'true', '[4.5]', '{}'],
  ])('of %s is refused', async (written) => {
    const { errors } = await resultOfText('price', written)
    expect(errors).toEqual({ price: [expect.any(String)] })
  })
})

describe('a quantity', () => {
  it.each([
    ['1', 1],
    ['1.0', 1],
    ['1e2', 100],
    ['999', 999],
  ])('of %s becomes %d', async (written, quantity) => {
    const result = await resultOfText('quantity', written)
    expect(result.listing.quantity).toBe(quantity)
  })

  it.each(['0', '-1', '1000', '1.5', '0.5', '"3"', '1e400', 'true', '[1]'])(
    'of %s is refused',
    async (written) => {
      const { errors } = await resultOfText('quantity', written)
      expect(Object.keys(errors)).toEqual(['quantity'])
    },
  )
})

describe('a language', () => {
  it.each(LANGUAGES)('can be %s, whatever that of the set is', async (language) => {
    expect((await listingOf(cardItem({ language }))).language).toBe(language)
    expect((await listingOf(productItem({ language }))).language).toBe(language)
  })

  it.each(['', 'en', 'XX', 'EN ', 'English', 5, ['EN']])('can not be %j', async (language) => {
    expect(await faultsOf(cardItem({ language }))).toEqual(['language'])
    expect(await faultsOf(productItem({ language }))).toEqual(['language'])
  })
})

describe('a condition', () => {
  it.each(CONDITIONS.filter((code) => code !== 'G'))('of a card can be %s', async (condition) => {
    expect(await listingOf(cardItem({ condition }))).toMatchObject({ condition, graded: null })
  })

  it.each(['', 'nm', 'Mint', 'A', 1, ['NM']])('of a card can not be %j', async (condition) => {
    expect(await faultsOf(cardItem({ condition }))).toEqual(['condition'])
  })
})

describe('a printing', () => {
  it.each(PRINTINGS)('of a card can be %s', async (printing) => {
    expect((await listingOf(cardItem({ printing }))).printing).toBe(printing)
  })

  it('is standard when it was not sent', async () => {
    expect((await listingOf(cardItem())).printing).toBe('standard')
  })

  it.each(['', 'Holo', 'foil', 1, ['holo']])('of a card can not be %j', async (printing) => {
    expect(await faultsOf(cardItem({ printing }))).toEqual(['printing'])
  })
})

describe('a grading', () => {
  it.each(GRADING_COMPANIES)('can be by %s', async (company) => {
    const listing = await listingOf(gradedItem({ grading_company: company }))
    expect(listing.condition).toBe('G')
    expect(listing.graded).toEqual({ company, grade: '9.5', label: `${company} 9.5` })
  })

  it('has one of nineteen grades, each with one decimal', async () => {
    expect(GRADES).toHaveLength(19)
    const wanted = GRADES.map((grade) => gradedItem({ grading_grade: grade }))
    expect((await createListings(seller, wanted)).body.created).toBe(19)
    const { body } = await seller.get('/v1/listings?per_page=19')
    const grades = body.data.map((one: { graded: { grade: string } }) => one.graded.grade)
    expect(grades.toReversed()).toEqual(GRADES)
  })

  it.each(['10', '9.50', '0.5', '0.0', '10.5', '9,5', '', 'ten', 9.5, 10])(
    'can not have the grade %j',
    async (grading_grade) => {
      expect(await faultsOf(gradedItem({ grading_grade }))).toEqual(['grading_grade'])
    },
  )

  it.each(['', 'psa', 'ABC', 5])('can not be by %j', async (grading_company) => {
    expect(await faultsOf(gradedItem({ grading_company }))).toEqual(['grading_company'])
  })

  it('is required when the condition is G', async () => {
    expect(await faultsOf(cardItem({ condition: 'G' }))).toEqual([
      'grading_company',
      'grading_grade',
    ])
    expect(await faultsOf(gradedItem({ grading_grade: undefined }))).toEqual(['grading_grade'])
    expect(await faultsOf(gradedItem({ grading_company: null }))).toEqual(['grading_company'])
  })

  it('is ignored with any other condition, whatever it says', async () => {
    const graded = { grading_company: 'PSA', grading_grade: '9.5' }
    const nonsense = { grading_company: 5, grading_grade: ['x', '\0'] }
    for (const more of [graded, nonsense]) {
      expect(await listingOf(cardItem(more))).toMatchObject({ condition: 'NM', graded: null })
    }
  })
})

describe('a sealed product', () => {
  it.each([
    [
      'in order',
      { condition: 'G', printing: 'holo', grading_company: 'PSA', grading_grade: '9.5' },
    ],
    ['nonsense', { condition: 5, printing: '', grading_company: [], grading_grade: '\0' }],
    ['a hint', { language_hint: 'much too long' }],
  ])('takes no notice of what is meant for cards: %s', async (_, more) => {
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
    ['a slug longer than any', 'x'.repeat(151)],
    ['a slug with NUL in it', 'poke-ball-tin\0'],
    ['a slug with half a character', 'poke-ball-tin\ud800'],
    ['a number', 5],
    ['the name of something every object has', '__proto__'],
  ])('is not found by %s', async (_, product) => {
    expect(await faultsOf(productItem({ product }))).toEqual(['product'])
  })

  it('is found by the longest slug', async () => {
    const product = LONGEST_SLUG
    expect((await listingOf(productItem({ product }))).listable.id).toBe(product)
  })
})

describe('a card', () => {
  it.each([
    ['sv3-125', 'sv3-125'],
    ['obf_125', 'sv3-125'],
    ['brs_TG12', 'swsh9tg-TG12'],
    ['csv9.5c_10_b', 'csv9.5c-cn-10b'],
    ['cel25c-2_A', 'cel25c-2_A'],
    ['ru1-1', 'ru1-1'],
    ['uf_?', 'ex10-?'],
  ])('is found by its canonical or friendly id: %s', async (card, id) => {
    expect((await listingOf(cardItem({ card }))).listable.id).toBe(id)
  })

  it.each([
    ['an unknown id', 'nowhere-1'],
    ['a number that its set does not have', 'obf_999'],
    ['an id in another casing', 'SV3-125'],
    ["a product's slug", 'poke-ball-tin'],
    ['an empty id', ''],
    ['an id longer than any', 'x'.repeat(101)],
    ['an id with NUL in it', 'sv3-125\0'],
    ['an id with half a character', 'sv3-125\udc00'],
    ['a number', 125],
    ['the name of something every object has', 'constructor'],
  ])('is not found by %s', async (_, card) => {
    const result = await resultOf(cardItem({ card }))
    expect(Object.keys(result)).toEqual(['status', 'index', 'errors'])
    expect(await faultsOf(cardItem({ card }))).toEqual(['card'])
  })
})

describe("a card's friendly id that several share", () => {
  const cardOf = async (more: object) => (await listingOf(cardItem(more))).listable.id

  it('fails with the same candidates that the card itself is refused with', async () => {
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

  it('comes with its candidates also when other fields are wrong', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1', price: 0, language: 'XX' }))
    expect(Object.keys(result.errors).sort()).toEqual(['card', 'language', 'price'])
    expect(idsOf(result.candidates)).toEqual(['swsh9-1', 'swsh9-de-1'])
  })

  it('means the one that language_hint decides for, and the listing keeps its own language', async () => {
    expect(await cardOf({ card: 'brs_1', language_hint: 'DE' })).toBe('swsh9-de-1')
    expect(await cardOf({ card: 'brs_1', language_hint: 'EN' })).toBe('swsh9-1')
    const listing = await listingOf(
      cardItem({ card: 'brs_1', language_hint: 'DE', language: 'FR' }),
    )
    expect(listing.language).toBe('FR')
  })

  it('is not decided by the language of the listing', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1', language: 'DE' }))
    expect(idsOf(result.candidates)).toEqual(['swsh9-1', 'swsh9-de-1'])
  })

  it('fails with a message about the card when language_hint fits none', async () => {
    const result = await resultOf(cardItem({ card: 'brs_1', language_hint: 'JP' }))
    expect(result).toEqual({
      status: 'failed',
      index: 0,
      errors: { card: ['None of the cards that "brs_1" means has the language "JP".'] },
    })
  })

  it('keeps those of the hinted language when these are several', async () => {
    const result = await resultOf(cardItem({ card: 'cel_2', language_hint: 'EN' }))
    expect(idsOf(result.candidates)).toEqual(['cel25-2', 'cel25c-2_A'])
  })

  it('has no say where it is not needed: one card, or a canonical id', async () => {
    expect(await cardOf({ card: 'obf_125', language_hint: 'DE' })).toBe('sv3-125')
    expect(await cardOf({ card: 'swsh9-1', language_hint: 'DE' })).toBe('swsh9-1')
    expect(await cardOf({ card: 'cel25c-2_A', language_hint: 'JP' })).toBe('cel25c-2_A')
  })

  it.each([
    ['too long', 'GERMAN'],
    ['not a language', 'XX'],
    ['in lower case', 'de'],
    ['empty', ''],
    ['a number', 5],
    ['NUL', 'D\0'],
  ])('can not be hinted at with %s', async (_, language_hint) => {
    for (const card of ['brs_1', 'obf_125', 'swsh9-1']) {
      expect(await faultsOf(cardItem({ card, language_hint }))).toEqual(['language_hint'])
    }
  })
})

describe('a description', () => {
  it.each([
    ['1000 characters', 'x'.repeat(1000)],
    ['1000 characters beyond the first 65,536', wide(1000)],
    ['lines, signs and quotes', 'a\n\tb "c" \\ \' ; -- é 漢 ♀'],
  ])('may be %s', async (_, description) => {
    expect((await listingOf(cardItem({ description }))).description).toBe(description)
    expect((await listingOf(productItem({ description }))).description).toBe(description)
  })

  it('that is empty is none', async () => {
    expect((await listingOf(cardItem({ description: '' }))).description).toBeNull()
  })

  it.each([
    ['1001 characters', 'x'.repeat(1001)],
    ['1001 characters beyond the first 65,536', wide(1001)],
    ['text with NUL in it', 'a\0b'],
    ['text with half a character in it', 'a\ud83d'],
    ['a number', 5],
    ['a list', ['x']],
  ])('may not be %s', async (_, description) => {
    expect(await faultsOf(cardItem({ description }))).toEqual(['description'])
  })
})

describe('photo_urls', () => {
  const url = (length: number) => `https://i.example/${'x'.repeat(length - 18)}`

  it.each([
    ['none', []],
    ['ten', Array.from({ length: 10 }, (_, i) => `https://images.example/${i}.jpg`)],
    ['one twice', ['https://images.example/1.jpg', 'https://images.example/1.jpg']],
    ['2048 characters long', [url(2048)]],
  ])('may be %s, and are fetched later', async (_, photo_urls) => {
    expect((await listingOf(cardItem({ photo_urls }))).photos).toEqual([])
    expect((await listingOf(productItem({ photo_urls }))).photos).toEqual([])
  })

  it.each([
    ['eleven', Array.from({ length: 11 }, () => url(30)), 'photo_urls'],
    ['no list', url(30), 'photo_urls'],
    ['an object', { 0: url(30) }, 'photo_urls'],
    ['2049 characters long', [url(2049)], 'photo_urls.0'],
    ['no text', [url(30), url(30), 5], 'photo_urls.2'],
    ['null', [url(30), null], 'photo_urls.1'],
    ['empty', [''], 'photo_urls.0'],
    ['with NUL in it', [`${url(30)}\0`], 'photo_urls.0'],
    ['with half a character in it', [`${url(30)}\ud800`], 'photo_urls.0'],
    ['no address at all', ['charizard.jpg'], 'photo_urls.0'],
    ['of another scheme', ['ftp://images.example/1.jpg'], 'photo_urls.0'],
    ['a file', ['file:///etc/passwd'], 'photo_urls.0'],
    ['on this machine', [url(30), 'http://127.0.0.1/1.jpg'], 'photo_urls.1'],
    ['on this machine, spelt otherwise', ['http://0x7f.1/1.jpg'], 'photo_urls.0'],
    ['in a private network', ['https://[::ffff:10.0.0.1]/1.jpg'], 'photo_urls.0'],
    ['at the metadata of a cloud', ['http://169.254.169.254/latest'], 'photo_urls.0'],
  ])('may not be %s', async (_, photo_urls, field) => {
    expect(await faultsOf(cardItem({ photo_urls }))).toEqual([field])
  })

  it('names each entry that is wrong', async () => {
    const photo_urls = [5, url(30), null, url(2049)]
    const faults = await faultsOf(cardItem({ photo_urls }))
    expect(faults).toEqual(['photo_urls.0', 'photo_urls.2', 'photo_urls.3'])
  })

  it('may have a name that leads nowhere good: that is found out when they are fetched', async () => {
    await listingOf(cardItem({ photo_urls: ['http://localhost/1.jpg'] }))
  })

  it('that are far too many get one message, not one each', async () => {
    const photo_urls = Array.from({ length: 15_000 }, () => 5)
    const faults = await faultsOf(cardItem({ photo_urls }))
    expect(faults.length).toBeLessThan(15)
    expect(faults).toContain('photo_urls')
  })
})
