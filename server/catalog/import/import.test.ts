import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openSignals, signalOnly } from '../../database/signals.ts'
import type { Sql } from '../../database/sql.ts'
import { cutLock, testDatabase } from '../../test/database.ts'
import { emptyCatalog } from '../../test/empty-catalog.ts'
import { untilLockWaiters } from '../../test/lock-waiters.ts'
import { until } from '../../test/until.ts'
import { type ImportContext, ImportInterrupted, importCatalog } from './import.ts'
import { type Line, linesOf } from './lines.ts'
import type { ImportCounts } from './report.ts'
import { gunzip } from './sources.ts'

let db: Sql
let ctx: ImportContext
beforeAll(async () => {
  const database = await testDatabase()
  db = database.db
  ctx = { db, begin: database.begin, databaseUrl: database.url, log: pino({ level: 'silent' }) }
})

beforeEach(async () => {
  await emptyCatalog(db)
})

const set = (id: string, more: object = {}) => ({
  type: 'set',
  id,
  name: `Set ${id}`,
  series: 'Base',
  language: 'EN',
  region: 'int',
  ...more,
})
const card = (id: string, setId: string, more: object = {}) => ({
  type: 'card',
  id,
  set_id: setId,
  name: `Card ${id}`,
  number: '1',
  ...more,
})
const product = (slug: string, setId: string | null, more: object = {}) => ({
  type: 'product',
  slug,
  name: `Product ${slug}`,
  category: 'tin',
  set_id: setId,
  ...more,
})
const series = (name: string, shortcut: string | null) => ({ type: 'series', name, shortcut })
/** Filler cards, to shift the following records within their batch. */
const padding = (count: number, setId: string) =>
  Array.from({ length: count }, (_, index) => card(`padding-${index}`, setId))

const ndjson = (records: (object | string)[]) =>
  Buffer.from(
    records
      .map((record) => (typeof record === 'string' ? record : JSON.stringify(record)))
      .join('\n'),
  )

async function* stream(bytes: Uint8Array) {
  yield bytes
}

const importRecords = (...records: (object | string)[]) =>
  importCatalog(ctx, linesOf(stream(ndjson(records))))

const counts = ({ created, updated, unchanged, rejected }: ImportCounts) => [
  created,
  updated,
  unchanged,
  rejected,
]

async function catalogVersion(): Promise<number> {
  const [row] = await db<{ version: number }[]>`select version from catalog_version`
  return row!.version
}

async function setVersions(): Promise<Record<string, number>> {
  const rows = await db<{ id: string; version: number }[]>`select id, version from sets`
  return Object.fromEntries(rows.map(({ id, version }) => [id, version]))
}

async function seriesShortcuts(): Promise<Record<string, string | null>> {
  const rows = await db<
    { name: string; shortcut: string | null }[]
  >`select name, shortcut from series`
  return Object.fromEntries(rows.map(({ name, shortcut }) => [name, shortcut]))
}

const idsOf = async (table: 'sets' | 'cards') =>
  (await db<{ id: string }[]>`select id from ${db(table)} order by id`).map(({ id }) => id)

describe('imports', () => {
  it('an import creates, updates or leaves each record, and counts each line once', async () => {
    expect(
      counts(
        await importRecords(
          series('Base', 'base'),
          set('base1'),
          card('base1-1', 'base1'),
          card('base1-2', 'base1'),
          product('base-tin', 'base1'),
          product('loose-tin', null),
        ),
      ),
    ).toEqual([6, 0, 0, 0])
    expect(
      counts(
        await importRecords(
          series('Base', 'bs'),
          set('base1', { name: 'Base Set' }),
          card('base1-1', 'base1', { hp: 80 }),
          card('base1-2', 'base1'),
          card('base1-3', 'base1'),
          product('base-tin', 'base1', { category: 'mini_tin' }),
          product('loose-tin', null),
        ),
      ),
    ).toEqual([1, 4, 2, 0])
    expect(await db`select id, name, hp from cards order by id`).toEqual([
      { id: 'base1-1', name: 'Card base1-1', hp: '80' },
      { id: 'base1-2', name: 'Card base1-2', hp: null },
      { id: 'base1-3', name: 'Card base1-3', hp: null },
    ])
  })

  it('an import stores every field', async () => {
    const whole = [
      series('Sword & Shield', 'swsh'),
      set('swsh9', {
        shortcut: 'brs',
        series: 'Sword & Shield',
        release_date: '2022-02-25',
        total_cards: 186,
        printed_total: 172,
        logo_url: 'https://images.example/logo.png',
        symbol_url: 'https://images.example/symbol.png',
        visible: true,
      }),
      card('swsh9-18', 'swsh9', {
        number: '018',
        rarity: 'Rare Holo VSTAR',
        supertype: 'Pokemon',
        hp: '280',
        types: ['Fire', 'Fairy"\\,{}'],
        image_small: 'https://images.example/18.png',
        image_large: 'https://images.example/18_hires.png',
        visible: false,
      }),
      product('brilliant-stars-tin', 'swsh9', {
        image_url: 'https://images.example/tin.png',
        release_date: '2022-02-26',
        visible: false,
      }),
    ]
    await importRecords(...whole)
    const [stored] = await db`
      select to_jsonb(sets) - 'version' as set, to_jsonb(cards) as card, to_jsonb(products) - 'version' as product
      from sets, cards, products
    `
    expect([
      { type: 'set', ...stored!.set },
      { type: 'card', ...stored!.card },
      { type: 'product', ...stored!.product },
    ]).toEqual(whole.slice(1))
  })

  it('an import detects a change in every field', async () => {
    await importRecords(
      set('a'),
      set('b', { series: 'Neo' }),
      card('a-1', 'a'),
      product('tin', 'a'),
    )
    const url = 'https://images.example/x.png'
    const changes = [
      ...Object.entries({
        shortcut: 'x',
        name: 'X',
        series: 'Neo',
        language: 'DE',
        region: 'jp',
        release_date: '2022-02-25',
        total_cards: 0,
        printed_total: 0,
        logo_url: url,
        symbol_url: url,
      }).map(([key, value]) => set('a', { [key]: value })),
      ...Object.entries({
        set_id: 'b',
        name: 'X',
        number: '01',
        rarity: 'Rare',
        supertype: 'Trainer',
        hp: '10',
        types: ['Fire'],
        image_small: url,
        image_large: url,
      }).map(([key, value]) => card('a-1', 'a', { [key]: value })),
      ...Object.entries({
        name: 'X',
        category: 'cases',
        set_id: null,
        image_url: url,
        release_date: '2022-02-25',
      }).map(([key, value]) => product('tin', 'a', { [key]: value })),
    ]
    for (const change of changes) expect(counts(await importRecords(change))).toEqual([0, 1, 0, 0])
    for (const change of changes) expect(counts(await importRecords(change))).toEqual([0, 1, 0, 0])
  })

  it('importing the same records again writes nothing', async () => {
    const records = [
      series('Other', null),
      set('a', { shortcut: 'x', release_date: '2022-02-25', total_cards: 3 }),
      set('b', { series: 'Other' }),
      card('a-1', 'a', { types: ['Fire'], hp: '10', rarity: 'Rare' }),
      card('b-1', 'b'),
      product('tin', 'a'),
      product('loose-tin', null),
    ]
    await importRecords(...records)
    // ctid and xmin change when a row is rewritten, xmax even when it is only locked.
    const rows = () => db`
      select ctid::text, xmin::text, xmax::text, to_jsonb(series) as row from series
      union all select ctid::text, xmin::text, xmax::text, to_jsonb(sets) from sets
      union all select ctid::text, xmin::text, xmax::text, to_jsonb(cards) from cards
      union all select ctid::text, xmin::text, xmax::text, to_jsonb(products) from products
      union all select ctid::text, xmin::text, xmax::text, to_jsonb(catalog_version) from catalog_version
    `
    const before = await rows()
    expect(before).toHaveLength(9)
    expect(counts(await importRecords(...records))).toEqual([0, 0, 7, 0])
    expect(await rows()).toEqual(before)
  })

  it('an import does not delete records that are missing from the file', async () => {
    await importRecords(set('a'), card('a-1', 'a'), card('a-2', 'a'), product('tin', 'a'))
    expect(counts(await importRecords(set('a'), card('a-2', 'a')))).toEqual([0, 0, 2, 0])
    expect(await idsOf('cards')).toEqual(['a-1', 'a-2'])
    expect(await db`select slug from products`).toEqual([{ slug: 'tin' }])
  })

  it('the ids of an import may contain quotes, braces and characters of every script', async () => {
    const ids = [
      "it's",
      'say "x"',
      'back\\slash',
      '{a,b}',
      'a,b',
      '$1',
      '%s',
      'NULL',
      'x?y!',
      '馬🌟',
    ]
    for (const id of ids) {
      expect(counts(await importRecords(set(id), card(`${id}-1`, id)))).toEqual([2, 0, 0, 0])
      expect(counts(await importRecords(card(`${id}-2`, id)))).toEqual([1, 0, 0, 0])
    }
    expect((await idsOf('sets')).toSorted()).toEqual(ids.toSorted())
  })
})

describe('invalid lines', () => {
  it('invalid lines are reported with number and reason, and the others are imported', async () => {
    const report = await importRecords(
      set('a'),
      '{"type":',
      '',
      card('a-1', 'a'),
      set('b', { shortcut: 'under_score' }),
      set('c', { region: 'EU' }),
      `{"type":"card","name":"${'x'.repeat(64 * 1024)}"}`,
      card('a-2', 'a'),
    )
    expect(report).toEqual({
      created: 3,
      updated: 0,
      unchanged: 0,
      rejected: 4,
      errors: [
        { line: 2, message: 'not valid JSON' },
        {
          line: 5,
          message: 'set b: shortcut must match [a-z0-9][a-z0-9.-]*',
        },
        { line: 6, message: 'set c: region must be a lowercase code of at most 5 letters' },
        { line: 7, message: 'longer than 64 KiB' },
      ],
      warnings: [],
      superseded: 0,
    })
    expect(await idsOf('sets')).toEqual(['a'])
    expect(await idsOf('cards')).toEqual(['a-1', 'a-2'])
  })

  it('all invalid lines are counted, and the first hundred are reported', async () => {
    const report = await importRecords(...Array(1_500).fill('bad'), set('a'))
    expect(counts(report)).toEqual([1, 0, 0, 1_500])
    expect(report.errors.map(({ line }) => line)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
  })

  it('invalid lines are reported in order, whatever the reason', async () => {
    const report = await importRecords(card('x-1', 'x'), 'bad', card('x-2', 'x'), set('y'), 'bad')
    expect(report.errors.map(({ line }) => line)).toEqual([1, 2, 3, 5])
  })

  it('a record that the database refuses is reported, and its batch is imported', async () => {
    await db`alter table cards add constraint not_my_taste check (name <> 'Bidoof')`
    try {
      const pads = padding(600, 'a')
      const report = await importRecords(
        set('a'),
        ...pads.slice(0, 300),
        card('a-1', 'a', { name: 'Bidoof' }),
        ...pads.slice(300),
        card('a-2', 'a', { name: 'Bidoof' }),
        set('b'),
        card('b-1', 'b'),
      )
      expect(counts(report)).toEqual([603, 0, 0, 2])
      expect(report.errors).toEqual([
        {
          line: 302,
          message: expect.stringMatching(/^card a-1: the database refused it: .*not_my_taste/),
        },
        { line: 603, message: expect.stringMatching(/^card a-2: the database refused it: /) },
      ])
    } finally {
      await db`alter table cards drop constraint not_my_taste`
    }
  })

  it('the cards of a set that the database refuses are rejected', async () => {
    await db`alter table sets add constraint not_my_taste check (name <> 'Bidoof')`
    try {
      const report = await importRecords(
        set('a'),
        set('b', { name: 'Bidoof' }),
        card('b-1', 'b'),
        card('a-1', 'a'),
      )
      expect(report).toMatchObject({
        created: 2,
        rejected: 2,
        errors: [
          { line: 2, message: expect.stringMatching(/^set b: the database refused it: /) },
          { line: 3, message: 'card b-1: set b is not in the catalog' },
        ],
      })
    } finally {
      await db`alter table sets drop constraint not_my_taste`
    }
  })
})

describe('references to sets', () => {
  it('a card or product may come before its set in the file, across batches', async () => {
    await importRecords(set('old'))
    for (const others of [0, 998, 999, 1_000, 2_500]) {
      await emptyCatalog(db)
      const report = await importRecords(
        card('a-1', 'a'),
        product('a-tin', 'a'),
        ...padding(others, 'pad'),
        set('a'),
        set('pad'),
        card('a-2', 'a'),
      )
      expect(counts(report)).toEqual([others + 5, 0, 0, 0])
      expect(report).toMatchObject({ errors: [], warnings: [] })
    }
  })

  it('a card or product without its set is rejected with its line', async () => {
    await importRecords(set('old'))
    const report = await importRecords(
      card('a-1', 'a'),
      product('a-tin', 'a'),
      card('old-1', 'old'),
      product('old-tin', 'old'),
      product('loose-tin', null),
    )
    expect(counts(report)).toEqual([3, 0, 0, 2])
    expect(report.errors).toEqual([
      { line: 1, message: 'card a-1: set a is not in the catalog' },
      { line: 2, message: 'product a-tin: set a is not in the catalog' },
    ])
  })

  it('a card whose set’s line is rejected is rejected as well', async () => {
    const report = await importRecords(card('a-1', 'a'), set('a', { region: 'EU' }), set('b'))
    expect(counts(report)).toEqual([1, 0, 0, 2])
    expect(report.errors.map(({ line }) => line)).toEqual([1, 2])
  })
})

describe('repeated keys', () => {
  it('the last line of a repeated key counts, and a warning names both lines', async () => {
    const file = [
      series('Neo', 'neo'),
      set('a', { name: 'First' }),
      card('a-1', 'a', { name: 'First' }),
      product('tin', 'a', { name: 'First' }),
      set('a', { name: 'Second' }),
      card('a-1', 'a', { name: 'Second' }),
      card('a-1', 'a', { name: 'Third' }),
      product('tin', 'a', { name: 'Second' }),
      series('Neo', 'n'),
    ]
    const report = await importRecords(...file)
    expect(counts(report)).toEqual([4, 0, 5, 0])
    expect(report.superseded).toBe(5)
    expect(report.warnings).toEqual(
      (
        [
          [1, 9, 'series Neo'],
          [2, 5, 'set a'],
          [3, 6, 'card a-1'],
          [4, 8, 'product tin'],
          [6, 7, 'card a-1'],
        ] as const
      ).map(([line, superseded_by, label]) => ({
        line,
        superseded_by,
        message: `${label}: line ${line} is superseded by line ${superseded_by}`,
      })),
    )
    expect(
      await db`select name from sets union all select name from cards union all select name from products`,
    ).toEqual([{ name: 'Second' }, { name: 'Third' }, { name: 'Second' }])
    expect((await seriesShortcuts()).Neo).toBe('n')

    const before = await catalogVersion()
    const again = await importRecords(...file)
    expect(again).toEqual({ ...report, created: 0, unchanged: 9 })
    expect(await catalogVersion()).toBe(before)
  })

  it.each([1, 997, 998, 999, 1_000, 2_500])(
    'a repeated key is recognised in another batch, after %i other lines',
    async (others) => {
      const file = [
        set('pad'),
        card('x', 'pad', { name: 'First' }),
        ...padding(others, 'pad'),
        card('x', 'pad', { name: 'Second' }),
      ]
      const report = await importRecords(...file)
      expect(counts(report)).toEqual([others + 2, 0, 1, 0])
      expect(report.warnings).toMatchObject([{ line: 2, superseded_by: others + 3 }])
      expect(await db`select name from cards where id = 'x'`).toEqual([{ name: 'Second' }])
      expect(counts(await importRecords(...file))).toEqual([0, 0, others + 3, 0])
    },
  )

  it('repeated keys are all counted, and the first hundred are reported', async () => {
    const cards = padding(1_500, 'a')
    const report = await importRecords(set('a'), ...cards.toReversed(), ...cards)
    expect(counts(report)).toEqual([1_501, 0, 1_500, 0])
    expect(report.superseded).toBe(1_500)
    expect(report.warnings.map(({ line }) => line)).toEqual(
      Array.from({ length: 100 }, (_, index) => index + 2),
    )
  })

  it('an invalid line does not supersede an earlier one with the same key', async () => {
    const report = await importRecords(set('a'), set('a', { name: 'Bad\n' }))
    expect(counts(report)).toEqual([1, 0, 0, 1])
    expect(report.warnings).toEqual([])
    expect(await idsOf('sets')).toEqual(['a'])
  })

  it('records of different types may have the same key', async () => {
    const report = await importRecords(
      set('x'),
      card('x', 'x'),
      product('x', 'x'),
      series('x', 'x'),
    )
    expect(counts(report)).toEqual([4, 0, 0, 0])
    expect(report.warnings).toEqual([])
  })
})

describe('a series', () => {
  it('a series is created with the first set that names it, with its published shortcut or none', async () => {
    const report = await importRecords(
      set('a', { series: 'Scarlet & Violet' }),
      set('b', { series: 'Other' }),
      set('c', { series: '__proto__' }),
      set('d', { series: 'constructor' }),
      set('e', { series: 'Other' }),
    )
    expect(counts(report)).toEqual([5, 0, 0, 0])
    expect(await db`select name, shortcut from series order by name`).toEqual([
      { name: 'Other', shortcut: null },
      { name: 'Scarlet & Violet', shortcut: 'sv' },
      { name: '__proto__', shortcut: null },
      { name: 'constructor', shortcut: null },
    ])
  })

  it('a series has the shortcut of its line, whether before or after its sets', async () => {
    expect(
      counts(
        await importRecords(
          series('Neo', 'n'),
          set('a', { series: 'Neo' }),
          set('b', { series: 'Gym' }),
          series('Gym', 'g'),
          series('Other', null),
        ),
      ),
    ).toEqual([4, 1, 0, 0])
    expect(await seriesShortcuts()).toEqual({ Neo: 'n', Gym: 'g', Other: null })
    expect(counts(await importRecords(series('Gym', null), series('Neo', 'n')))).toEqual([
      0, 1, 1, 0,
    ])
    expect(await seriesShortcuts()).toEqual({ Neo: 'n', Gym: null, Other: null })
    await importRecords(set('b', { series: 'Gym' }))
    expect((await seriesShortcuts()).Gym).toBeNull()
  })

  it('a series cannot have the shortcut of another series', async () => {
    await importRecords(series('Base', 'base'))
    const report = await importRecords(
      series('First', 'base'),
      series('Second', 'x'),
      series('Third', 'x'),
      set('a', { series: 'Third' }),
    )
    expect(counts(report)).toEqual([2, 0, 0, 2])
    expect(report.errors).toEqual([
      { line: 1, message: 'series First: shortcut base already belongs to the series Base' },
      { line: 3, message: 'series Third: shortcut x already belongs to the series Second' },
    ])
    expect(await seriesShortcuts()).toEqual({ Base: 'base', Second: 'x', Third: null })
  })

  it('a series is created without its published shortcut when another series uses that shortcut', async () => {
    expect(
      counts(await importRecords(series('Base Set', 'base'), set('a', { series: 'Base' }))),
    ).toEqual([2, 0, 0, 0])
    await importRecords(series('Galaxy', 'neo'))
    await importRecords(set('b', { series: 'Neo' }))
    expect(await seriesShortcuts()).toEqual({
      'Base Set': 'base',
      Base: null,
      Galaxy: 'neo',
      Neo: null,
    })
  })

  it('a series may take over a shortcut that an earlier line released', async () => {
    await importRecords(series('A', 'x'), series('B', 'y'), series('C', null))
    const before = await catalogVersion()
    // Writing these rows in the order of names or of the catalog would violate the constraint.
    expect(
      counts(await importRecords(series('B', null), series('A', 'y'), series('C', 'x'))),
    ).toEqual([0, 3, 0, 0])
    expect(await seriesShortcuts()).toEqual({ A: 'y', B: null, C: 'x' })
    // The order of their first occurrence would violate it, too.
    expect(
      counts(
        await importRecords(set('a', { series: 'Neo' }), series('C', null), series('Neo', 'x')),
      ),
    ).toEqual([1, 2, 0, 0])
    expect(await seriesShortcuts()).toEqual({ A: 'y', B: null, C: null, Neo: 'x' })
    // Each import was one batch: the database refused nothing.
    expect(await catalogVersion()).toBe(before + 2)
  })

  it('a changed series increments the catalog version only', async () => {
    await importRecords(set('a'))
    const before = await catalogVersion()
    await importRecords(series('Base', 'b'))
    expect(await catalogVersion()).toBe(before + 1)
    expect(await setVersions()).toEqual({ a: before })
  })
})

describe('the version of a set', () => {
  let before: number
  beforeEach(async () => {
    await importRecords(
      set('a'),
      set('b'),
      set('c'),
      card('a-1', 'a'),
      card('b-1', 'b'),
      product('tin', 'a'),
      product('loose-tin', null),
    )
    before = await catalogVersion()
    expect(await setVersions()).toEqual({ a: before, b: before, c: before })
  })

  it.each([
    ['itself', set('a', { name: 'New' }), { a: 1, b: 0, c: 0 }],
    ['a card', card('a-1', 'a', { name: 'New' }), { a: 1, b: 0, c: 0 }],
    ['a new card', card('a-2', 'a'), { a: 1, b: 0, c: 0 }],
    ['a card that moves', card('a-1', 'b'), { a: 1, b: 1, c: 0 }],
    ['a product', product('tin', 'a', { name: 'New' }), { a: 1, b: 0, c: 0 }],
    ['a new product', product('new-tin', 'c'), { a: 0, b: 0, c: 1 }],
    ['a product that moves', product('tin', 'c'), { a: 1, b: 0, c: 1 }],
    ['a product that leaves', product('tin', null), { a: 1, b: 0, c: 0 }],
    ['a product that joins', product('loose-tin', 'b'), { a: 0, b: 1, c: 0 }],
    ['a product of no set', product('loose-tin', null, { name: 'New' }), { a: 0, b: 0, c: 0 }],
  ])('the version of a set rises with a change of %s', async (_what, record, rises) => {
    await importRecords(record, set('c'), card('b-1', 'b'))
    expect(await catalogVersion()).toBe(before + 1)
    expect(await setVersions()).toEqual({
      a: before + rises.a,
      b: before + rises.b,
      c: before + rises.c,
    })
  })

  it('an import gives changed products the new catalog version', async () => {
    await importRecords(
      product('tin', 'a', { name: 'New' }),
      product('loose-tin', null),
      product('x', null),
    )
    expect(await db`select slug, version from products order by slug`).toEqual([
      { slug: 'loose-tin', version: before },
      { slug: 'tin', version: before + 1 },
      { slug: 'x', version: before + 1 },
    ])
  })
})

describe('imports and the processes around them', () => {
  it('imports signal changes, and only changes', async () => {
    const signals = await openSignals(ctx.databaseUrl, ctx.db, ctx.log)
    const received: string[] = []
    signals.on('catalog', () => received.push('catalog'))
    signals.on('clock', () => received.push('end'))
    try {
      await importRecords(set('a'), card('a-1', 'a'))
      await importRecords(set('a'), card('a-1', 'a'))
      await importRecords(card('x-1', 'x'), 'bad')
      // As another process sends it: after the imports' own.
      await signalOnly(ctx.db)('clock')
      await until('the last signal has arrived', () => received.includes('end'))
      expect(received).toEqual(['catalog', 'end'])
    } finally {
      await signals.close()
    }
  })

  it('imports run one after another', async () => {
    const order: string[] = []
    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    async function* slow(): AsyncGenerator<Line> {
      order.push('first begins')
      yield { number: 1, text: JSON.stringify(set('a')) }
      await released
      order.push('first ends')
    }
    async function* quick(): AsyncGenerator<Line> {
      order.push('second begins')
      yield { number: 1, text: JSON.stringify(card('a-1', 'a')) }
    }
    const first = importCatalog(ctx, slow())
    await until('the first import has begun', () => order.length === 1)
    const second = importCatalog(ctx, quick())
    await until('the second import waits', async () => {
      const [row] = await db`
        select count(*)::int as waiting
        from pg_locks
        where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())
      `
      return row!.waiting === 1
    })
    expect(order).toEqual(['first begins'])
    release()
    expect([counts(await first), counts(await second)]).toEqual([
      [1, 0, 0, 0],
      [1, 0, 0, 0],
    ])
    expect(order).toEqual(['first begins', 'first ends', 'second begins'])
  })

  it('imports report their progress after each batch read and each batch saved', async () => {
    const seen: number[][] = []
    const pads = padding(2_000, 'pad')
    const lines = [set('pad'), 'bad', ...pads.slice(0, 1_500), set('pad'), ...pads.slice(1_500)]
    await importCatalog(ctx, linesOf(stream(ndjson(lines))), {
      onProgress: ({ lines, saved, ...soFar }) => seen.push([lines, saved, ...counts(soFar)]),
    })
    expect(seen).toEqual([
      [1_002, 0, 0, 0, 0, 1],
      [2_003, 0, 0, 0, 1, 1],
      [2_003, 0, 0, 0, 1, 1],
      [2_003, 1 / 3, 1, 0, 1, 1],
      [2_003, 2 / 3, 1_001, 0, 1, 1],
      [2_003, 1, 2_001, 0, 1, 1],
    ])
  })

  it('an import updates the table statistics after many changes', async () => {
    const pages = async () =>
      (await db`select reltuples from pg_class where relname = 'cards'`)[0]!.reltuples
    await importRecords(set('pad'), ...padding(999, 'pad'))
    expect(await pages()).toBe(-1)
    await importRecords(set('pad', { name: 'New' }), ...padding(2_100, 'pad'))
    expect(await pages()).toBe(2_100)
  })
})

describe('interrupted imports', () => {
  const text = [set('a'), 'bad', ...Array.from({ length: 1_500 }, (_, i) => card(`a-${i}`, 'a'))]

  it('an import of a truncated gzip file keeps the records before its end', async () => {
    const bytes = gzipSync(ndjson(text))
    const cutOff = bytes.subarray(0, bytes.length - 100)
    const failure = await importCatalog(ctx, linesOf(gunzip(stream(cutOff)))).catch(
      (error) => error,
    )
    expect(failure).toBeInstanceOf(ImportInterrupted)
    const { report, message } = failure as ImportInterrupted
    expect(message).toBe(
      `The import broke off after line ${report.created + 1}: the gzip data is damaged or cut off (unexpected end of file)`,
    )
    expect(report.created).toBeGreaterThan(1_400)
    expect(report.created).toBeLessThan(1_501)
    expect(report).toMatchObject({ updated: 0, unchanged: 0, rejected: 1 })
    expect(report.errors).toEqual([{ line: 2, message: 'not a JSON object' }])
    expect((await idsOf('cards')).length).toBe(report.created - 1)

    expect(counts(await importRecords(...text))).toEqual([
      1_501 - report.created,
      0,
      report.created,
      1,
    ])
  })

  it('an import that fails before its first line reports it', async () => {
    const failure = await importCatalog(ctx, linesOf(gunzip(stream(Buffer.from('no gzip'))))).catch(
      (error) => error,
    )
    expect(failure).toMatchObject({
      message:
        'The import broke off before the first line: the gzip data is damaged or cut off (incorrect header check)',
      report: { created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [], warnings: [] },
    })
  })

  it('an import that loses its lock while reading changes nothing, and the next import can run', async () => {
    async function* losing(): AsyncGenerator<Line> {
      let number = 0
      for (const record of [set('a'), ...padding(1_500, 'a')]) {
        if (number === 1_200) await cutLock(db)
        yield { number: ++number, text: JSON.stringify(record) }
      }
    }
    await expect(importCatalog(ctx, losing())).rejects.toThrow('The lock for import was lost')
    expect(await idsOf('sets')).toEqual([])
    expect(counts(await importRecords(set('b'), card('b-1', 'b')))).toEqual([2, 0, 0, 0])
    expect(await idsOf('sets')).toEqual(['b'])
  })

  it('an import that loses its lock while saving keeps earlier batches, and the next import can run', async () => {
    await importRecords(set('a'))
    const inserted = Promise.withResolvers<void>()
    const permitted = Promise.withResolvers<void>()
    // The second of three batches waits for a card of this transaction.
    const holder = ctx.begin(async (db) => {
      await db`
        insert into cards (id, set_id, name, number) values ('padding-1500', 'a', 'Mew', '1')
      `
      inserted.resolve()
      await permitted.promise
      throw new Error('rolled back')
    })
    await inserted.promise
    const lines = padding(2_500, 'a')
    const losing = importRecords(...lines)
    await untilLockWaiters(db)
    await cutLock(db)
    permitted.resolve()
    await Promise.all([
      expect(holder).rejects.toThrow('rolled back'),
      expect(losing).rejects.toThrow('The lock for import was lost'),
    ])
    expect((await idsOf('cards')).length).toBe(2_000)
    expect(counts(await importRecords(...lines))).toEqual([500, 0, 2_000, 0])
  })

  it('an import over its memory limit keeps the records before it', async () => {
    const lines = [set('a'), ...padding(3_000, 'a')]
    const failure = await importCatalog(ctx, linesOf(stream(ndjson(lines))), {
      maxBytes: 512 * 1024,
    }).catch((error) => error)
    expect(failure).toBeInstanceOf(ImportInterrupted)
    const { report, message } = failure as ImportInterrupted
    expect(message).toBe(
      `The import broke off after line ${report.created}: an import holds at most 0.5 MiB of records; split the file`,
    )
    expect(report.created).toBeGreaterThan(1_000)
    expect((await idsOf('cards')).length).toBe(report.created - 1)
  })

  it('an interrupted import leaves no record for the next import', async () => {
    const cards = padding(1_500, 'a')
    async function* failing(): AsyncGenerator<Line> {
      for (const [index, record] of [set('a'), ...cards].entries()) {
        yield { number: index + 1, text: JSON.stringify(record) }
      }
      await cutLock(db)
    }
    await expect(importCatalog(ctx, failing())).rejects.toThrow('The lock for import was lost')
    expect((await db`select from import_records`).length).toBe(1_000)
    expect(counts(await importRecords(set('b'), card('x-1', 'x')))).toEqual([1, 0, 0, 1])
    expect(await idsOf('sets')).toEqual(['b'])
    expect((await db`select from import_records`).length).toBe(0)
  })

  it('a database failure interrupts an import instead of rejecting the line', async () => {
    await importRecords(set('a'))
    await db.unsafe(`
      create function fail() returns trigger language plpgsql as
      $$ begin raise exception 'no space left on device' using errcode = 'disk_full'; end $$;
      create trigger failing before insert on cards for each row when (new.id = 'a-1200')
      execute function fail();
    `)
    try {
      await expect(importRecords(...text)).rejects.toThrow('no space left on device')
      expect((await idsOf('cards')).length).toBe(1_000)
    } finally {
      await db.unsafe('drop function fail cascade')
    }
    expect(counts(await importRecords(...text))).toEqual([500, 0, 1_001, 1])
  })
})
