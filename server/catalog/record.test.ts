import { describe, expect, it } from 'vitest'
import { LANGUAGES, PRODUCT_CATEGORIES } from '../enums.ts'
import { BadRecord, type CatalogRecord, labelOf, parseRecord } from './record.ts'

const SERIES = { type: 'series', name: 'Scarlet & Violet', shortcut: 'sv' }
const SET = {
  type: 'set',
  id: 'sv1',
  shortcut: 'svi',
  name: 'Scarlet & Violet',
  series: 'Scarlet & Violet',
  language: 'EN',
  region: 'int',
  release_date: '2023-03-31',
  total_cards: 258,
  printed_total: 198,
  logo_url: 'https://images.example/sv1/logo.png',
  symbol_url: 'http://images.example/sv1/symbol.png',
  visible: true,
}
const CARD = {
  type: 'card',
  id: 'sv1-81',
  set_id: 'sv1',
  name: 'Miraidon ex',
  number: '081',
  rarity: 'Double Rare',
  supertype: 'Pokemon',
  hp: '220',
  types: ['Lightning', 'Dragon'],
  image_small: 'https://images.example/sv1/81.png',
  image_large: 'https://images.example/sv1/81_hires.png',
  visible: false,
}
const PRODUCT = {
  type: 'product',
  slug: 'scarlet-violet-booster-box',
  name: 'Scarlet & Violet Booster Box',
  category: 'booster_box',
  set_id: 'sv1',
  image_url: 'https://images.example/box.webp',
  release_date: '2023-03-31',
  visible: true,
}

const RECORDS: Record<string, object> = { series: SERIES, set: SET, card: CARD, product: PRODUCT }

const parse = (record: object) => parseRecord(JSON.stringify(record))

/** The parsed value of one key of the record. */
function parsed(record: object, key: string, value: unknown): unknown {
  return parse({ ...record, [key]: value })[key as keyof CatalogRecord]
}

function refusal(record: object | string): BadRecord {
  try {
    parseRecord(typeof record === 'string' ? record : JSON.stringify(record))
  } catch (error) {
    if (error instanceof BadRecord) return error
    throw error
  }
  throw new Error('the record was accepted')
}

/** The reason of a refusal, without the record's label. */
const reason = (record: object | string) => refusal(record).reason

describe('parseRecord', () => {
  it.each([SERIES, SET, CARD, PRODUCT])(
    'parseRecord returns a complete $type unchanged',
    (record) => {
      expect(parse(record)).toEqual(record)
    },
  )

  it.each([
    [
      { type: 'series', name: 'Other' },
      { type: 'series', name: 'Other', shortcut: null },
    ],
    [
      {
        type: 'set',
        id: 'si1',
        name: 'Southern Islands',
        series: 'Other',
        language: 'EN',
        region: 'int',
      },
      {
        type: 'set',
        id: 'si1',
        shortcut: null,
        name: 'Southern Islands',
        series: 'Other',
        language: 'EN',
        region: 'int',
        release_date: null,
        total_cards: null,
        printed_total: null,
        logo_url: null,
        symbol_url: null,
      },
    ],
    [
      { type: 'card', id: 'si1-1', set_id: 'si1', name: 'Mew', number: '1' },
      {
        type: 'card',
        id: 'si1-1',
        set_id: 'si1',
        name: 'Mew',
        number: '1',
        rarity: null,
        supertype: null,
        hp: null,
        types: null,
        image_small: null,
        image_large: null,
      },
    ],
    [
      { type: 'product', slug: 'a-tin', name: 'A Tin', category: 'tin' },
      {
        type: 'product',
        slug: 'a-tin',
        name: 'A Tin',
        category: 'tin',
        set_id: null,
        image_url: null,
        release_date: null,
      },
    ],
  ])('parseRecord sets omitted optional keys of a $type to null', (given, read) => {
    expect(parse(given)).toEqual(read)
  })

  it('parseRecord drops unknown keys', () => {
    expect(parse({ ...SET, legalities: { standard: 'Legal' } })).toEqual(SET)
  })

  it.each([
    ['', 'not a JSON object'],
    ['bad', 'not a JSON object'],
    ['{]', 'not valid JSON'],
    ['{"type":"set"', 'not valid JSON'],
    [' {"type":"set"}} ', 'not valid JSON'],
    ['\u00a0{"type":"set"}', 'not valid JSON'],
    ["{'type':'set'}", 'not valid JSON'],
    ['null', 'not a JSON object'],
    ['"set"', 'not a JSON object'],
    ['[{"type":"set"}]', 'not a JSON object'],
    ['{}', 'type must be series, set, card or product'],
    ['{"type":"deck"}', 'type must be series, set, card or product'],
    ['{"type":["set"]}', 'type must be series, set, card or product'],
    ['{"type":"constructor"}', 'type must be series, set, card or product'],
    [`{"__proto__":${JSON.stringify(SET)}}`, 'type must be series, set, card or product'],
  ])('the line %j is refused', (line, message) => {
    expect(reason(line)).toBe(message)
  })

  it('a deeply nested line is refused without overflowing the stack', () => {
    expect(reason('['.repeat(64 * 1024))).toBe('not a JSON object')
    expect(reason(`{"types":${'['.repeat(60_000)}}`)).toBe('not valid JSON')
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
    expect(reason(`{"type":"card","types":${deep}}`)).toBe('id must not be empty')
  })

  it('a __proto__ key neither sets fields nor pollutes prototypes', () => {
    const { name: _, ...nameless } = SET
    const line = JSON.stringify(nameless).replace('{', '{"__proto__":{"name":"x","polluted":1},')
    expect(reason(line)).toBe('name must not be empty')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(parsed(SET, 'series', '__proto__')).toBe('__proto__')
  })
})

describe('required keys', () => {
  it.each([
    ['series', 'name'],
    ['set', 'id'],
    ['set', 'name'],
    ['set', 'series'],
    ['card', 'id'],
    ['card', 'set_id'],
    ['card', 'name'],
    ['card', 'number'],
    ['product', 'slug'],
    ['product', 'name'],
  ])('%s.%s is a required non-empty string', (type, key) => {
    const record = RECORDS[type]!
    expect(reason({ ...record, [key]: undefined })).toBe(`${key} must not be empty`)
    expect(reason({ ...record, [key]: null })).toBe(`${key} must not be empty`)
    expect(reason({ ...record, [key]: '' })).toBe(`${key} must not be empty`)
    expect(reason({ ...record, [key]: 7 })).toBe(`${key} must be a string`)
    expect(reason({ ...record, [key]: ['x'] })).toBe(`${key} must be a string`)
  })
})

describe('maximum lengths', () => {
  it.each([
    ['series', 'name', 100],
    ['set', 'id', 100],
    ['set', 'name', 255],
    ['set', 'series', 100],
    ['card', 'id', 100],
    ['card', 'set_id', 100],
    ['card', 'name', 255],
    ['card', 'number', 50],
    ['card', 'rarity', 50],
    ['card', 'supertype', 50],
    ['card', 'hp', 50],
    ['product', 'name', 255],
    ['product', 'set_id', 100],
  ])('%s.%s has at most %i code points', (type, key, longest) => {
    const record = RECORDS[type]!
    const fits = '𝟙'.repeat(longest)
    expect(parsed(record, key, fits)).toBe(fits)
    expect(reason({ ...record, [key]: `${fits}1` })).toBe(
      `${key} must have at most ${longest} characters`,
    )
  })

  it.each([
    ['series', 'shortcut', 100],
    ['set', 'shortcut', 100],
    ['product', 'slug', 150],
  ])('%s.%s has at most %i characters', (type, key, longest) => {
    const record = RECORDS[type]!
    const fits = 'x'.repeat(longest)
    expect(parsed(record, key, fits)).toBe(fits)
    expect(reason({ ...record, [key]: `${fits}x` })).toBe(
      `${key} must have at most ${longest} characters`,
    )
  })

  it.each([
    ['set', 'logo_url'],
    ['set', 'symbol_url'],
    ['card', 'image_small'],
    ['card', 'image_large'],
    ['product', 'image_url'],
  ])('%s.%s has at most 2048 characters', (type, key) => {
    const record = RECORDS[type]!
    const fits = 'https://images.example/'.padEnd(2048, 'x')
    expect(parsed(record, key, fits)).toBe(fits)
    expect(reason({ ...record, [key]: `${fits}x` })).toBe(
      `${key} must have at most 2048 characters`,
    )
  })

  it('a card has at most 20 types of at most 50 characters', () => {
    const fits = Array(20).fill('x'.repeat(50))
    expect(parsed(CARD, 'types', fits)).toEqual(fits)
    expect(reason({ ...CARD, types: [...fits, 'x'] })).toBe('types must have at most 20 words')
    expect(reason({ ...CARD, types: ['x'.repeat(51)] })).toBe(
      'a word in types must have at most 50 characters',
    )
  })
})

describe('text that PostgreSQL cannot store', () => {
  it.each([
    ...Object.keys(SERIES).map((key) => ['series', key] as const),
    ...Object.keys(SET).map((key) => ['set', key] as const),
    ...Object.keys(CARD).map((key) => ['card', key] as const),
    ...Object.keys(PRODUCT).map((key) => ['product', key] as const),
  ])('%s.%s cannot contain NUL or a lone surrogate', (type, key) => {
    const record = RECORDS[type]!
    for (const bad of ['a\0b', 'a\ud800b', 'a\udc00', '\ud83d']) {
      expect(() => parse({ ...record, [key]: bad })).toThrow(BadRecord)
      expect(() => parse({ ...record, [key]: [bad] })).toThrow(BadRecord)
    }
  })

  it('a refusal names NUL and lone surrogates', () => {
    expect(reason({ ...CARD, name: 'Mew\0' })).toBe('name must not contain the NUL character')
    expect(reason({ ...CARD, types: ['\ud800'] })).toBe(
      'types must not contain half a surrogate pair',
    )
  })

  it('a name may contain complete surrogate pairs', () => {
    expect(parsed(CARD, 'name', 'Mew 🌟')).toBe('Mew 🌟')
  })
})

describe('names', () => {
  it.each([
    ['series', 'name'],
    ['set', 'name'],
    ['set', 'series'],
    ['card', 'name'],
    ['card', 'rarity'],
    ['product', 'name'],
  ])('%s.%s is normalized to NFC', (type, key) => {
    const record = RECORDS[type]!
    expect(parsed(record, key, 'Pokémon'.normalize('NFD'))).toBe('Pokémon')
  })

  it.each([
    'Flabébé',
    "Farfetch'd",
    'Nidoran ♂',
    'ゲッコウガ\u3000δ',
    '<火箭隊的>索偵蟲',
    '馬',
    'Pikachu & Zekrom',
  ])('the name %s is stored unchanged', (name) => expect(parsed(CARD, 'name', name)).toBe(name))

  it('a record whose name is blank is rejected', () => {
    expect(reason({ ...CARD, name: ' \u3000 ' })).toBe('name must not be blank')
  })

  it.each([
    ['series', 'name'],
    ['set', 'name'],
    ['set', 'series'],
    ['card', 'name'],
    ['card', 'rarity'],
    ['card', 'supertype'],
    ['card', 'hp'],
    ['product', 'name'],
  ])('%s.%s cannot contain control characters', (type, key) => {
    for (const control of ['\t', '\n', '\r', '\u0007', '\u001b[2J', '\u007f', '\u0085', '\u009f']) {
      expect(reason({ ...RECORDS[type]!, [key]: `Mew${control}` })).toBe(
        `${key} must not contain control characters`,
      )
    }
  })

  it('a name may contain invisible characters that real names have', () => {
    expect(parsed(CARD, 'name', '招式學習器 \u200c衰退')).toBe('招式學習器 \u200c衰退')
  })

  it('card.types cannot contain control characters', () => {
    expect(reason({ ...CARD, types: ['Fire', 'Wa\nter'] })).toBe(
      'a word in types must not contain control characters',
    )
  })
})

describe('ids, slugs and numbers', () => {
  it.each(['ex10-?', 'ex10-!', 'cel25c-2_A', 'sv1s-jp-001', 'csv9.5c-1', 'ONE', '001'])(
    'the id or number %s is stored unchanged',
    (id) => {
      expect(parsed(CARD, 'id', id)).toBe(id)
      expect(parsed(CARD, 'number', id)).toBe(id)
    },
  )

  it.each([
    ['set', 'id'],
    ['set', 'shortcut'],
    ['card', 'id'],
    ['card', 'set_id'],
    ['card', 'number'],
    ['product', 'slug'],
    ['product', 'set_id'],
  ])('%s.%s cannot have surrounding spaces or control characters', (type, key) => {
    const record = RECORDS[type]!
    const edge = `${key} must not begin or end with a space`
    expect(reason({ ...record, [key]: ' x' })).toBe(edge)
    expect(reason({ ...record, [key]: 'x\n' })).toBe(edge)
    expect(reason({ ...record, [key]: '\u3000' })).toBe(edge)
    expect(reason({ ...record, [key]: 'x\u0007y' })).toBe(
      `${key} must not contain control characters`,
    )
  })

  it('an id of dots alone is refused, because clients and proxies remove it from a URL', () => {
    for (const record of [SET, CARD]) {
      expect(reason({ ...record, id: '.' })).toBe('id must not be . or ..')
      expect(reason({ ...record, id: '..' })).toBe('id must not be . or ..')
      expect(parsed(record, 'id', '...')).toBe('...')
    }
  })
})

describe('a shortcut', () => {
  it.each([SERIES, SET])('the shortcut of a $type is stored in lower case', (record) => {
    expect(parsed(record, 'shortcut', 'PR-SW')).toBe('pr-sw')
    expect(parsed(record, 'shortcut', 'CSV9.5C')).toBe('csv9.5c')
  })

  it.each([SERIES, SET])('the shortcut of a $type may be missing', (record) => {
    expect(parsed(record, 'shortcut', '')).toBeNull()
    expect(parsed(record, 'shortcut', null)).toBeNull()
  })

  it.each([SERIES, SET])(
    'the shortcut of a $type matches [a-z0-9][a-z0-9.-]* in lower case',
    (record) => {
      for (const good of ['0', 'a', 'sv3.5', 'pr-sw', 'csv9.5c', 'a--b..', 'x-']) {
        expect(parsed(record, 'shortcut', good)).toBe(good)
      }
      // Lower-casing turns the Kelvin sign into k, and İ into i with a combining dot. ſ is an s in lower case.
      for (const bad of ['sv_1', '_', '.a', '-a', 'a b', 'sv/1', 'é', '馬', '\u212a', 'ſ', 'İ']) {
        expect(reason({ ...record, shortcut: bad })).toBe('shortcut must match [a-z0-9][a-z0-9.-]*')
      }
    },
  )
})

describe('a slug', () => {
  it('a slug matches [a-z0-9]+(-[a-z0-9]+)*', () => {
    for (const good of ['0', 'a-tin', 'a-1-b']) expect(parsed(PRODUCT, 'slug', good)).toBe(good)
    for (const bad of ['A-Tin', '-a', 'a-', 'a--b', 'a_b', 'a.b', 'a b', 'a/b', 'é', '馬']) {
      expect(reason({ ...PRODUCT, slug: bad })).toBe('slug must match [a-z0-9]+(-[a-z0-9]+)*')
    }
  })
})

describe('a rejection', () => {
  it.each([
    [{ ...SET, name: '' }, 'set sv1: name must not be empty'],
    [{ ...CARD, hp: -1 }, 'card sv1-81: hp must be a string or a whole number'],
    [{ ...PRODUCT, category: 'x' }, /^product scarlet-violet-booster-box: category must be one of/],
    [{ ...SERIES, shortcut: '_' }, /^series Scarlet & Violet: shortcut must match/],
    [{ ...CARD, id: 'a\u0007b' }, 'card a?b: id must not contain control characters'],
    [{ ...CARD, id: 'x'.repeat(50_000) }, /^card x{195}…: id must have at most 100 characters$/],
    [{ ...CARD, id: 7 }, 'card 7: id must be a string'],
    [{ ...CARD, id: undefined }, 'card Miraidon ex: id must not be empty'],
    [{ type: 'card' }, 'id must not be empty'],
    [{ type: 'deck', id: 'x' }, 'x: type must be series, set, card or product'],
    ['{"type":"card","id":"\\ud800"}', /^card \ufffd: id must not contain half/],
  ])('a refusal names the record: %j', (record, message) => {
    expect(refusal(record).message).toMatch(message)
  })

  it('labelOf names a valid record as a refusal does', () => {
    expect([SERIES, SET, CARD, PRODUCT].map(labelOf)).toEqual([
      'series Scarlet & Violet',
      'set sv1',
      'card sv1-81',
      'product scarlet-violet-booster-box',
    ])
  })
})

describe('fixed values', () => {
  it.each(LANGUAGES)('a set can have the language %s', (language) =>
    expect(parsed(SET, 'language', language)).toBe(language),
  )

  it.each(['en', 'UK', '', null, undefined, 'EN ', ['EN']])(
    'a set cannot have the language %j',
    (language) =>
      expect(reason({ ...SET, language })).toBe(`language must be one of ${LANGUAGES.join(', ')}`),
  )

  it.each(PRODUCT_CATEGORIES)('a product can have the category %s', (category) =>
    expect(parsed(PRODUCT, 'category', category)).toBe(category),
  )

  it.each(['Tin', 'booster', '', null])('a product cannot have the category %j', (category) =>
    expect(reason({ ...PRODUCT, category })).toMatch(
      /^category must be one of elite_trainer_box, /,
    ),
  )

  it.each(['int', 'jp', 'tw', 'abcde'])('a set can have the region %s', (region) =>
    expect(parsed(SET, 'region', region)).toBe(region),
  )

  it.each(['INT', 'abcdef', '', 'j1', null, undefined, 'jp\n'])(
    'a set cannot have the region %j',
    (region) =>
      expect(reason({ ...SET, region })).toBe(
        'region must be a lowercase code of at most 5 letters',
      ),
  )
})

describe('a release date', () => {
  it.each([SET, PRODUCT])('the release date of a $type is an existing day', (record) => {
    expect(parsed(record, 'release_date', '2024-02-29')).toBe('2024-02-29')
    expect(parsed(record, 'release_date', null)).toBeNull()
    for (const no of ['2023-02-29', '2023-13-01', '2023-00-10', '2023-04-31', '0000-01-01']) {
      expect(reason({ ...record, release_date: no })).toBe(
        'release_date must be a day as YYYY-MM-DD',
      )
    }
    for (const no of ['2023/03/31', '2023-3-31', '2023-03-31T00:00:00Z', '---', ' 2023-03-31']) {
      expect(reason({ ...record, release_date: no })).toBe(
        'release_date must be a day as YYYY-MM-DD',
      )
    }
  })
})

describe('counts', () => {
  it.each(['total_cards', 'printed_total'])('set.%s is a whole number', (key) => {
    expect(parsed(SET, key, 0)).toBe(0)
    expect(parsed(SET, key, 2_147_483_647)).toBe(2_147_483_647)
    expect(parsed(SET, key, null)).toBeNull()
    for (const no of [-1, 1.5, 2_147_483_648, '258', true, [1]]) {
      expect(reason({ ...SET, [key]: no })).toBe(
        `${key} must be a whole number from 0 to 2147483647`,
      )
    }
  })
})

describe('URLs', () => {
  it.each([
    ['set', 'logo_url'],
    ['set', 'symbol_url'],
    ['card', 'image_small'],
    ['card', 'image_large'],
    ['product', 'image_url'],
  ])('%s.%s is an http or https URL', (type, key) => {
    const record = RECORDS[type]!
    expect(parsed(record, key, '')).toBeNull()
    expect(parsed(record, key, 'HTTPS://Images.example/ü.png')).toBe('HTTPS://Images.example/ü.png')
    for (const no of [
      'javascript:alert(1)',
      'ftp://images.example/a.png',
      '//images.example/a.png',
      'https://',
      'https://images.example:port/a.png',
      'https://images.example/a b.png',
      ' https://images.example/a.png',
      'https://images.example/a.png\n',
    ]) {
      expect(reason({ ...record, [key]: no })).toBe(`${key} must be an http or https address`)
    }
    expect(reason({ ...record, [key]: 7 })).toBe(`${key} must be a string`)
  })
})

describe('a card', () => {
  it.each([
    [220, '220'],
    [0, '0'],
    ['220', '220'],
    ['30+', '30+'],
    ['', null],
    [null, null],
  ])('the hit points %j of a card are stored as %j', (hp, read) =>
    expect(parsed(CARD, 'hp', hp)).toBe(read),
  )

  it.each([1.5, -10, 1e300, true])('a card cannot have the hit points %j', (hp) => {
    expect(reason({ ...CARD, hp })).toMatch(/^hp must be a string/)
  })

  it('the supertype of a card is stored without accents', () => {
    expect(parsed(CARD, 'supertype', 'Pokémon')).toBe('Pokemon')
    expect(parsed(CARD, 'supertype', 'Pokémon'.normalize('NFD'))).toBe('Pokemon')
    expect(parsed(CARD, 'supertype', 'Trainer')).toBe('Trainer')
  })

  it('an empty list of types is stored as null, and types must be words', () => {
    expect(parsed(CARD, 'types', [])).toBeNull()
    expect(parsed(CARD, 'types', null)).toBeNull()
    for (const no of ['Fire', {}, 7, [7], ['Fire', null], [''], [' '], [['Fire']]]) {
      expect(reason({ ...CARD, types: no })).toBe('types must be a list of words')
    }
  })
})
