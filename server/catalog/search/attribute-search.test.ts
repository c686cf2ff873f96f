import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { CONDITION_NAMES, GRADES, GRADING_COMPANIES, PRINTINGS } from '../../enums.ts'
import { browseCards, browseProducts } from '../browse.ts'
import { assembleCatalog, type Catalog } from '../catalog.ts'
import { type CardRow, type ProductRow, type SetRow, setEntry } from '../entries.ts'

type CardInput = [number: string, name: string, rarity?: string]

/** From the newest set to the oldest: this is also the order of equally good cards. */
const SETS: { set: Partial<SetRow> & { id: string; name: string }; cards: CardInput[] }[] = [
  {
    set: { id: 'sv3pt5', name: '151', shortcut: 'mew', release_date: '2023-09-22' },
    cards: [
      ['4', 'Charmander', 'Common'],
      ['25', 'Pikachu', 'Common'],
      ['151', 'Mew ex', 'Double Rare'],
      ['193', 'Mew ex', 'Ultra Rare'],
    ],
  },
  {
    set: { id: 'sv3pt5-de', name: '151', language: 'DE', release_date: '2023-09-22' },
    cards: [['25', 'Pikachu', 'Common']],
  },
  {
    set: {
      id: 'swsh9',
      name: 'Brilliant Stars',
      shortcut: 'brs',
      series: 'Sword & Shield',
      release_date: '2022-02-25',
      printed_total: 30,
    },
    cards: [
      ['018', 'Charizard VSTAR', 'Rare Holo VSTAR'],
      ['TG02', 'Vaporeon', 'Trainer Gallery Rare Holo'],
    ],
  },
  {
    set: {
      id: 'swsh1',
      name: 'Sword & Shield',
      series: 'Sword & Shield',
      release_date: '2020-02-07',
    },
    cards: [
      ['63', 'Snom', 'Common'],
      ['200', 'Snom', 'Rare Rainbow'],
      ['201', 'Snom', 'Rare Secret'],
      ['SV1', 'Snom', 'Rare Shiny'],
    ],
  },
  {
    set: { id: 'league', name: 'League 100', release_date: '2001-01-01' },
    cards: [
      ['1', 'Mudkip', 'Common'],
      ['2', 'Treecko', 'Common'],
      ['86', 'Sceptile', 'Rare'],
    ],
  },
  {
    set: { id: 'bs', name: 'Blast', release_date: '2000-12-01' },
    cards: [['12', 'Charmander', 'Common']],
  },
  {
    set: { id: 'base4', name: 'Base Set 2', shortcut: 'b2', release_date: '2000-02-24' },
    cards: [
      ['4', 'Charizard', 'Rare Holo'],
      ['87', 'Pikachu', 'Common'],
      ['88', 'Treecko', 'Common'],
    ],
  },
  {
    set: { id: 'base1-de', name: 'Grundset', language: 'DE', release_date: '1999-06-01' },
    cards: [
      ['46', 'Glumanda', 'Common'],
      ['82', 'Full Heal', 'Uncommon'],
    ],
  },
  {
    set: { id: 'base1', name: 'Base', shortcut: 'bs', release_date: '1999-01-09' },
    cards: [
      ['4', 'Charizard', 'Rare Holo'],
      ['46', 'Charmander', 'Common'],
      ['58', 'Pikachu', 'Common'],
      ['71', "Professor Oak's Hint", 'Uncommon'],
      ['82', 'Full Heal', 'Uncommon'],
    ],
  },
  {
    set: { id: 'exp', name: 'Expedition', shortcut: 'ex', release_date: '1998-01-01' },
    cards: [
      ['58', 'Pikachu', 'Rare'],
      ['6', 'Charizard', 'Rare'],
      ['39', 'Charizard 100', 'Common'],
      ['102', 'Water Energy', 'Promo'],
      ['XY058', 'Snom', 'Promo'],
      ['SWSH018', 'Yamper', 'Promo'],
      ['MEW025', '[Yamper]', 'Rare'],
      ['200', 'Reverse Valley', 'Rare'],
      ['201', 'Valley', 'Common'],
      ['202', 'Rival Brilliant Dragonite', 'Rare'],
    ],
  },
  {
    set: { id: 'hinte', name: 'Hinte', language: 'DE', release_date: '1997-01-01' },
    cards: [
      ['4', 'Glumanda', 'IllustrationRare'],
      ['5', 'Glutexo', 'Rare'],
      ['6', 'Glurak ★', 'Rare Holo Star'],
      ['202', 'Dragonite ex', 'Rare'],
      ['300', 'Snom', 'Secret Rare'],
      ['100', 'Bisasam', 'Rare'],
      ['RC2', 'Bisaknosp', 'Rare'],
      ['RC9', 'Bisaflor', 'Rare'],
    ],
  },
  {
    set: { id: 'ex', name: 'Ruby', release_date: '1996-01-01', printed_total: 86 },
    cards: [
      ['58', 'Treecko', 'Common'],
      ['100', 'Grovyle', 'Rare'],
    ],
  },
]

let catalog: Catalog
beforeAll(async () => {
  const sets = SETS.map(({ set, cards }) =>
    setEntry(setRow(set), cards.map(cardRow(set.id)), productRows(set), 'https://market.example'),
  )
  catalog = await assembleCatalog(
    {
      version: 1,
      series: [
        { name: 'Sword & Shield', shortcut: 'swsh' },
        { name: 'Base', shortcut: null },
      ],
      sets,
      looseProducts: [],
    },
    () => undefined,
  )
})

const setRow = (set: Partial<SetRow> & { id: string; name: string }): SetRow => ({
  shortcut: null,
  series: 'Base',
  language: 'EN',
  region: 'int',
  release_date: null,
  total_cards: null,
  printed_total: set.id === 'base1' ? 102 : 165,
  logo_url: null,
  symbol_url: null,
  visible: true,
  ...set,
})

const cardRow =
  (setId: string) =>
  ([number, name, rarity = null]: [string, string, (string | null)?]) =>
    ({
      ...{ id: `${setId}-${number}`, friendly_id: null, name, number, rarity, visible: true },
      json: '{"visible":true}',
    }) satisfies CardRow

const productRows = ({ id, name }: { id: string; name: string }) =>
  [
    ['Elite Trainer Box', 'elite_trainer_box'],
    ['Booster Box', 'booster_box'],
    ['Booster Pack', 'booster_pack'],
    // Sorted before the product with the shorter name.
    ['Center Elite Trainer Box', 'elite_trainer_box', 'center'],
    ['Three-Pack Blister', 'other'],
    ['Super-Premium Collection', 'premium_collection'],
  ].map(
    ([title, category, key = category]) =>
      ({
        slug: `${id}-${key}`,
        // Its name leaves the set out: only the set itself knows.
        name: id === 'base1' ? title : `${name} ${title}`,
        category,
        set_id: id,
        visible: true,
      }) as ProductRow,
  )

const find = (q: string, filters = {}) =>
  browseCards(catalog, { q, ...filters }).map(({ id }) => id)

describe('a search for cards', () => {
  it.each([
    ['a number', 'charizard 6', 'exp-6'],
    ['a number with zeros in front', 'charmander 0046', 'base1-46'],
    ['a number whose card has the zeros', 'charizard vstar 18', 'swsh9-018'],
    ['a number with letters', 'vaporeon tg2', 'swsh9-TG02'],
    ['a number of the printed total', 'pikachu 58/102', 'base1-58'],
    ['a number of the printed total, both with zeros', 'charizard vstar 018/030', 'swsh9-018'],
    ['a number of the printed total, both with letters', 'vaporeon TG02/TG30', 'swsh9-TG02'],
    ['the code of a set', 'pikachu b2', 'base4-87'],
    ['the shortcut of a set that is the id of a newer one', 'charmander bs', 'base1-46'],
    ['the name of a set', 'charizard expedition', 'exp-6'],
    ['the name of a set before it', 'brilliant stars vaporeon', 'swsh9-TG02'],
    ['the name of its set in another language', 'charmander grundset', 'base1-46'],
    ['the name of a set and the word set', 'base set charizard', 'base1-4'],
    ['the word set alone', 'bisasam set', 'hinte-100'],
    ['the longer name of a set', 'base set 2 charizard', 'base4-4'],
    ['the longer name of a set rather than a number', 'base set 2 treecko', 'base4-88'],
    ['the base set of a series', 'snom sword & shield base set', 'swsh1-63'],
    ['a rarity', 'charizard rare holo', 'base4-4'],
    ['the same rarity as a single word', 'charizard rare', 'exp-6'],
    ['a rarity that the source writes as one word', 'glumanda illustration rare', 'hinte-4'],
    ['a rarity as the source writes it', 'glumanda IllustrationRare', 'hinte-4'],
    ['one word of such a rarity', 'glumanda illustration', 'hinte-4'],
    ['the name of a symbol, and a set', 'glurak gold star hinte', 'hinte-6'],
    ['the name of a symbol, and a number', 'gold star glurak 6', 'hinte-6'],
    ['a number of the total of a set within the set', 'bisaknosp rc2/rc9', 'hinte-RC2'],
    ['its series and set', 'sword & shield brilliant stars vaporeon', 'swsh9-TG02'],
    ['its series and number', 'vaporeon swsh tg02', 'swsh9-TG02'],
    ['its language', 'glumanda 46 german', 'base1-de-46'],
    ['the year of its set', 'charizard 1999', 'base1-4'],
    ['a set without its space', 'vaporeon brilliantstars', 'swsh9-TG02'],
    ['a set with a word in the singular', 'vaporeon brilliant star', 'swsh9-TG02'],
    ['a set with a word that is typed as two', 'charizard expe dition', 'exp-6'],
    ['a misspelled set', 'vaporeon briliant stars', 'swsh9-TG02'],
    ['a set that is not typed to its end', 'vaporeon brillia', 'swsh9-TG02'],
    ['a misspelled set, and wrong letters in the name', 'vaporoen briliant stars', 'swsh9-TG02'],
    ['the abbreviation of a rarity', 'glumanda ir', 'hinte-4'],
    ['a rarity that another source gives the card', 'charmander base ultra rare', 'base1-46'],
    ['the colour of its rarity', 'snom gold', 'swsh1-201'],
    ['a rarity that sources call rainbow', 'snom hyper rare', 'swsh1-200'],
    ['the digits of the number of a promo', 'snom promo 058', 'exp-XY058'],
    ['the word promos and a misspelled set', 'yamper promos expedtion', 'exp-SWSH018'],
    ['a misspelled rarity', 'mew ex ulra rare', 'sv3pt5-193'],
    ['a number after its abbreviation', 'charmander no. 46', 'base1-46'],
    ['a number and its total in words', 'pikachu 58 of 102', 'base1-58'],
    ['a code and a number without a space', 'charmander bs46', 'base1-46'],
    ['a title of another marketplace', 'Pokemon TCG Pikachu 58/102 Base NM English', 'base1-58'],
    ['a number that is also the name of its set', 'mew ex 151', 'sv3pt5-151'],
    ['set and number', 'pikachu base 58', 'base1-58'],
    ['several attributes', 'mew ex ultra rare 151 193', 'sv3pt5-193'],
  ])('a search finds a card by name and %s: %s', (_, q, id) => {
    expect(find(q)[0]).toBe(id)
  })

  it.each([
    ['a code and a number', 'brs 18', 'swsh9-018'],
    ['a friendly id', 'bs_4', 'base1-4'],
    ['a friendly id that reads as a name and a number', 'mew_4', 'sv3pt5-4'],
    ['a canonical id that begins the id of a newer set', 'base1-46', 'base1-46'],
    ['a canonical id in another case', 'BASE1-46', 'base1-46'],
    ['a canonical id that reads as the code of another set and a number', 'ex-58', 'ex-58'],
    ['such a canonical id in another case', 'EX-58', 'ex-58'],
    ['a code and a number without a space', 'brs18', 'swsh9-018'],
    ['a code and a number of the printed total', 'bs 4/102', 'base1-4'],
    ['a number of the printed total', '4/102', 'base1-4'],
    ['a number of a total whose number is a word of a newer set', '100/86', 'ex-100'],
    ['a rarity that is ignored next to other words', 'promo', 'exp-102'],
    ['the name of a set and a number', 'base 46', 'base1-46'],
    ['the letters and the digits of a number', 'swsh 18', 'exp-SWSH018'],
    ['the letters and the digits of a promo', 'swsh promo 18', 'exp-SWSH018'],
    ['a code and a number that together are another number', 'mew 25', 'sv3pt5-25'],
  ])('a search finds a card by %s alone: %s', (_, q, id) => {
    expect(find(q)[0]).toBe(id)
  })

  it.each([
    ['a sentence', 'the charmander card from the base set', 'base1-46'],
    ['a number out of a total', 'Pikachu 58 out of 102', 'base1-58'],
    ['a number with an introduction in front', 'no. 58 Pikachu Base', 'base1-58'],
    ['the letters of a number as a word of their own', 'Vaporeon TG 02', 'swsh9-TG02'],
    [
      'the letters of a number before the word promo',
      'Vaporeon TG Black Star Promo 02',
      'swsh9-TG02',
    ],
    ['the device that reads cards', 'Pikachu 58 Expedition e-Reader', 'exp-58'],
    [
      'a title of 14 words that all describe the card',
      'Pokemon Pikachu 58/102 Common Base Set Base 1999 English Pokemon Card Pikachu Set',
      'base1-58',
    ],
    ['a number of copies', '4x Pikachu 58 Base', 'base1-58'],
    ['a number of copies after an x', 'Pikachu 58 Base x12', 'base1-58'],
    ['a lot', 'lot Pikachu 58 Base', 'base1-58'],
    ['the era of a card', 'Vaporeon Sword & Shield era', 'swsh9-TG02'],
    ['the series of a card', 'Vaporeon Sword & Shield series', 'swsh9-TG02'],
    ['a baby shiny', 'snom baby shiny', 'swsh1-SV1'],
    ['the German word for &', 'Glumanda Hinte und 4', 'hinte-4'],
    ['a set with the code and number of its series', 'VSTAR SWSH09: Brilliant Stars', 'swsh9-018'],
    ['a grade attached to its company', 'charizard base psa9', 'base1-4'],
    ['hit points', 'pikachu 60 hp base', 'base1-58'],
    ['the condition heavily played', 'pikachu base 58 hp', 'base1-58'],
    ['a wrong letter next to a grade', 'charzard base cgc 9.5', 'base1-4'],
    [
      'a title of many words',
      'Pokemon TCG Charizard 4/102 Base Set 1st Edition Near Mint PSA 9 Trading Card Free Shipping',
      'base1-4',
    ],
  ])('a search understands %s: %s', (_, q, id) => {
    expect(find(q)[0]).toBe(id)
  })

  it('any condition, grading and printing of a listing may stand next to the name and number', () => {
    const gradings = GRADING_COMPANIES.flatMap((company) =>
      GRADES.flatMap((grade) => [`${company} ${grade}`, `${company} ${Number(grade)}`]),
    )
    const printings = PRINTINGS.filter((printing) => printing !== 'standard')
    for (const copy of [...Object.values(CONDITION_NAMES), ...gradings, ...printings]) {
      expect(find(`Pikachu ${copy} 58/102`), copy).toEqual(['base1-58'])
      expect(find(`pikachu base ${copy}`)[0], copy).toBe('base1-58')
    }
  })

  it('words about a copy alone find nothing', () => {
    expect(find('near mint psa 9.5')).toEqual([])
  })

  it('words of titles that belong to a name are words of the name', () => {
    expect(find('reverse valley')).toEqual(['exp-200'])
    expect(find('reverse valley ex')).toEqual(['exp-200'])
  })

  it('words of titles that belong to a mistyped name are words of the name', () => {
    expect(find('reverse vlley')).toEqual(['exp-200'])
  })

  it.each(['full art', 'alternate art', 'alt art', 'fa'])(
    'cards whose rarity has a picture without a frame come first for %s',
    (art) => {
      expect(find(`mew ex ${art}`)).toEqual(['sv3pt5-193', 'sv3pt5-151'])
    },
  )

  it.each([
    ['full heal base', ['base1-82', 'base1-de-82']],
    ['full heal grundset', ['base1-de-82', 'base1-82']],
  ])('cards of the set with this name in its own language come first for %s', (q, ids) => {
    expect(find(q)).toEqual(ids)
  })

  it('the English cards come first among those that the words describe equally well', () => {
    expect(find('full heal 82')).toEqual(['base1-82', 'base1-de-82'])
    expect(find('dragonite 202')).toEqual(['exp-202', 'hinte-202'])
  })

  it('a rarity comes before one that is also called so, and both before cards in other languages', () => {
    expect(find('snom secret rare')).toEqual(['swsh1-201', 'swsh1-200', 'hinte-300'])
  })

  it('the rarity holo is meant before the printing holo', () => {
    expect(find('charizard base 2 holo')).toEqual(['base4-4'])
    expect(find('pikachu base 2 holo')).toEqual(['base4-87'])
  })

  it('a word that describes other cards may belong to a mistyped name', () => {
    expect(find('rival brilliant dragnite ex')).toEqual(['exp-202'])
  })

  it('a name that has every word comes before a name with attributes', () => {
    expect(find('charizard 100')).toEqual(['exp-39'])
    expect(find('mew ex')).toEqual(['sv3pt5-151', 'sv3pt5-193'])
  })

  it('a mistyped name with attributes is found when nothing else is', () => {
    expect(find('pikahcu 58')).toEqual(['base1-58', 'exp-58'])
    expect(find('profesor oak 71')).toEqual(['base1-71'])
  })

  it('a word that neither belongs to a name nor describes a card finds nothing', () => {
    expect(find('charizard zzzz')).toEqual([])
    expect(find('pikachu 9999')).toEqual([])
    expect(find('charizard constructor')).toEqual([])
    expect(find('58 zzzz')).toEqual([])
  })

  it('a word that describes nothing is ignored in a title that has the name and number of a card', () => {
    expect(find('pack fresh pikachu base 58 zzzz')).toEqual(['base1-58', 'exp-58'])
    expect(find('pikachu brilliant stars 58 zzzz')).toEqual([])
    expect(find('yamper mew025 zzzz')).toEqual(['exp-MEW025'])
  })

  it('a name, a number and a total identify a card, whatever else a title says', () => {
    expect(find('pikachu 58/102 brilliant stars zzzz')).toEqual(['base1-58'])
    expect(find('vaporeon TG02/TG30 expedition zzzz')).toEqual(['swsh9-TG02'])
    expect(find('pikachu 58/103 brilliant stars zzzz')).toEqual([])
  })

  it('the fewer words of a title contradict a card, the earlier it comes', () => {
    expect(find('pikachu 25/165 151 german zzzz')).toEqual(['sv3pt5-de-25', 'sv3pt5-25'])
  })

  it('a card whose longer name is in the title of an offer comes before one with a shorter name', () => {
    const title = 'rival brilliant dragonite ex 202/165 german hinte zzzz'
    expect(find(title)).toEqual(['exp-202', 'hinte-202'])
  })

  it('a search with attributes finds only cards that pass the filters', () => {
    expect(find('pikachu 58', { rarity: 'Rare' })).toEqual(['exp-58'])
    expect(find('pikachu 58', { set: 'base4' })).toEqual([])
  })

  it('a filter narrows the results, so it never selects another meaning of the query', () => {
    expect(find('mew')).toEqual(['sv3pt5-151', 'sv3pt5-193'])
    expect(find('mew', { rarity: 'Common' })).toEqual([])
    expect(find('pikahcu 58', { rarity: 'Rare' })).toEqual(['exp-58'])
    expect(find('pikahcu 58', { set: 'base4' })).toEqual([])
  })

  it('names with wrong letters follow the cards that the words describe, and a filter can leave only these', () => {
    expect(find('hinte')).toEqual([
      ...[
        'hinte-4',
        'hinte-5',
        'hinte-6',
        'hinte-100',
        'hinte-202',
        'hinte-300',
        'hinte-RC2',
        'hinte-RC9',
      ],
      'base1-71',
    ])
    expect(find('hinte', { language: 'EN' })).toEqual(['base1-71'])
  })

  it('the results of a search with filters are those without that pass them, in the same order', () => {
    const words = fc.constantFrom(
      ...['charizard', 'charzard', 'pikahcu', 'pika', 'mew', 'vaporen', 'oak', 'ex', '4', '58'],
      ...['0046', '151', '102', 'rare', 'holo', 'base', 'set', 'brs', 'promo', 'hinte', 'zzz', '★'],
    )
    const filters = fc.record(
      {
        rarity: fc.constantFrom(...new Set(catalog.cards.map(({ rarity }) => rarity!))),
        set: fc.constantFrom('sv3pt5', 'swsh9', 'base4', 'base1', 'exp'),
        language: fc.constantFrom('EN', 'DE'),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 4 }), filters, (query, filters) => {
        const { rarity, set, language } = filters
        const passing = browseCards(catalog, { q: query.join(' ') }).filter(
          (card) =>
            (rarity === undefined || card.rarity === rarity) &&
            (set === undefined || card.set.id === set) &&
            (language === undefined || card.set.language === language),
        )
        expect(find(query.join(' '), filters)).toEqual(passing.map(({ id }) => id))
      }),
      { numRuns: 2_000 },
    )
  })

  it('every card comes first in its language for its name, set and number, in either order', () => {
    fc.assert(
      fc.property(fc.nat(), fc.boolean(), (pick, isSetFirst) => {
        const { id, name, number, set } = catalog.cards[pick % catalog.cards.length]!
        const parts = [name, `${set.name} ${number}`]
        const q = (isSetFirst ? parts.toReversed() : parts).join(' ')
        expect(find(q, { language: set.language })[0]).toBe(id)
      }),
    )
  })

  it('any query finds each card at most once', () => {
    const words = fc.constantFrom(
      ...['charizard', '4', 'set', 'rare', 'holo', 'base', 'ex', 'mew', '151', '102', 'zzz', '★'],
    )
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (query) => {
        const found = find(query.join(' '))
        expect(new Set(found).size).toBe(found.length)
      }),
    )
  })
})

describe('a search for sealed products', () => {
  it.each([
    ['the code of a set and a category', 'bs booster box', 'base1-booster_box'],
    ['another code and category', 'brs elite trainer box', 'swsh9-elite_trainer_box'],
    ['the shorthand of a category', 'mew etb', 'sv3pt5-elite_trainer_box'],
    [
      'the series and name of a set and a category',
      'swsh brilliant stars etb',
      'swsh9-elite_trainer_box',
    ],
    ['the id of a set with zeros', 'swsh09 booster box', 'swsh9-booster_box'],
    ['the shorthand of the Pokémon Center', 'brs pc etb', 'swsh9-center'],
    ['the shorthand of a collection', 'brs spc', 'swsh9-premium_collection'],
    ['the French words for a category', 'brs coffret dresseur d’élite', 'swsh9-elite_trainer_box'],
    ['the word display', 'bs display', 'base1-booster_box'],
    ['a title with the game', 'Pokemon TCG Brilliant Stars Booster Pack', 'swsh9-booster_pack'],
    ['a category as filters spell it', 'bs booster_pack', 'base1-booster_pack'],
    ['a category in the plural', 'brilliant stars booster boxes', 'swsh9-booster_box'],
    ['a sentence', 'box of brilliant stars boosters', 'swsh9-booster_box'],
    ['a title with unknown words', 'brilliant stars display zzzz', 'swsh9-booster_box'],
    ['a pack by its number', '1 pack brilliant stars', 'swsh9-booster_pack'],
    ['a number of packs in digits', 'brs 3 pack blister', 'swsh9-other'],
    ['triple for three', 'brs triple pack blister', 'swsh9-other'],
    ['the words of its name and its code', 'center etb brs', 'swsh9-center'],
    ['the German words for a category', 'brs top trainer box', 'swsh9-elite_trainer_box'],
    [
      'a title with its contents and condition',
      'Pokémon Brilliant Stars Booster Box (36 Packs) - New & Factory Sealed',
      'swsh9-booster_box',
    ],
  ])('a search finds a sealed product by %s: %s', (_, q, slug) => {
    expect(browseProducts(catalog, { q })[0]?.slug).toBe(slug)
  })

  it('a filter of sealed products narrows the results of a search', () => {
    const words = ['bs', 'brs', 'base', 'booster', 'boster', 'box', 'etb', 'trainer', 'pack']
    const query = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(query, fc.constantFrom('booster_box', 'booster_pack'), (words, category) => {
        const q = words.join(' ')
        const passing = browseProducts(catalog, { q }).filter(
          (found) => found.category === category,
        )
        expect(browseProducts(catalog, { q, category })).toEqual(passing)
      }),
    )
  })
})
